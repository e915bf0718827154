"""Overlaps of pairs of shapes at a configuration."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.tables import constants_of
from ..kernels.algebra.tables import tree_tables
from ..kernels.contact.collision import SOLIDS, contacts_memory, meet
from ..kernels.contact.delassus import place, rows_memory
from ..kernels.contact.tables import touch_tables
from ..model.tree import Tree
from .tables import Touching

MARGIN = 1e-9  # m: shapes so near each other touch


def overlapping(robot: Tree, tables: Touching, q: np.ndarray) -> dict[int, float]:
    """Return {number of pair: depth [m]} of the pairs of points and solids that touch at q (nq,).

    The kernels run in the Python interpreter: about 0.1 ms a pair.
    """
    whole, own = robot.spanning, robot.expand(q)
    touch, tree = touch_tables(tables.layout, tables.geometry), tree_tables(*constants_of(whole))
    found, rows = contacts_memory(touch, own), rows_memory(tree, 1, own)
    place(tree, own, rows)
    rows.V[:] = 0.0
    looked_at = [k for k in range(len(tables.links)) if not tables.convex[0] <= k < tables.convex[1]]
    counts = {k: meet(touch, k, rows, 0.0, MARGIN, found, SOLIDS) for k in looked_at}
    return {k: -_least_gap(touch, k, rows, found) for k, count in counts.items() if count}


def contacts_of(robot: Tree, tables: Touching, q: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gaps (k,) [m] and normals (k, 3) of all points at q (nq,) whose gap to a solid is below `margin`.

    The normals point toward the robot.
    """
    whole, own = robot.spanning, robot.expand(q)
    touch, tree = touch_tables(tables.layout, tables.geometry), tree_tables(*constants_of(whole))
    found, rows = contacts_memory(touch, own), rows_memory(tree, 1, own)
    place(tree, own, rows)
    rows.V[:] = 0.0
    gap, normal = [], []
    for k in range(len(tables.links)):
        count = meet(touch, k, rows, 0.0, margin, found, SOLIDS)
        gap.append(found.distance[:count].copy())
        normal.append(
            found.outward[:count] * (1.0 if touch.pair[k, 0] else -1.0)
        )  # corners of the world meet the robot
    return np.concatenate(gap), np.concatenate(normal)


def _least_gap(touch: Any, k: int, rows: Any, found: Any) -> float:
    """Return the gap of the deepest point of pair k [m]."""
    return float(found.distance[: meet(touch, k, rows, 0.0, MARGIN, found, SOLIDS)].min())
