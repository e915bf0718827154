"""Free bodies, and the selection of pairs of body shapes that may collide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from ..errors import ArgumentError, plain_text, quoted
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.shapes import CollisionShape
from ..model.solids import SOLIDS, roundness
from ..model.tree import Body, Tree, Visual
from ..types import CollisionKind, ShapeKind
from ..validation.values import LONGEST, checked_text, finite_vector, is_name_of, positive_number, short_repr
from .solid import Solid
from .solids import CONTACTS

MOST_FREE = 8  # bodies of whose steps straight-line code is compiled


def free_body(name: str, kind: CollisionKind, size: Sequence[float], mass: float) -> Tree:
    """Return a tree of one homogeneous free body, for example a ball or a box that a robot pushes.

    Parameters
    ----------
    name : str
        Name of the tree and its body; its floating joint is called `<name>_joint`.
    kind : str
        "sphere", "capsule", "cylinder" or "box".
    size : sequence of float
        Lengths as in `treesim.CollisionShape` [m].
    mass : float
        Mass [kg].

    Returns
    -------
    Tree
        Tree with one body. The body's frame is at the centre of the shape.

    Raises
    ------
    ArgumentError
        If an argument does not fit.

    Examples
    --------
    >>> treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    <Tree 'crate': 1 bodies, nq 7, nv 6, 1 kg>
    """
    name, kind = checked_text("name of a free body", name), plain_text(kind)
    if not is_name_of(kind, SOLIDS):
        raise ArgumentError(f"kind: a free body is a sphere, capsule, cylinder or box, not {quoted(kind)}")
    lengths = tuple(finite_vector(f"size of {quoted(name)}", size, SOLIDS[kind].lengths, LONGEST).tolist())
    if min(lengths) <= 0:
        raise ArgumentError(f"size of {quoted(name)} must be {len(lengths)} lengths above 0, got {short_repr(size)}")
    shape = CollisionShape(1, Placement(), kind, size=lengths, link=name)
    weight = positive_number(f"mass of {quoted(name)}", mass, "number of kilograms")
    inertia = Inertia(weight, (0, 0, 0), np.diag(weight * SOLIDS[kind].gyration(lengths)))
    body = Body(name, 0, Joint(f"{name}_joint", "floating"), inertia)
    return Tree(name, [body], visuals=[Visual(1, Placement(), cast("ShapeKind", kind), lengths)], shapes=[shape])


def solid_of_shape(shape: CollisionShape) -> Solid | None:
    """Return the solid of a shape for points of other bodies; None for cylinders and hulls."""
    code = CONTACTS[shape.kind].solid
    if code is None:
        return None
    first = shape.size[0] / (1 if roundness(shape.kind) else 2)  # a radius, or half a length
    size = [first, *(x / 2 for x in shape.size[1:])]
    return Solid(shape.body, code, tuple(np.pad(size, (0, 4 - len(size)))), shape.placement)


def meeting(
    robot: Tree,
    shapes: Sequence[CollisionShape],
    parts: Sequence[int],
    among_robot: bool,
    immobile: frozenset[int] = frozenset({0}),
    free: Sequence[CollisionShape] = (),
) -> Iterator[tuple[CollisionShape, CollisionShape]]:
    """Yield the pairs of shapes that may collide.

    They belong to different trees of the world, and not both to `immobile` bodies: fixed bases, kinematic bodies. With
    `among_robot`, pairs of bodies of the robot that are not adjacent are included. parts: index of the tree of each
    shape; 0 is the robot. free: shapes whose pairs with each other are omitted.
    """
    every, omitted = list(zip(range(len(shapes)), shapes, parts, strict=True)), set(map(id, free))
    others = [x for x in every if id(x[1]) not in omitted]
    pairs = ((x, y) for x in every for y in (others if id(x[1]) in omitted else every) if y[0] > x[0])
    for (_, a, part_a), (_, b, part_b) in pairs:
        own = part_a == part_b
        if not (a.body in immobile and b.body in immobile) and (
            not own or (among_robot and part_a == 0 and _apart(robot, a.body, b.body))
        ):
            yield a, b


def ways(a: CollisionShape, b: CollisionShape) -> list[tuple[CollisionShape, CollisionShape]]:
    """Return how compiled code treats two shapes, as (shape whose points collide, shape that is the solid).

    There is one such pair, or two for two boxes. Hulls collide with spheres and capsules by their vertices only. There
    is none for two hulls, and for cylinders and other shapes than boxes.
    """
    found = [(x, y) for x, y in ((a, b), (b, a)) if CONTACTS[y.kind].solid in CONTACTS[x.kind].meets]
    return found if CONTACTS[a.kind].polyhedral else found[:1]


def wholly(a: CollisionShape, b: CollisionShape) -> bool:
    """Return whether compiled code finds all contacts of two shapes: for spheres, capsules and boxes."""
    return CONTACTS[a.kind].solid is not None and CONTACTS[b.kind].solid is not None


def _apart(robot: Tree, a: int, b: int) -> bool:
    """Return whether two bodies of a tree (0 = the fixed base) are different and not adjacent."""
    return a != b and (not a or robot.bodies[a - 1].parent != b) and (not b or robot.bodies[b - 1].parent != a)


def engine_of_one_state(robot: Tree, engine: str) -> str:
    """Return the engine of single states: "generic" instead of "auto" where there are many free bodies.

    The compile time of straight-line code grows with their number, and steps in contact gain nothing by it.
    """
    if engine != "auto":
        return engine
    parents = set(robot.parent.tolist())
    free = [
        body.parent == 0 and body.joint.type == "floating" and k not in parents
        for k, body in enumerate(robot.bodies, 1)
    ]
    return "generic" if sum(free) > MOST_FREE else engine
