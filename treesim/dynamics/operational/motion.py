"""Motion of frames and of the centre of mass: accelerations and Jacobians; arrays may have leading batch axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ModelError, plain_text, quoted
from ...kernels.kinematics.center_of_mass import center_of_mass_jacobian_states, center_of_mass_states
from ...kernels.kinematics.frame_motion import ACCELERATION, frame_motions_states
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...states.states import declared, state_function
from ...system.display import arrays, batch, html_table
from ...types import Engine, JacobianReference
from ...validation.arrays import coerce, precision
from .frames import SPATIAL, in_world_axes, known_frame_codes

MOTIONS, CENTER = state_function(frame_motions_states), state_function(center_of_mass_states)
CENTER_JACOBIAN = state_function(center_of_mass_jacobian_states)


class FrameMotion(NamedTuple):
    """Poses and motions of frames in world axes.

    rotation (..., 3, 3). position (..., 3) [m]. velocity, acceleration (..., 6): linear first; the acceleration is the
    classical one.
    """

    rotation: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray

    def __repr__(self) -> str:
        return f"<FrameMotion of {self.position.shape[-2]} frames{batch(self.position, 2)}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), arrays(self, *self._fields))


def frame_motions(
    robot: Tree, q: ArrayLike, v: ArrayLike, a: ArrayLike, frames: Sequence[str], engine: Engine = "auto"
) -> FrameMotion:
    """Return the motions of k frames, each array (..., k, *); arguments as in `frame_acceleration`. O(N + k)."""
    constants = (robot.ints, robot.reals, *known_frame_codes(robot, tuple(frames), "local_world_aligned"))
    if robot.nq == 0:
        return as_motion(_standing(robot, constants, q, v, a, frames))
    return as_motion(MOTIONS(robot, *constants, q, v, a, engine=engine))


def as_motion(rows: np.ndarray) -> FrameMotion:
    """Return rows (..., k, 24) of a kernel as poses and motions of k frames."""
    rotation = rows[..., :9].reshape(*rows.shape[:-1], 3, 3)
    return FrameMotion(rotation, rows[..., 9:12], rows[..., 12:18], rows[..., ACCELERATION:])


def _standing(
    robot: Tree, constants: Sequence[Any], q: ArrayLike, v: ArrayLike, a: ArrayLike, frames: Sequence[str]
) -> np.ndarray:
    """Return the rows (..., k, 24) of frames of a robot without joints."""
    arguments, (shape,) = declared(frame_motions_states, robot, constants, {"q": q, "v": v, "a": a})
    batch = np.broadcast_shapes(*(coerce(argument).shape[:-1] for argument in arguments))
    rows = np.zeros(batch + shape)
    for row, name in enumerate(frames):
        placement = robot.frame(name).placement
        rows[..., row, :12] = np.concatenate([np.ravel(placement.rotation), placement.translation])
    return rows


def frame_acceleration(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    frame: str,
    *,
    reference: JacobianReference = "local_world_aligned",
) -> np.ndarray:
    """Return the acceleration of a frame for given accelerations of the joints; gravity is not added.

    By default, the result is the classical acceleration J a + Jdot v along the world's axes. If `reference` is "local",
    it is the classical acceleration along the frame's axes. If `reference` is "spatial", it is the spatial
    acceleration: the time derivative of the spatial velocity. The function raises the errors of
    `treesim.frame_jacobian`.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    v, a : array_like
        (..., nv) velocities and accelerations of the joints.
    frame, reference : str
        As in `treesim.frame_jacobian`.

    Returns
    -------
    numpy.ndarray
        (..., 6) acceleration of the frame's origin [m/s^2], then its angular acceleration [rad/s^2].

    Notes
    -----
    Cost: O(N). Source: RBDA sections 2.11 and 4.1.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v, a = np.full(6, 0.5), np.ones(6), np.zeros(6)
    >>> treesim.frame_acceleration(robot, q, v, a, "ee_link").round(2)
    array([-0.02, -2.57,  1.95, -4.1 , -3.89,  2.02])
    """
    robot, reference = checked_robot(robot), plain_text(reference)
    local = not (isinstance(reference, str) and reference == SPATIAL) and not in_world_axes(reference)
    motion = frame_motions(robot, q, v, a, (frame,))
    acceleration = motion.acceleration[..., 0, :]
    if isinstance(reference, str) and reference == SPATIAL:
        velocity, rates = motion.velocity[..., 0, :], acceleration[..., 3:]
        turning = np.cross(motion.position[..., 0, :], rates) - np.cross(velocity[..., 3:], velocity[..., :3])
        return np.concatenate([acceleration[..., :3] + turning, rates], axis=-1)
    if not local:
        return np.ascontiguousarray(acceleration)
    halves = acceleration.reshape(*acceleration.shape[:-1], 2, 3)
    return (halves @ motion.rotation[..., 0, :, :]).reshape(acceleration.shape)  # E' a and E' alpha, as rows


def massive(robot: Tree) -> Tree:
    """Return the robot; raises ModelError if its mass is zero and it has no centre of mass."""
    if not robot.mass > 0:
        raise ModelError(f"{quoted(robot.name)} has no mass: it has no centre of mass")
    return robot


def center_of_mass_motion(
    robot: Tree, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position [m], velocity [m/s] and acceleration [m/s^2] (..., 3) of the centre of mass in the world.

    Arguments as in `frame_acceleration`. Raises ModelError (no mass), ArgumentError, NonFiniteError. O(N).
    """
    robot = checked_robot(robot)
    out = CENTER(massive(robot), robot.ints, robot.reals, q, v, a)
    return out[..., :3], out[..., 3:6], out[..., 6:]


def center_of_mass(robot: Tree, q: ArrayLike) -> np.ndarray:
    """Return the position of a robot's centre of mass in the world.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 3) positions [m].

    Raises
    ------
    ModelError
        If the robot has no mass.
    ArgumentError
        If q has another type or shape.
    NonFiniteError
        If q is not finite.

    Notes
    -----
    Cost: O(N).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.center_of_mass(robot, np.full(6, 0.5)).round(3)
    array([ 0.206,  0.203, -0.115])
    """
    robot = checked_robot(robot)
    still = np.zeros(robot.nv, precision(q))
    return np.ascontiguousarray(center_of_mass_motion(robot, q, still, still)[0])


def center_of_mass_jacobian(robot: Tree, q: ArrayLike) -> np.ndarray:
    """Return the Jacobian J of the centre of mass: J v is the velocity of the centre of mass in world axes.

    The function raises the errors of `treesim.center_of_mass`. Cost: O(N), by composite masses.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., 3, nv) Jacobians.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v = np.full(6, 0.5), np.ones(6)
    >>> momentum = robot.mass * treesim.center_of_mass_jacobian(robot, q) @ v
    >>> np.allclose(momentum, treesim.momentum(robot, q, v)[:3])
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    return CENTER_JACOBIAN(massive(robot), robot.ints, robot.reals, q)
