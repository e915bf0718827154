"""Checks of the states and controls that steps are given."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, NonFiniteError, quoted
from ..model.named_axes import coordinate_argument, velocity_argument
from ..model.quaternions import unit_quaternions
from ..model.tree import Tree
from ..validation.arrays import check_copy, coerce


def checked_states(
    robot: Tree, labels: tuple[str, str], q: ArrayLike, v: ArrayLike, impulses: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return new arrays q, v of one state or a batch (B, n).

    labels: names of both in errors. impulses: numbers of a state besides q and v, which need memory.
    """
    in_q, in_v = labels
    q, v = coerce(coordinate_argument(robot, in_q, q)), coerce(velocity_argument(robot, in_v, v))
    for label, x in zip(labels, (q, v), strict=True):
        if x.ndim > 2:
            raise ArgumentError(f"{label} must be one state or a batch (B, n), got shape {x.shape}")
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ArgumentError(f"{in_q} and {in_v} are of different numbers of states: {len(q)} and {len(v)}") from None
    check_copy(f"{in_q} and {in_v}, with impulses", (*batch, 2 * (robot.nq + robot.nv) + impulses))
    for label, x in zip(labels, (q, v), strict=True):
        if not np.isfinite(x).all():
            raise NonFiniteError(f"{label} holds a number that is not finite")
    q = np.array(np.broadcast_to(unit_quaternions(robot, in_q, q), (*batch, robot.nq)), float, order="C")
    return q, np.array(np.broadcast_to(v, (*batch, robot.nv)), float, order="C")


def checked_control(robot: Tree, v: np.ndarray, control: ArrayLike | None) -> np.ndarray:
    """Return the control of states with velocities v as an array of their shape."""
    shape = v.shape
    if type(control) is np.ndarray and control.shape == shape and control.dtype == np.float64:
        u = control if control.flags.carray else np.array(control, order="C")
    elif control is None:
        return np.zeros(shape)
    else:
        given = coerce(velocity_argument(robot, "control", control))
        try:
            u = np.array(np.broadcast_to(given, shape), float, order="C")
        except ValueError:
            raise ArgumentError(f"control has shape {given.shape}, but states of shape {shape} are stepped") from None
    flat = u.reshape(-1)  # its product with itself is faster than isfinite
    if not math.isfinite(flat.dot(flat)) and not np.isfinite(u).all():
        k = int(np.argwhere(~np.isfinite(u))[0][-1])
        raise NonFiniteError(f"control: that of joint {quoted(robot.dof_name(k))} is not finite")
    return u
