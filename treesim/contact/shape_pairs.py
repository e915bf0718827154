"""Which shapes of a world's bodies meet each other, and by which code."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..model.support import ShapeWarning, candidates
from ..model.tree import Tree
from .bodies import meeting, ways, wholly
from .convex_pairs import ConvexPairs, unmet
from .overlaps import overlapping
from .tables import Shapes, touching


def shape_pairs(
    robot: Tree,
    counts: Sequence[int],
    self_collision: bool,
    with_coal: bool,
    held: tuple[np.ndarray, np.ndarray],
) -> tuple[tuple[Shapes, ...], tuple[Shapes, ...]]:
    """Return the pairs of shapes that meet in compiled code, points of the first against the solid of the second, and
    those that coal looks at.

    robot: the tree of a world, of whose parts `counts` tells the numbers of bodies, the robot's first. self_collision:
    whether bodies of the robot meet, which are no neighbours, and do not touch in its neutral pose. with_coal: whether
    hulls and cylinders do; without it, those that pass through each other are told in a ShapeWarning. held: see
    `tables.touching`. Raises ArgumentError where coal is missing.
    """
    shapes = tuple(dict.fromkeys(candidates(robot).shapes))
    pairs = tuple(meeting(robot, shapes, counts, self_collision))
    convex = tuple(pair for pair in pairs if with_coal and not wholly(*pair))
    compiled = tuple(way for pair in pairs if not with_coal or wholly(*pair) for way in ways(*pair))
    missing = [pair for pair in pairs if not with_coal and not ways(*pair)]
    if missing:
        warnings.warn(unmet(missing), ShapeWarning, stacklevel=4)
    return _apart(robot, compiled, convex, counts[0], held) if self_collision else (compiled, convex)


def _apart(
    robot: Tree, compiled: Sequence[Shapes], convex: Sequence[Shapes], bodies: int, held: tuple[np.ndarray, np.ndarray]
) -> tuple[tuple[Shapes, ...], tuple[Shapes, ...]]:
    """These pairs without those of the robot, of so many bodies, that touch in its neutral pose."""
    own, others = ([p for p in pairs if max(shape.body for shape in p) <= bodies] for pairs in (compiled, convex))
    tables = touching(robot, (), False, False, held, own)
    met = {frozenset(own[k]) for k in overlapping(robot, tables, robot.neutral())}
    met |= {frozenset(others[k]) for k in ConvexPairs(robot, others, 0).depths(robot.neutral())}
    kept = [tuple(pair for pair in pairs if frozenset(pair) not in met) for pairs in (compiled, convex)]
    return kept[0], kept[1]
