"""Forward dynamics by a dense solve of the equation of motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

import treesim
from treesim.dynamics.base import Backend, Capabilities
from treesim.validation.arrays import Argument, coerce


class Dense(Backend):
    """qdd = M^-1 (tau - bias) by NumPy's dense solver."""

    name = "dense"
    capabilities = Capabilities(cost="O(n^3)", source="Featherstone 2008, eq. 3.1", mimic_joints=True)

    def forward_dynamics(
        self,
        robot: treesim.Tree,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None = None,
        gravity: ArrayLike | None = None,
        armature: ArrayLike | None = None,
    ) -> np.ndarray:
        """Return the accelerations (..., nv); see `treesim.forward_dynamics`."""
        torque = coerce(Argument("tau", tau, (robot.nv,)))
        if not np.isfinite(torque).all():
            raise treesim.NonFiniteError("tau must be finite")
        M = treesim.mass_matrix(robot, q, armature=armature)
        right = torque - treesim.bias_forces(robot, q, v, f_ext=f_ext, gravity=gravity)
        try:
            return np.asarray(np.linalg.solve(M, right[..., None])[..., 0])
        except np.linalg.LinAlgError:
            raise treesim.SingularInertiaError(f"the mass matrix of {robot.name!r} is singular") from None
