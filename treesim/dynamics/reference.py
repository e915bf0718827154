"""Dense reference backend: M from CRBA and bias from RNEA, solved by scipy's Cholesky factorization."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import in_precision, refuse_overflow
from ..model.named_axes import velocity_argument
from ..model.tree import Tree
from ..validation.arrays import coerce, precision, refuse_non_finite
from .base import Backend, Capabilities, explain_failure
from .inverse_dynamics import bias_forces
from .mass_matrix import mass_matrix


class Reference(Backend):
    """Dense reference: M from CRBA and bias from RNEA, solved by scipy's Cholesky factorization."""

    name = "reference"
    capabilities = Capabilities(cost="O(n^3)", source="Walker and Orin 1982; dense Cholesky", mimic_joints=True)

    def forward_dynamics(
        self,
        robot: Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return qdd (..., nv); see `treesim.forward_dynamics`."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        bias = bias_forces(robot, q, v, f_ext=f_ext, gravity=gravity)
        M = mass_matrix(robot, q, armature=armature)
        given = velocity_argument(robot, "tau", tau)
        torque = coerce(given)
        refuse_non_finite([given], [torque])
        right = torque - bias
        qdd = np.empty_like(right)
        if robot.nv == 0:
            return qdd
        M = np.broadcast_to(M, (*right.shape[:-1], robot.nv, robot.nv))
        for state in np.ndindex(right.shape[:-1]):
            try:
                qdd[state] = cho_solve(cho_factor(M[state]), right[state])
            except LinAlgError:
                raise explain_failure(robot, {"q": np.asarray(q, dtype=float)}, armature) from None
        refuse_overflow("forward dynamics", qdd)
        return in_precision("forward dynamics", qdd, precision(q, v, tau))
