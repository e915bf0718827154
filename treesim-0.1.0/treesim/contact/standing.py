"""Placement of a robot on a static box, height field or static mesh: its base moves until its first shape touches."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, quoted
from ..model.tree import Tree
from ..states.standing import moved, standing
from ..states.support import gaps
from .ground import Ground, HeightField, SolidSurface, StaticBox
from .overlaps import pair_gaps
from .static_mesh import StaticMesh
from .tables import touching

TOUCHING = 1e-12  # m
LONGEST = 0.05  # m: motion after which gaps are computed again
NOTHING_HELD = np.zeros(2, np.int64), np.zeros(0)


def set_down(robot: Tree, q: np.ndarray, surface: SolidSurface) -> np.ndarray:
    """Return q (nq,) with the floating base moved along the upward direction (`way_up`) until the first shape touches.

    Starts with the lowest point of the robot at the height of the surface's highest point, and moves downward by Newton
    steps of 5 cm at most. Raises ArgumentError if no shape is above the surface.
    """
    up, top, depth = way_up(surface)
    q = standing(robot, q, Ground(normal=up, height=top))
    tables = touching(robot, (surface,), False, False, NOTHING_HELD)
    left = depth + _extent(robot, q, up, top)
    while left > 0:
        room = float(pair_gaps(robot, tables, q, up, LONGEST).room.min())
        if abs(room) < TOUCHING:
            return q
        step = min(room, LONGEST)
        q = moved(robot, q, up, -step)
        left -= abs(step)
    where = f"{type(surface).__name__}{f' {surface.name!r}' if surface.name else ''}"
    raise ArgumentError(f"nothing of {quoted(robot.name)} is above the {where}: move its base there first")


def way_up(surface: SolidSurface) -> tuple[np.ndarray, float, float]:
    """Return the upward direction (3,) of a surface, the height of its highest point along it, and its extent [m].

    The direction is z for a height field or a static mesh, and for a static box the normal of the face that is turned
    upward most.
    """
    if isinstance(surface, HeightField):
        return np.array([0.0, 0.0, 1.0]), float(np.max(surface.heights)), float(np.ptp(surface.heights))
    if isinstance(surface, StaticMesh):
        z = surface.world_vertices[:, 2]
        return np.array([0.0, 0.0, 1.0]), float(z.max()), float(np.ptp(z))
    assert isinstance(surface, StaticBox)
    R, half = surface.placement.rotation, np.asarray(surface.size) / 2
    k = int(np.abs(R[2]).argmax())
    up = R[:, k] * np.sign(R[2, k])
    return up, float(up @ surface.placement.translation + half[k]), float(2 * half[k])


def _extent(robot: Tree, q: np.ndarray, up: np.ndarray, top: float) -> float:
    """Return an upper bound of the distances along `up` between candidate points and the surface [m]."""
    above = gaps(robot, q, up, top)
    return float(np.ptp(above) + np.abs(above).max())
