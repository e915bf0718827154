"""Constraints of a world: their target poses, and which rows constrain positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...errors import ArgumentError
from ...model.tree import Tree
from ...validation.arrays import Argument, coerce
from ..operational.frames import frame_pose, in_world_axes
from .constraints import Constraint, ConstraintTables, FrameConstraint, LoopConstraint

ROUNDING = 16 * np.finfo(float).eps  # of R R^T - 1 of a rotation, which is then not changed, to the bit
PLAIN = 1e-12  # an entry of a row smaller than this part of it counts as zero


def held_constraint(robot: Tree, constraint: Constraint, q: np.ndarray) -> Constraint:
    """Return a constraint with its target pose, by default that of its frame at q (nq,).

    Raises ArgumentError for a constraint that a world does not support.
    """
    for name in ("target", "damping", "stiffness"):
        value = getattr(constraint, name)
        if value is not None and np.any(np.asarray(value)):
            raise ArgumentError(
                f"{name} of {constraint.label}: a World does not support it, since its steps close gaps; "
                f"constrained_dynamics does"
            )
    if isinstance(constraint, LoopConstraint):
        return constraint
    pose = frame_pose(robot, q, constraint.frame) if constraint.pose is None else constraint.pose
    label = f"pose of {constraint.label}"
    given = coerce(Argument(label, pose, (4, 4)))
    R = given[..., :3, :3]
    if given.shape != (4, 4) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0:
        raise ArgumentError(f"{label} must be one homogeneous matrix (4, 4) with a rotation in it")
    exact = np.array(given, float)
    if np.abs(R @ R.T - np.eye(3)).max() > ROUNDING:
        U, _, V = np.linalg.svd(R)  # exact to rounding, as gaps are
        exact[:3, :3] = U @ V
    return replace(constraint, pose=exact)


def closure_table(constraints: Sequence[Constraint], tables: ConstraintTables) -> np.ndarray:
    """Return the table for `kernels.constrained.rows.Held`.

    It has a flag of each row that constrains positions (m,), 1/2 for each constraint of all rotations (C,), and free
    axes (C, 3).
    """
    closed, whole, axes = [np.empty(0)], np.zeros(len(constraints)), np.zeros((len(constraints), 3))
    for c, constraint in enumerate(constraints):
        R = tables.rows[tables.start[c] : tables.start[c + 1]]
        size = np.abs(R).max(axis=1)
        linear = np.abs(R[:, 3:]).max(axis=1) <= PLAIN * size
        angular = np.abs(R[:, :3]).max(axis=1) <= PLAIN * size
        local = not in_world_axes(constraint.reference)
        shifts = linear & (not local or _rank(R[linear, :3]) == 3)
        turns, count = R[angular, 3:], _rank(R[angular, 3:])
        if count == 2 and (local or isinstance(constraint, FrameConstraint)):
            free = np.linalg.svd(turns)[2][2]
            axes[c] = free if local else _rotation(constraint).T @ free
        whole[c] = 0.5 * (count == 3)
        rotations = angular & (count == 3 or axes[c].any())
        closed.append((shifts | rotations).astype(float))
    return np.concatenate([*closed, whole, axes.ravel()])


def _rank(rows: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(rows)) if len(rows) else 0


def _rotation(constraint: Constraint) -> np.ndarray:
    """Return the rotation (3, 3) of a constraint's target pose."""
    assert isinstance(constraint, FrameConstraint)
    return np.asarray(constraint.pose, float)[:3, :3]
