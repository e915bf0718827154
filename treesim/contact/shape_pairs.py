"""Selection of the pairs of a world's shapes that collide, and of the code that finds their contacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import ShapeWarning
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.support import usable_shapes
from ..system.user_warnings import warn
from .bodies import meeting, ways, wholly
from .convex_pairs import ConvexPairs, unmet
from .overlaps import overlapping
from .tables import Shapes, touching

FEW_FREE = 16  # shapes of free bodies whose pairs have rows in the tables


def shape_pairs(
    robot: Tree,
    trees: Sequence[Tree],
    self_collision: bool,
    with_coal: bool,
    held: tuple[np.ndarray, np.ndarray],
    kinematic: frozenset[int] = frozenset(),
) -> tuple[tuple[Shapes, ...], tuple[Shapes, ...], tuple[CollisionShape, ...]]:
    """Return the pairs of shapes whose contacts compiled code finds, those for coal, and shapes of many free bodies.

    Each two of the last shapes are further compiled pairs, which are those of the largest numbers.

    A compiled pair is (shape whose points collide, shape that is the solid). robot: merged tree of a world. trees: the
    trees that it was made of, the robot's first, with shapes in the same order; shapes on a fixed base are static.
    self_collision: include pairs of robot bodies that are not adjacent and do not touch in the neutral configuration.
    with_coal: include hulls and cylinders; without it a ShapeWarning names the pairs that are omitted. held: see
    `tables.touching`. kinematic: numbers of bodies that nothing moves. Raises ArgumentError if coal is missing.
    """
    part = dict(
        zip(map(id, robot.shapes), np.repeat(np.arange(len(trees)), [len(x.shapes) for x in trees]), strict=True)
    )
    shapes = usable_shapes(robot)
    parts = [int(part[id(shape)]) for shape in shapes]
    immobile = frozenset({0}) | kinematic
    free = () if with_coal else _free(shapes, parts, immobile)
    pairs = tuple(meeting(robot, shapes, parts, self_collision, immobile, free))
    convex = tuple(pair for pair in pairs if with_coal and not wholly(*pair))
    compiled = tuple(way for pair in pairs if not with_coal or wholly(*pair) for way in ways(*pair))
    missing = [pair for pair in pairs if not with_coal and not ways(*pair)]
    if missing:
        warn(unmet(missing), ShapeWarning)
    if not self_collision:
        return compiled, convex, free
    own = [tuple(p for p in each if all(part[id(shape)] == 0 for shape in p)) for each in (compiled, convex)]
    met = _met(robot, own[0], own[1], held)
    kept = [tuple(pair for pair in pairs if frozenset(pair) not in met) for pairs in (compiled, convex)]
    return kept[0], kept[1], free


def _free(
    shapes: Sequence[CollisionShape], parts: Sequence[int], immobile: frozenset[int]
) -> tuple[CollisionShape, ...]:
    """Return the shapes that are each the only one of a tree and collide with each other; none if these are few.

    parts: index of the tree of each shape; 0 is the robot.
    """
    count, given = Counter(parts), zip(shapes, parts, strict=True)
    free = [x for x, part in given if count[part] == 1 and x.body not in immobile and wholly(x, x)]
    return tuple(free) if len(free) > FEW_FREE else ()


def _met(
    robot: Tree, compiled: Sequence[Shapes], convex: Sequence[Shapes], held: tuple[np.ndarray, np.ndarray]
) -> set[frozenset[CollisionShape]]:
    """Return the pairs that touch in the robot's neutral configuration."""
    q = robot.neutral()
    tables = touching(robot, (), False, False, held, compiled)
    met = {frozenset(compiled[k]) for k in overlapping(robot, tables, q)}
    return met | {frozenset(convex[k]) for k in ConvexPairs(robot, convex, 0).depths(q)}
