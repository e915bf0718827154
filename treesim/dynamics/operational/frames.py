"""Frames of a tree: poses, velocities and Jacobians; every array may have leading batch axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.fast_entry import FastEntry
from ...errors import ArgumentError, TreesimError, UnsupportedError, plain_text, quoted, unknown_name
from ...kernels.entries.status import FINE
from ...kernels.kinematics.bodies import body_poses_states, frame_pose_states, frame_poses_states
from ...kernels.kinematics.jacobians import FRAME_AXES, WORLD_AXES, frame_velocity_states, jacobian_states
from ...model.frozen import frozen
from ...model.quaternions import configuration
from ...model.tree import Tree
from ...states.arguments import checked_robot
from ...states.states import on_states, other_fast_call, state_function
from ...types import JacobianReference, Reference
from ...validation.arrays import coerce
from ...validation.values import is_name_of
from ..tables import frame_tables

REFERENCES = {"local_world_aligned": WORLD_AXES, "world": WORLD_AXES, "local": FRAME_AXES}
SPATIAL: Final = "spatial"
JACOBIAN, VELOCITY = FastEntry(jacobian_states), state_function(frame_velocity_states)
POSE, POSES = state_function(frame_pose_states), state_function(body_poses_states)
FRAME_POSES = state_function(frame_poses_states)


def reference_code(reference: Reference) -> int:
    """Return the kernels' code of a reference.

    Raises UnsupportedError for "spatial", which kernels do not have, and UnknownNameError for other values.
    """
    if not is_name_of(reference, REFERENCES):
        if is_name_of(reference, (SPATIAL,)):
            raise UnsupportedError(
                "reference 'spatial' is for Jacobians, velocities and accelerations of one frame: "
                "take 'local_world_aligned' or 'local'"
            )
        raise unknown_name("reference", reference, (*REFERENCES, SPATIAL))
    return REFERENCES[str.__str__(reference)]


def in_world_axes(reference: Reference) -> bool:
    """Return True for the world's axes, False for the frame's own; raises what `reference_code` raises."""
    code = REFERENCES.get(reference) if type(reference) is str else None  # without a call where it is known
    return (reference_code(reference) if code is None else code) == WORLD_AXES


def move_to_origin(robot: Tree, q: ArrayLike, frame: str, J: np.ndarray) -> np.ndarray:
    """Add p x J_angular to the linear rows of J (..., 6, n), p the frame's position: rows about the world's origin.

    Overwrites and returns J.
    """
    position = frame_pose(robot, q, frame)[..., :3, 3].astype(J.dtype, copy=False)
    J[..., :3, :] += np.cross(position[..., None], J[..., 3:, :], axis=-2)
    return J


def frame_codes(robot: Tree, frames: tuple[str, ...], reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    """Return a table (1 + k,) of the reference's code and the frames' bodies, and placements (12 k,), read-only.

    Raises UnknownNameError (frame, reference).
    """
    code = reference_code(reference)
    bodies, offsets = frame_tables(robot, frames)
    return frozen([code, *bodies], np.int64), frozen(offsets)


kept_frame_codes = lru_cache(maxsize=256)(frame_codes)  # with a cache; names must be hashable


def known_frame_codes(robot: Tree, frames: tuple[str, ...], reference: Reference) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of `frame_codes`, cached if names can be hashed."""
    try:
        return kept_frame_codes(robot, frames, reference)
    except TreesimError:
        raise
    except Exception:  # of names that cannot be hashed
        return frame_codes(robot, frames, reference)


def _for_each_state(robot: Tree, q: ArrayLike, value: np.ndarray) -> np.ndarray:
    """Return the same value for every state of a robot without joints."""
    batch = coerce(configuration(robot, q)).shape[:-1]
    return np.broadcast_to(value, batch + value.shape).copy()


