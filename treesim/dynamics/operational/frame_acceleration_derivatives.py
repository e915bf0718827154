"""Analytic derivatives of the acceleration of a frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.kinematics.frame_acceleration_derivatives import frame_acceleration_derivatives_states
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...states.states import state_function
from ...system.display import arrays, html_table
from ...types import Engine, Reference
from ..derivatives import matrices_shown
from .frames import known_frame_codes

DERIVATIVES = state_function(frame_acceleration_derivatives_states)


class FrameAccelerationDerivatives(NamedTuple):
    """Derivatives of a frame's acceleration, with rows of the linear acceleration first.

    Parameters
    ----------
    da_dq : ndarray, shape (..., 6, nv)
        Derivative in q, along the velocity coordinates (`Tree.integrate`).
    da_dv : ndarray, shape (..., 6, nv)
        Derivative in v.
    J : ndarray, shape (..., 6, nv)
        Derivative in the joints' accelerations, the frame's Jacobian.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> derivatives = treesim.frame_acceleration_derivatives(robot, np.full(6, 0.5), np.ones(6), np.zeros(6), "tool0")
    >>> derivatives.da_dq.shape, derivatives.J.shape
    ((6, 6), (6, 6))
    """

    da_dq: np.ndarray
    da_dv: np.ndarray
    J: np.ndarray

    def __repr__(self) -> str:
        return matrices_shown(self)

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def frame_acceleration_derivatives(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    *,
    reference: Reference = "local_world_aligned",
    engine: Engine = "auto",
) -> FrameAccelerationDerivatives:
    """Return the derivatives of `treesim.frame_acceleration` in q, v and a.

    The function raises the errors of `treesim.frame_acceleration`, and UnsupportedError for the reference "spatial".

    Parameters
    ----------
    robot, q, v, a
        As in `treesim.frame_acceleration`.
    frame : str
        Name of the frame.
    reference : str
        "local_world_aligned" or "local", as in `treesim.frame_acceleration`.
    engine : str
        As in `treesim.forward_dynamics`.

    Returns
    -------
    FrameAccelerationDerivatives
        Tuple (da_dq, da_dv, J) of (..., 6, nv) matrices.

    Notes
    -----
    Cost: O(N). Columns of joints that are not on the path to the frame are zero.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a, d = np.full(6, 0.5), np.ones(6), np.zeros(6), 1e-6 * np.eye(6)
    >>> da_dq, da_dv, J = treesim.frame_acceleration_derivatives(robot, q, v, a, "ee_link")
    >>> ahead, behind = (treesim.frame_acceleration(robot, q + s * d, v, a, "ee_link") for s in (1, -1))
    >>> np.allclose(da_dq.T, (ahead - behind) / 2e-6, atol=1e-7)
    True
    """
    robot = checked_robot(robot)
    codes = known_frame_codes(robot, (frame,), reference)
    D = DERIVATIVES(robot, robot.ints, robot.reals, *codes, q, v, a, engine)
    return FrameAccelerationDerivatives(D[..., :6, :], D[..., 6:12, :], D[..., 12:, :])
