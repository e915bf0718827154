"""Analytic derivatives of constrained forward dynamics.

The derivatives of M a + C - J' f = tau and J a + dJ/dt v = target are linear equations for those of a and f. The forces
f are at first wrenches along fixed axes of the bodies, whose accelerations a have the derivatives dFD of forward
dynamics. Further terms are the forces that turn with other axes, J' df, and the derivatives of J a + dJ/dt v:
Λ⁻¹ df = dtarget - d(J a + dJ/dt v) - J dFD, da = dFD + M⁻¹ J' df.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.evaluate import in_precision, refuse_overflow
from ...model.named_axes import velocity_argument, wrenches_argument
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...system.display import arrays, batch, html_table
from ...types import ConstrainedMethod
from ...validation.arrays import coerce, precision
from ..derivatives import forward_dynamics_derivatives
from ..wrenches import LinkWrenches, body_wrenches
from .constraints import Constraint, constraint_tables
from .functions import constrained_dynamics, listed_constraints
from .methods import is_definite, positive_diagonal
from .row_derivatives import row_derivatives

WHAT = "derivatives of constrained dynamics"
DEPENDENT = 1e-10  # an eigenvalue of Λ⁻¹, with rows of equal size, below this part of the largest is rounding error


class ConstrainedDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations and the constraint forces of constrained dynamics.

    Parameters
    ----------
    dqdd_dq, dqdd_dv, dqdd_dtau : ndarray, shape (..., nv, nv)
        Derivatives of the accelerations in q, along the velocity coordinates (`Tree.integrate`), in v and in tau.
    dqdd_dtarget : ndarray, shape (..., nv, m)
        Derivative of the accelerations in the targets of the m rows.
    dforce_dq, dforce_dv, dforce_dtau : ndarray, shape (..., m, nv)
        Derivatives of the constraint forces in q, v and tau.
    dforce_dtarget : ndarray, shape (..., m, m)
        Derivative of the constraint forces in the targets of the m rows.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, still = np.full(6, 0.5), np.zeros(6)
    >>> wrist = treesim.FrameConstraint("ee_link", rows="linear")
    >>> treesim.constrained_dynamics_derivatives(robot, q, still, still, wrist)
    <ConstrainedDynamicsDerivatives: nv 6, 3 rows>
    """

    dqdd_dq: np.ndarray
    dqdd_dv: np.ndarray
    dqdd_dtau: np.ndarray
    dqdd_dtarget: np.ndarray
    dforce_dq: np.ndarray
    dforce_dv: np.ndarray
    dforce_dtau: np.ndarray
    dforce_dtarget: np.ndarray

    def __repr__(self) -> str:
        nv, m = self.dqdd_dtarget.shape[-2:]
        return f"<{type(self).__name__}: nv {nv}, {m} rows{batch(self.dqdd_dq, 2)}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def constrained_dynamics_derivatives(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraint | Sequence[Constraint],
    *,
    f_ext: LinkWrenches | None = None,
    method: ConstrainedMethod = "direct",
    operational: str = "pv_osim_r",
    gravity: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    mu: float = 1e-4,
    tolerance: float = 1e-10,
    max_iterations: int = 100,
) -> ConstrainedDynamicsDerivatives:
    """Return the derivatives of `treesim.constrained_dynamics` in q, v, tau and the constraints' targets.

    The function raises the errors of `treesim.constrained_dynamics`.

    Parameters
    ----------
    robot, q, v, tau
        As in `treesim.constrained_dynamics`.
    constraints : FrameConstraint, LoopConstraint or sequence of them
        As in `treesim.constrained_dynamics`. Targets are constant; the derivatives include those of damping and
        stiffness.
    f_ext : array_like or mapping, optional
        As in `treesim.inverse_dynamics_derivatives`.
    method, operational : str
        As in `treesim.constrained_dynamics`: the methods that compute the accelerations and forces.
    gravity, armature, mu, tolerance, max_iterations
        As in `treesim.constrained_dynamics`.

    Returns
    -------
    ConstrainedDynamicsDerivatives
        Tuple of matrices: (dqdd_dq, dqdd_dv, dqdd_dtau, dqdd_dtarget, dforce_dq, dforce_dv, dforce_dtau,
        dforce_dtarget).

    Notes
    -----
    Redundant rows: "proximal" and "caba" allow them. Only the sum J' f of their forces is unique, and so are the
    derivatives of the accelerations. Those of the forces are the smallest that satisfy the equations, in the norm in
    which "proximal" weighs rows by the diagonal of Λ⁻¹. Rows that are dependent at q alone have no derivative.
    Derivatives in targets that contradict each other are those of the nearest targets that do not.

    Cost: that of `constrained_dynamics` and `forward_dynamics_derivatives`, O(N) for each frame, and O(nv m (nv + m)).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, tau, d = np.full(6, 0.5), np.ones(6), np.zeros(6), 1e-6 * np.eye(6)
    >>> wrist = treesim.FrameConstraint("ee_link", rows="linear")
    >>> found = treesim.constrained_dynamics_derivatives(robot, q, v, tau, wrist)
    >>> ahead, behind = (treesim.constrained_dynamics(robot, q + s * d, v, tau, wrist) for s in (1, -1))
    >>> np.allclose(found.dforce_dq.T, (ahead.force - behind.force) / 2e-6, atol=1e-4)
    True
    """
    robot = checked_robot(robot)
    number, listed = precision(q, v, tau), listed_constraints(constraints)
    q = coerce(configuration(robot, q))
    v, tau = (coerce(velocity_argument(robot, label, x)) for label, x in (("v", v), ("tau", tau)))
    wrenches, turning = body_wrenches(robot, q, f_ext)
    physics: dict[str, Any] = {"gravity": gravity, "armature": armature}
    solver: dict[str, Any] = {"method": method, "operational": operational, "mu": mu, "tolerance": tolerance}
    found = constrained_dynamics(
        robot, q, v, tau, listed, f_ext=wrenches, **physics, **solver, max_iterations=max_iterations
    )
    rows = row_derivatives(robot, constraint_tables(robot, listed), (q, v, found.acceleration), found.force)
    row_wrenches, row_turning = body_wrenches(robot, q, rows.wrenches)
    total = row_wrenches if wrenches is None else row_wrenches + coerce(wrenches_argument(robot, wrenches))
    dqdd_dq, dqdd_dv, Minv = forward_dynamics_derivatives(robot, q, v, tau, f_ext=total, **physics)
    for term in (turning, row_turning, rows.turning):
        if term is not None:
            dqdd_dq = dqdd_dq - Minv @ term
    m, nv = rows.J.shape[-2:]
    one = np.broadcast_to(np.eye(m), (*rows.J.shape[:-1], m))
    free = np.concatenate([dqdd_dq, dqdd_dv, Minv, np.zeros((*Minv.shape[:-1], m))], axis=-1)
    rate = np.concatenate([-rows.by_q, -rows.by_v, np.zeros_like(rows.J), one], axis=-1)
    response = Minv @ np.swapaxes(rows.J, -1, -2)
    dforce = _solved(rows.J @ response, rate - rows.J @ free)
    dqdd = free + response @ dforce
    refuse_overflow(WHAT, dqdd, dforce)
    parts = [np.split(in_precision(WHAT, x, number), [nv, 2 * nv, 3 * nv], axis=-1) for x in (dqdd, dforce)]
    return ConstrainedDynamicsDerivatives(*parts[0], *parts[1])


def _solved(inverse: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return x with Λ⁻¹ x = right, of dependent rows the smallest x, with rows weighed by the diagonal of Λ⁻¹."""
    if not inverse.size or is_definite(inverse):
        return np.linalg.solve(inverse, right)
    scale = 1 / np.sqrt(positive_diagonal(inverse))[..., None]
    balanced = np.linalg.pinv(scale * inverse * np.swapaxes(scale, -1, -2), rcond=DEPENDENT, hermitian=True)
    return scale * (balanced @ (scale * right))
