"""External wrenches in mappings of links, along the axes of links or of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import refuse_overflow
from ..errors import ArgumentError, quoted
from ..kernels.kinematics.bodies import frame_pose_states
from ..kernels.kinematics.jacobians import WORLD_AXES, jacobian_states
from ..model.parts import Frame
from ..model.quaternions import configuration
from ..model.tree import Tree
from ..states.states import state_function
from ..validation.arrays import Argument, batch_shape, check_copy, coerce, precision, refuse_non_finite
from ..validation.values import short_repr
from .tables import frame_tables

JACOBIAN, POSE = state_function(jacobian_states), state_function(frame_pose_states)

# wrenches (..., N, 6) on the bodies along their axes, or {link or (link, "world"): wrench (..., 6)}
LinkWrenches: TypeAlias = ArrayLike | Mapping[Any, ArrayLike]


def link_of(key: Any) -> str:
    """Return the link of a key of a mapping of wrenches: a name, or (name, "world")."""
    link, frame = key if isinstance(key, tuple) and len(key) == 2 else (key, "world")
    if not isinstance(link, str) or frame != "world":
        raise ArgumentError(
            f'f_ext must map names of links, or pairs (name, "world"), to wrenches, got {short_repr(key)}'
        )
    return link


def moving_frame(robot: Tree, link: str) -> Frame:
    """Return a frame that a force can move; raises ArgumentError for a frame that is fixed to the world."""
    frame = robot.frame(link)
    if not frame.body:
        raise ArgumentError(
            f"frame {quoted(link)} of {quoted(robot.name)} is fixed to the world: a force on it moves nothing"
        )
    return frame


def turned(turn: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return turn x vectors (..., 6, n), of both halves; turn (..., 3, n): angular velocities."""
    parts = [np.cross(turn, vectors[..., k : k + 3, :], axis=-2) for k in (0, 3)]
    return np.concatenate(parts, axis=-2)


def body_wrenches(robot: Tree, q: ArrayLike, f_ext: LinkWrenches | None) -> tuple[Any, np.ndarray | None]:
    """Return wrenches (..., N, 6) along the axes of the bodies, and the derivative in q that these do not have.

    It is the part of the derivative of inverse dynamics that wrenches along the axes of the world add to that of
    wrenches along the axes of the bodies, (..., nv, nv), or None without wrenches along the axes of the world. Arrays
    and None are returned as they are.
    """
    if not isinstance(f_ext, Mapping):
        return f_ext, None
    given = [configuration(robot, q), *(Argument(f"f_ext of {key!r}", value, (6,)) for key, value in f_ext.items())]
    frames = [moving_frame(robot, link_of(key)) for key in f_ext]
    state, *wrenches = (coerce(argument) for argument in given)
    refuse_non_finite(given, [state, *wrenches])
    shape = (*batch_shape(given, [state, *wrenches]), robot.n_bodies, 6)
    check_copy("f_ext", shape)
    total, turning = np.zeros(shape), None
    for key, frame, wrench in zip(f_ext, frames, wrenches, strict=True):
        own = wrench
        if not isinstance(key, str):
            bodies, offset = frame_tables(robot, (frame.name,))
            tables = robot.ints, robot.reals, np.array([WORLD_AXES, *bodies]), offset
            J, pose = JACOBIAN(robot, *tables, state), POSE(robot, *tables, state)
            term = np.swapaxes(J, -1, -2) @ turned(J[..., 3:, :], wrench[..., None])
            turning = term if turning is None else turning + term
            own = rotated(np.swapaxes(pose[..., :3, :3], -1, -2), wrench)
        own = rotated(frame.placement.rotation, own)
        own[..., 3:] += np.cross(frame.placement.translation, own[..., :3])
        total[..., frame.body - 1, :] += own
    refuse_overflow("external wrenches", total, *([] if turning is None else [turning]))
    return total.astype(precision(q, *f_ext.values()), copy=False), turning


def rotated(R: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """Return the products of rotations (..., 3, 3) with both parts of wrenches (..., 6)."""
    parts = [np.einsum("...ij,...j->...i", R, wrench[..., k : k + 3]) for k in (0, 3)]
    return np.concatenate(parts, axis=-1)
