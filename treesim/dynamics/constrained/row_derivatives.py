"""Derivatives of the constrained velocities' rates of change, and the forces of constraints as wrenches on frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...model.tree import Tree
from ..operational.frame_acceleration_derivatives import frame_acceleration_derivatives
from ..operational.frames import frame_pose, in_world_axes
from ..operational.motion import frame_acceleration
from ..wrenches import turned
from .constraints import Constraint, ConstraintTables, displacement

SMALL = 1e-2  # rad: the series of `rotation_vector_rate` then has all digits


class ConstraintRows(NamedTuple):
    """Derivatives of m rows, and their forces.

    J (..., m, nv). by_q, by_v (..., m, nv): derivatives of d/dt (J v) minus its required value, for constant
    accelerations. turning (..., nv, nv): derivative in q of -J' f while the forces turn with other axes than those of
    the world, or None. wrenches: {(frame, "world"): (..., 6)}.
    """

    J: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    turning: np.ndarray | None
    wrenches: dict[tuple[str, str], np.ndarray]


class FrameDerivatives(NamedTuple):
    """Jacobian, acceleration (..., 6, 1), its derivatives, and the derivative of the velocity in q, in world axes."""

    J: np.ndarray
    acceleration: np.ndarray
    by_q: np.ndarray
    by_v: np.ndarray
    velocity_by_q: np.ndarray


State = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, v, accelerations


def row_derivatives(robot: Tree, tables: ConstraintTables, state: State, force: np.ndarray) -> ConstraintRows:
    """Return the rows of all constraints; force (..., m): their forces at the state."""
    nothing, turning = np.zeros((*force.shape[:-1], 0, robot.nv)), None
    parts = [(nothing, nothing, nothing)]
    wrenches: dict[tuple[str, str], np.ndarray] = {}
    for constraint, start, end in zip(tables.constraints, tables.start, tables.start[1:], strict=False):
        rows = _rows_of_constraint(robot, constraint, tables.rows[start:end], state, force[..., start:end])
        parts.append(rows[:3])
        if rows.turning is not None:
            turning = rows.turning if turning is None else turning + rows.turning
        for key, wrench in rows.wrenches.items():
            wrenches[key] = wrenches.get(key, 0) + wrench
    J, by_q, by_v = (np.concatenate(each, axis=-2) for each in zip(*parts, strict=True))
    return ConstraintRows(J, by_q, by_v, turning, wrenches)


def _rows_of_constraint(
    robot: Tree, constraint: Constraint, R: np.ndarray, state: State, force: np.ndarray
) -> ConstraintRows:
    """Return the rows R (r, 6) of one constraint, with forces (..., r).

    Vectors are in world axes. Axes that turn with the first frame, with the angular velocities `turn`, change the
    components of a vector x by -turn x x.
    """
    q, v, _ = state
    first, second = constraint.ends
    one = _frame(robot, state, first)
    two = FrameDerivatives(*map(np.zeros_like, one)) if second is None else _frame(robot, state, second)
    J, acceleration, by_q, by_v, velocity_by_q = (x - y for x, y in zip(one, two, strict=True))
    local, turn = not in_world_axes(constraint.reference), one.J[..., 3:, :]
    velocity = J @ v[..., None]
    if local:
        spin = turn @ v[..., None]
        rate = acceleration - turned(spin, velocity)
        by_q = by_q - turned(one.velocity_by_q[..., 3:, :], velocity) - turned(spin, velocity_by_q)
        by_q, by_v = by_q - turned(turn, rate), by_v - turned(turn, velocity) - turned(spin, J)
    change = constraint.damping * velocity_by_q  # of the vector in the required value
    vector = constraint.damping * velocity
    if constraint.stiffness:
        gap = displacement(robot, constraint, q)[..., None]
        ahead, behind = gap[..., 3:, :], -gap[..., 3:, :]  # rotation vectors from the second frame, and from the first
        angular = rotation_vector_rate(ahead, turn) - rotation_vector_rate(behind, two.J[..., 3:, :])
        change = change + constraint.stiffness * np.concatenate([J[..., :3, :], angular], axis=-2)
        vector = vector + constraint.stiffness * gap
    by_q, by_v = by_q + change - (turned(turn, vector) if local else 0), by_v + constraint.damping * J
    rows, turning = R, None
    if local:
        axes = frame_pose(robot, q, first)[..., :3, :3]
        rows = (R.reshape(-1, 2, 3) @ np.swapaxes(axes, -1, -2)[..., None, :, :]).reshape(*axes.shape[:-2], -1, 6)
    wrench = np.einsum("...rk,...r->...k", rows, force)
    if local:
        turning = -np.swapaxes(J, -1, -2) @ turned(turn, wrench[..., None])
    moving = [(name, sign) for name, sign in ((first, 1), (second, -1)) if name and robot.frame(name).body]
    wrenches = {(name, "world"): sign * wrench for name, sign in moving}
    return ConstraintRows(rows @ J, rows @ by_q, rows @ by_v, turning, wrenches)


def _frame(robot: Tree, state: State, frame: str) -> FrameDerivatives:
    q, v, _ = state
    by_q, by_v, J = frame_acceleration_derivatives(robot, *state, frame)
    # J(q) v is the acceleration at rest with v as accelerations
    velocity_by_q = np.broadcast_to(frame_acceleration_derivatives(robot, q, 0 * v, v, frame).da_dq, J.shape)
    return FrameDerivatives(J, frame_acceleration(robot, *state, frame)[..., None], by_q, by_v, velocity_by_q)


def rotation_vector_rate(vector: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the rates (..., 3, n) of a rotation vector (..., 3, 1) at angular velocities turn (..., 3, n)."""
    angle = np.linalg.norm(vector, axis=-2, keepdims=True)
    half = np.where(angle < SMALL, 1.0, angle) / 2
    series = (1 + angle**2 / 60 + angle**4 / 2520) / 12
    factor = np.where(angle < SMALL, series, (1 - half / np.tan(half)) / (2 * half) ** 2)
    once = np.cross(vector, turn, axis=-2)
    return turn - once / 2 + factor * np.cross(vector, once, axis=-2)
