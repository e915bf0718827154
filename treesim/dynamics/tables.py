"""Constant tables of a tree and of frames for one call, and wrenches in kernel coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, quoted
from ..model.named_axes import velocity_argument, wrenches_argument
from ..model.tree import Tree
from ..validation.arrays import Argument, check_copy, coerce, precision

NO_FORCES = np.empty(0)  # instead of external forces, for entries


def constants_of(
    robot: Tree, gravity: ArrayLike | None = None, armature: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the integer and real tables of a robot, with gravity (3,) and armature (nv,) replaced if given.

    Raises ArgumentError naming the argument that does not fit.
    """
    if gravity is None and armature is None:
        return robot.ints, robot.reals
    reals = robot.spanning.reals.copy()
    if gravity is not None:
        reals[reals.size - 3 :] = _finite(Argument("gravity", gravity, (3,)))
    if armature is not None:
        values = _finite(velocity_argument(robot, "armature", armature))
        if (values < 0).any():
            raise ArgumentError(f"armature of joint {quoted(robot.dof_name(int(np.argmin(values))))} is negative")
        reals[reals.size - 3 - robot.spanning.nv : reals.size - 3] = on_mimicked(robot, values)
    reals.setflags(write=False)
    return robot.ints, reals


def on_mimicked(robot: Tree, values: np.ndarray) -> np.ndarray:
    """Return numbers (..., n) of the spanning tree's degrees of freedom from those (..., nv) of the independent ones.

    Mimic joints get 0.
    """
    if robot.mimic_map is None:
        return values
    whole = np.zeros((*values.shape[:-1], robot.spanning.nv))
    whole[..., robot.mimic_map.independent_v] = values
    return whole


def _finite(argument: Argument) -> np.ndarray:
    label, shape, array = argument.label, argument.shape, coerce(argument)
    if array.shape != shape:
        raise ArgumentError(f"{label} must be one vector of {shape[0]} numbers for all states, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} holds NaN or infinity: {array.tolist()}")
    return array


def spanning_constants(robot: Tree, armature: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the tables of the spanning tree with the rotor inertias of `shared_rotors`."""
    whole, rotors = robot.spanning, shared_rotors(robot, armature)
    reals = whole.reals.copy()
    reals[reals.size - 3 - whole.nv : reals.size - 3] = rotors
    reals.setflags(write=False)
    return whole.ints, reals


def shared_rotors(robot: Tree, armature: ArrayLike | None) -> np.ndarray:
    """Return rotor inertias of the spanning tree that are equivalent to those (nv,) of the independent joints.

    They are distributed over mimicked and mimic joints. armature: the robot's by default.
    """
    rotors = robot.armature if armature is None else _finite(velocity_argument(robot, "armature", armature))
    return rotors if robot.mimic_map is None else robot.mimic_map.shared(rotors)


def frame_tables(robot: Tree, frames: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the bodies (k,) of frames and their placements (12 k,) in kernel coordinates of those bodies.

    Raises UnknownNameError for a frame the robot does not have.
    """
    if isinstance(frames, str):
        frames = (frames,)
    found = [robot.frame(name) for name in frames]
    offsets = np.empty((len(found), 12))
    for row, frame in zip(offsets, found, strict=True):
        turn = robot.body_rotations[frame.body].T
        row[:9] = (turn @ frame.placement.rotation).ravel()
        row[9:] = turn @ frame.placement.translation
    return np.array([frame.body for frame in found], dtype=np.int64), offsets.ravel()


def kernel_wrenches(robot: Tree, f_ext: ArrayLike | None) -> np.ndarray | None:
    """Return wrenches (..., N, 6) in kernel coordinates, moment first, from public ones; None for None.

    Public wrenches have the force first, and are in each body's own frame.
    """
    if f_ext is None:
        return None
    number = precision(f_ext)
    array = coerce(wrenches_argument(robot, f_ext), number)
    check_copy("f_ext", array.shape)
    turns = robot.body_rotations[1:]
    force = np.einsum("bij,...bi->...bj", turns, array[..., :3])
    moment = np.einsum("bij,...bi->...bj", turns, array[..., 3:])
    return np.concatenate([moment, force], axis=-1, dtype=number)
