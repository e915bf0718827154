"""Placement of a robot on a static box, height field or static mesh: its base moves until its first shape touches."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, quoted
from ..model.tree import Tree
from ..states.standing import moved, standing
from ..states.support import gaps
from .ground import Ground
from .overlaps import pair_gaps
from .surface import StaticSurface
from .tables import touching

TOUCHING = 1e-12  # m
LONGEST = 0.05  # m: motion after which gaps are computed again
NOTHING_HELD = np.zeros(2, np.int64), np.zeros(0)


def set_down(
    robot: Tree, q: np.ndarray, surface: StaticSurface, up: np.ndarray, top: float, depth: float
) -> np.ndarray:
    """Return q (nq,) with the floating base moved along the direction `up` (3,) until the first shape touches.

    top: height of the surface's highest point along `up`. depth: extent of the surface [m].

    Starts with the lowest point of the robot at the height of the surface's highest point, and moves downward by Newton
    steps of 5 cm at most. Raises ArgumentError if no shape is above the surface.
    """
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


def _extent(robot: Tree, q: np.ndarray, up: np.ndarray, top: float) -> float:
    """Return an upper bound of the distances along `up` between candidate points and the surface [m]."""
    above = gaps(robot, q, up, top)
    return float(np.ptp(above) + np.abs(above).max())
