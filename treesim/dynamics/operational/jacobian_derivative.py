"""Time derivative of the Jacobian of a frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import plain_text
from ...kernels.kinematics.jacobian_derivative import jacobian_derivative_states
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...states.states import state_function
from ...types import JacobianReference
from .frames import SPATIAL, frame_jacobian, frame_velocity, known_frame_codes, move_to_origin

DERIVATIVE = state_function(jacobian_derivative_states)


def frame_jacobian_derivative(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    *,
    reference: JacobianReference = "local_world_aligned",
) -> np.ndarray:
    """Return the time derivative dJ/dt of a frame's Jacobian during a motion with velocity v.

    For accelerations a, the sum J a + dJ/dt v is the time derivative of the components of the velocity J v. If
    `reference` is "local_world_aligned" or "spatial", the sum is equal to `treesim.frame_acceleration`. If `reference`
    is "local", the axes rotate with the angular velocity w. The linear part of the sum is then the classical
    acceleration minus w x (velocity of the origin). The function raises the errors of `treesim.frame_jacobian`.

    Parameters
    ----------
    robot, q, v, frame, reference
        As in `treesim.frame_velocity`.

    Returns
    -------
    numpy.ndarray
        (..., 6, nv) derivatives, linear rows first, as Pinocchio's `getFrameJacobianTimeVariation` returns them.

    Notes
    -----
    Cost: O(depth), because only the columns of joints on the path to the frame are computed. Source: RBDA section 2.10.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a = np.full(6, 0.5), np.ones(6), np.ones(6)
    >>> J = treesim.frame_jacobian(robot, q, "ee_link")
    >>> Jd = treesim.frame_jacobian_derivative(robot, q, v, "ee_link")
    >>> np.allclose(J @ a + Jd @ v, treesim.frame_acceleration(robot, q, v, a, "ee_link"))
    True
    """
    robot, reference = checked_robot(robot), plain_text(reference)
    if isinstance(reference, str) and reference == SPATIAL:
        Jd = move_to_origin(robot, q, frame, frame_jacobian_derivative(robot, q, v, frame))
        velocity = frame_velocity(robot, q, v, frame)[..., :3, None]
        angular = frame_jacobian(robot, q, frame)[..., 3:, :]
        Jd[..., :3, :] += np.cross(velocity, angular, axis=-2)  # d(p x J_angular)/dt
        return Jd
    return DERIVATIVE(robot, robot.ints, robot.reals, *known_frame_codes(robot, (frame,), reference), q, v)