def frame_pose(robot: Tree, q: ArrayLike, frame: str) -> np.ndarray:
    """Return the pose of a frame in the world.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    frame : str
        Name of the frame.

    Returns
    -------
    numpy.ndarray
        (..., 4, 4) homogeneous matrices, whose columns are the frame's axes and origin [m].

    Raises
    ------
    UnknownNameError
        If the frame is unknown.
    ArgumentError
        If q has another type or shape.
    NonFiniteError
        If q is not finite.

    Notes
    -----
    Cost: O(depth).

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.frame_pose(robot, np.full(6, 0.5), "ee_link")[:3, 3].round(3)
    array([ 0.346,  0.396, -0.491])
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    tables = known_frame_codes(robot, (frame,), "local_world_aligned")
    if robot.nq == 0:
        return _for_each_state(robot, q, robot.frame(frame).placement.matrix())
    return POSE(robot, robot.ints, robot.reals, *tables, q)


def frame_poses(robot: Tree, q: ArrayLike, frames: Sequence[str] | None = None) -> np.ndarray:
    """Return the poses of several frames in the world.

    The function raises the errors of `treesim.frame_pose`. All poses are computed in one sweep over the bodies. Cost:
    O(N + F) for N bodies and F frames.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    frames : sequence of str, optional
        Names of the F frames. By default all frames, in the order of `robot.frame_names`.

    Returns
    -------
    numpy.ndarray
        (..., F, 4, 4) homogeneous matrices, whose columns are the frame's axes and origin [m].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q = np.full(6, 0.5)
    >>> treesim.frame_poses(robot, q, ["forearm_link", "ee_link"])[:, :3, 3].round(3)
    array([[ 0.32 ,  0.193, -0.115],
           [ 0.346,  0.396, -0.491]])
    >>> treesim.frame_poses(robot, q).shape[0] == len(robot.frame_names)
    True
    """
    robot = checked_robot(robot)
    names = robot.frame_names if frames is None else checked_names(frames)
    if robot.nq == 0 or not names:
        own = [robot.frame(name).placement.matrix() for name in names]
        return _for_each_state(robot, q, np.array(own).reshape(-1, 4, 4))
    return FRAME_POSES(robot, robot.ints, robot.reals, *known_frame_codes(robot, names, "local_world_aligned"), q)


def checked_names(frames: Sequence[str]) -> tuple[str, ...]:
    """Return names of frames as a tuple; raises ArgumentError for one name, or anything else that is no sequence."""
    try:
        names = None if isinstance(frames, str) else tuple(frames)
    except Exception:  # whatever a user's class raises
        names = None
    if names is None:
        raise ArgumentError(f"frames must be a list of names of frames, got {quoted(frames)}; frame_pose is for one")
    return names


def body_poses(robot: Tree, q: ArrayLike) -> np.ndarray:
    """Return the poses of the bodies' own frames in the world.

    The function raises ArgumentError and NonFiniteError, as `treesim.frame_pose` does. Cost: O(N).

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.

    Returns
    -------
    numpy.ndarray
        (..., n_bodies + 1, 4, 4) homogeneous matrices. The first one is the pose of the world, the identity.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.body_poses(robot, robot.neutral()).shape
    (7, 4, 4)
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if robot.nq == 0:
        return _for_each_state(robot, q, np.eye(4)[None])
    return POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)


def frame_jacobian(
    robot: Tree, q: ArrayLike, frame: str, *, reference: JacobianReference = "local_world_aligned"
) -> np.ndarray:
    """Return the Jacobian J of a frame, so that J v is the frame's velocity, linear before angular.

    Parameters
    ----------
    robot, q
        As in `treesim.forward_dynamics`.
    frame : str
        Name of the frame.
    reference : str
        "local_world_aligned", or "world": velocity of the frame's origin, in world axes. "local": velocity of the
        frame's origin, in the frame's own axes. "spatial": velocity of the point of the frame's body that is at the
        world's origin, in world axes (Pinocchio's WORLD).

    Returns
    -------
    numpy.ndarray
        (..., 6, nv) Jacobians.

    Raises
    ------
    UnknownNameError
        If the frame or the reference is unknown.
    ArgumentError
        If q has another type or shape.
    NonFiniteError
        If q is not finite.

    Notes
    -----
    Cost: O(depth), because only the columns of joints on the path to the frame are computed.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> q, v = np.full(6, 0.5), np.ones(6)
    >>> J = treesim.frame_jacobian(robot, q, "ee_link", reference="local")
    >>> np.allclose(J @ v, treesim.frame_velocity(robot, q, v, "ee_link", reference="local"))
    True
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if type(reference) is not str:
        reference = plain_text(reference)
    if isinstance(reference, str) and reference == SPATIAL:
        return move_to_origin(robot, q, frame, frame_jacobian(robot, q, frame))
    try:
        codes, offsets = kept_frame_codes(robot, (frame,), reference)
    except TreesimError:
        raise
    except Exception:  # of a name that cannot be hashed
        codes, offsets = frame_codes(robot, (frame,), reference)
    J = np.empty((6, robot.nv))
    given = robot.ints, robot.reals, codes, offsets, q, J
    if JACOBIAN.call(*given) == FINE:
        return J
    found = other_fast_call(JACOBIAN, robot, given)
    if found is not None:
        return found  # what both refuse is coerced, broadcast, or explained below
    return on_states(JACOBIAN.entry, robot, given[:4], {"q": q})[0]


def frame_velocity(
    robot: Tree,
    q: ArrayLike,
    v: ArrayLike,
    frame: str,
    *,
    reference: JacobianReference = "local_world_aligned",
) -> np.ndarray:
    """Return the linear and angular velocity of a frame.

    The function raises the errors of `treesim.frame_jacobian`. Cost: O(N).

    Parameters
    ----------
    robot, q
        As in `treesim.frame_jacobian`.
    v : array_like
        (..., nv) velocities of the joints.
    frame, reference : str
        As in `treesim.frame_jacobian`.

    Returns
    -------
    numpy.ndarray
        (..., 6) velocity of the frame's origin [m/s], then its angular velocity [rad/s].

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> treesim.frame_velocity(robot, np.full(6, 0.5), np.ones(6), "ee_link").round(2)
    array([-1.25, -0.17, -0.59, -2.7 ,  2.94,  0.45])
    """
    if type(robot) is not Tree:
        robot = checked_robot(robot)
    if type(reference) is not str:
        reference = plain_text(reference)
    if isinstance(reference, str) and reference == SPATIAL:
        velocity = frame_velocity(robot, q, v, frame)
        return move_to_origin(robot, q, frame, velocity[..., None])[..., 0]
    return VELOCITY(robot, robot.ints, robot.reals, *known_frame_codes(robot, (frame,), reference), q, v)
