"""A tree's constant tables as one call needs them, and wrenches in the coordinates of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..engine.call.evaluate import Argument, coerce, precision
from ..errors import ArgumentError
from ..model.tree import Tree


def constants_of(
    robot: Tree, gravity: ArrayLike | None = None, armature: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the integer and real tables of a robot, with gravity (3,) and armature (nv,) replaced where given.

    Raises ArgumentError naming the argument that does not fit.
    """
    if gravity is None and armature is None:
        return robot.ints, robot.reals
    reals = robot.reals.copy()
    if gravity is not None:
        reals[reals.size - 3 :] = _finite("gravity", gravity, 3)
    if armature is not None:
        values = _finite("armature", armature, robot.nv)
        if (values < 0).any():
            raise ArgumentError(f"armature of joint {robot.dof_name(int(np.argmin(values)))!r} is negative")
        reals[reals.size - 3 - robot.nv : reals.size - 3] = values
    reals.setflags(write=False)
    return robot.ints, reals


def _finite(label: str, value: Any, size: int) -> np.ndarray:
    array = coerce(Argument(label, value, (size,)))
    if array.shape != (size,):
        raise ArgumentError(f"{label} must be one vector of {size} numbers for all states, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{label} holds NaN or infinity: {array.tolist()}")
    return array


def kernel_wrenches(robot: Tree, f_ext: ArrayLike | None) -> np.ndarray | None:
    """Return public wrenches (..., N, 6), force first in each body's own frame, as kernels take them, or None."""
    if f_ext is None:
        return None
    number = precision(f_ext)
    array = coerce(Argument("f_ext", f_ext, (robot.n_bodies, 6)), number)
    turns = robot.body_rotations[1:]
    force = np.einsum("bij,...bi->...bj", turns, array[..., :3])
    moment = np.einsum("bij,...bi->...bj", turns, array[..., 3:])
    return np.concatenate([moment, force], axis=-1, dtype=number)
