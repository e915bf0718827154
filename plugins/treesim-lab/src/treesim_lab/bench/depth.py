"""Critical path and depth of level-parallel methods over the number of bodies, and their increase per doubling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from treesim.dynamics.compiled.schedules import schedule, scheduled_methods
from treesim.model.tree import Tree
from treesim.system.progress import counted

from ..cost.scaling import FAMILIES, Family

UPPER = 3  # sizes that a slope is fitted to, the largest ones


def depths(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each family of trees, quantity and method.

    Rows contain sizes, critical paths and depths in operations, and the slopes of both per doubling, fitted to
    the three largest sizes. Quantities are forward dynamics in motion, and the inverse operational inertia of
    the last body. Takes up to 0.1 s per body and method.
    """
    families = [family for family in FAMILIES if family.name != "square grid"]  # whose N doubles in no simple way
    return [row for family in counted(families, attrgetter("name")) for row in _rows(family, sizes)]


def _rows(family: Family, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    robots = [family.make(size) for size in sizes]
    for quantity in ("forward dynamics", "Λ⁻¹ of the last body"):
        of_frames = quantity != "forward dynamics"
        for method in scheduled_methods(_last(robots[0]) if of_frames else None):
            made = [schedule(robot, method, frames=_last(robot) if of_frames else None) for robot in robots]
            bodies = [robot.n_bodies for robot in robots]
            paths, depth = [one.critical_path for one in made], [one.depth for one in made]
            yield {
                "family": family.name,
                "quantity": quantity,
                "method": method,
                "bodies": bodies,
                "critical_path": paths,
                "depth": depth,
                "critical_path_per_doubling": per_doubling(bodies, paths),
                "depth_per_doubling": per_doubling(bodies, depth),
            }


def _last(robot: Tree) -> list[str]:
    return [robot.body_names[-1]]


def per_doubling(bodies: Sequence[int], numbers: Sequence[int]) -> float | None:
    """Return the increase of numbers per doubling of the bodies, fitted to the largest sizes; None for one size."""
    upper = slice(-UPPER, None)
    if len(bodies) < 2:
        return None
    return float(np.polyfit(np.log2(bodies[upper]), numbers[upper], 1)[0])
