"""Free bodies, and the selection of pairs of body shapes that may collide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ..errors import ArgumentError, plain_text, quoted
from ..kernels.contact.signed_distance import BOX, CAPSULE, SPHERE
from ..model.inertia import Inertia, Placement
from ..model.joints import Joint
from ..model.shapes import SIZES, CollisionShape
from ..model.tree import Body, Tree, Visual
from ..types import CollisionKind
from ..validation.values import LONGEST, checked_text, finite_vector, is_name_of, positive_number, short_repr
from .solid import Solid

SOLIDS = {"sphere": SPHERE, "capsule": CAPSULE, "box": BOX}
ORDER = ("sphere", "capsule", "box")  # points of the one that comes first meet the other as a solid


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
    if not is_name_of(kind, SIZES) or kind == "hull":
        raise ArgumentError(f"kind: a free body is a sphere, capsule, cylinder or box, not {quoted(kind)}")
    lengths = tuple(finite_vector(f"size of {quoted(name)}", size, SIZES[kind], LONGEST).tolist())
    if min(lengths) <= 0:
        raise ArgumentError(f"size of {quoted(name)} must be {len(lengths)} lengths above 0, got {short_repr(size)}")
    shape = CollisionShape(1, Placement(), kind, size=lengths, link=name)
    weight = positive_number(f"mass of {quoted(name)}", mass, "number of kilograms")
    inertia = Inertia(weight, (0, 0, 0), np.diag(weight * _gyration(kind, lengths)))
    body = Body(name, 0, Joint(f"{name}_joint", "floating"), inertia)
    return Tree(name, [body], visuals=[Visual(1, Placement(), kind, lengths)], shapes=[shape])


def _gyration(kind: str, size: tuple[float, ...]) -> np.ndarray:
    """Rotational inertia (3,) per mass of a homogeneous body about its principal axes [m^2]."""
    if kind == "box":
        a, b, c = (x * x / 12 for x in size)
        return np.array([b + c, a + c, a + b])
    if kind == "sphere":
        return np.full(3, 0.4 * size[0] ** 2)
    r, length = size
    rod, ball = np.pi * r * r * length, (4 / 3 * np.pi * r**3 if kind == "capsule" else 0.0)
    share = rod / (rod + ball)  # of the mass; the caps of a capsule are a ball cut in two
    across = share * (r * r / 4 + length * length / 12)
    across += (1 - share) * (0.4 * r * r + length * length / 4 + 3 / 8 * length * r)
    return np.array([across, across, share * r * r / 2 + (1 - share) * 0.4 * r * r])


def solid_of_shape(shape: CollisionShape) -> Solid | None:
    """Return the solid of a shape for points of other bodies; None for cylinders and hulls."""
    if shape.kind not in SOLIDS:
        return None
    size = [x / 2 for x in shape.size] if shape.kind == "box" else [shape.size[0], *(x / 2 for x in shape.size[1:])]
    return Solid(shape.body, SOLIDS[shape.kind], tuple(np.pad(size, (0, 4 - len(size)))), shape.placement)


def meeting(
    robot: Tree,
    shapes: Sequence[CollisionShape],
    parts: Sequence[int],
    among_robot: bool,
    immobile: frozenset[int] = frozenset({0}),
) -> Iterator[tuple[CollisionShape, CollisionShape]]:
    """Yield the pairs of shapes that may collide.

    They belong to different trees of the world, and not both to `immobile` bodies: fixed bases, kinematic bodies. With
    `among_robot`, pairs of bodies of the robot that are not adjacent are included. parts: index of the tree of each
    shape; 0 is the robot.
    """
    for (a, part_a), (b, part_b) in combinations(zip(shapes, parts, strict=True), 2):
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
    if "cylinder" in (a.kind, b.kind) and "box" not in (a.kind, b.kind):
        return []
    solids = [shape.kind in SOLIDS for shape in (a, b)]
    if not all(solids):
        return [(a, b) if solids[1] else (b, a)] if any(solids) else []
    if a.kind == b.kind == "box":
        return [(a, b), (b, a)]
    return [(a, b) if ORDER.index(a.kind) <= ORDER.index(b.kind) else (b, a)]


def wholly(a: CollisionShape, b: CollisionShape) -> bool:
    """Return whether compiled code finds all contacts of two shapes: for spheres, capsules and boxes."""
    return a.kind in SOLIDS and b.kind in SOLIDS


def _apart(robot: Tree, a: int, b: int) -> bool:
    """Return whether two bodies of a tree (0 = the fixed base) are different and not adjacent."""
    return a != b and (not a or robot.bodies[a - 1].parent != b) and (not b or robot.bodies[b - 1].parent != a)
