"""Construction of the rows of pairs of points and solids in the contact tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..kernels.contact.edges import AXIS, CROSSING, CROSSINGS, FEATURES
from ..kernels.contact.layout import PairColumns, SurfaceColumns
from ..kernels.contact.signed_distance import CONVEX, groups_of
from ..kernels.contact.static_features import CORNERS, EDGES
from ..kernels.contact.tables import PER_PAIR, RIM
from ..model.inertia import Placement
from ..model.matrices import product
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from .bodies import solid_of_shape, ways
from .pair_boxes import BoxedPair
from .shape_points import KNOWN, ShapePoints, shape_points
from .solid import Solid
from .surface import Surface
from .surfaces import Surfaces

SHARED_SLOTS = 32  # of a hull with more points, and of a shape on a height field or mesh
CANDIDATES = 96  # on a height field or mesh: of more, those with the largest gaps are left out
MORE = {0: 0, AXIS: 2, CROSSING: 1 + CROSSINGS, FEATURES: CORNERS + 2 * EDGES}  # slots of contacts between points
ZEROS = dict.fromkeys(("first_slot", "group", "flipped", "internal_edges"), 0)  # columns of rows that are no pairs
PLAIN = Surface()  # of pairs of bodies without surfaces of their own


class PairTables:
    """Builder of the tables of pairs of points and solids."""

    def __init__(self, robot: Tree, with_planes: bool, surfaces: Surfaces | None = None) -> None:
        self.surfaces = surfaces
        self.robot, self.with_planes = robot, with_planes  # the planes of faces are for edges of solids to meet
        self.ints: list[PairColumns] = []
        self.reals: list[Any] = []
        self.points: list[np.ndarray] = []
        self.heights: list[np.ndarray] = []  # of height fields, and tables of meshes, one after the other
        self.links: list[tuple[str, str]] = []
        self.groups: dict[tuple[str, str], int] = {}
        self.slots = self.most = self.capacity = self.count = 0
        self.resists = self.soft = False  # whether any pair has torsional or rolling friction, or a stiffness
        self.pairs: list[BoxedPair] = []
        self.free: list[ShapePoints] = []  # each two of which are pairs besides, and the number of their kinds
        self.kinds = 0
        self._solids: dict[int, Solid] = {}
        self._first: dict[int, tuple[int, int]] = {}  # of each shape: index of the first point, number of planes
        self._surfaces: dict[tuple[int, int], tuple[Surface, SurfaceColumns]] = {}
        self._places: dict[int, tuple[Solid, np.ndarray]] = {}
        self._known = dict(KNOWN.get(robot, {}))  # and shapes of this world alone

    @property
    def shapes(self) -> int:
        """Number of shapes whose points may touch."""
        return len(self._first)

    def solid_of(self, shape: CollisionShape) -> Solid:
        """Return the solid of a sphere, capsule or box."""
        if id(shape) not in self._solids:
            self._solids[id(shape)] = cast("Solid", solid_of_shape(shape))
        return self._solids[id(shape)]

    def add(
        self,
        shape: CollisionShape,
        solid: Solid,
        surface: Surface,
        met: str,
        of: CollisionShape | None = None,
        internal_edges: int = 0,
    ) -> None:
        """Add the pair of one shape's points and one solid.

        met: name of the solid's link, or of the surface of the world. of: the shape that is the solid. internal_edges:
        1 + number of the pair whose solid other solids of the world may cover at internal edges; 0 for none.
        """
        flipped, names = shape.body == 0 or 0 < solid.body < shape.body, self.robot.body_names
        one, other = names[shape.body - 1] if shape.body else shape.link, names[solid.body - 1] if solid.body else met
        group = self.groups.setdefault((other, one) if flipped else (one, other), len(self.groups))
        surface = surface if self.surfaces is None else self.surfaces.of(shape.link, met)
        own = self._known.get(id(shape)) or self.points_of(shape)
        self.pairs.append((own, solid, None if of is None else self.points_of(of)))
        row, most = self._put(
            own, solid, surface, met, first_slot=self.slots, group=group, flipped=int(flipped),
            internal_edges=internal_edges, number=len(self.ints),
        )  # fmt: skip
        self.slots += row.slots
        self.capacity += most

    def add_free(self, shapes: Sequence[CollisionShape]) -> None:
        """Add rows for shapes each two of which are pairs (`kernels.contact.gathered_pairs`).

        First those of each two kinds, in which two of these shapes differ from no others; then that of each shape.
        """
        self.free, n = [self.points_of(shape) for shape in shapes], len(shapes)
        keys = [(shape.kind, self.surfaces and self.surfaces.kind_of(shape.link)) for shape in shapes]
        numbers = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        kinds, self.kinds = np.array([numbers[key] for key in keys]), len(numbers)
        of_kind = kinds[:, None] == np.arange(self.kinds)
        counts = (np.cumsum(of_kind, axis=0) - of_kind).T @ of_kind.astype(int)  # pairs of each two kinds
        for a, b in np.ndindex(counts.shape):
            one, other = shapes[of_kind[:, a].argmax()], shapes[n - 1 - of_kind[::-1, b].argmax()]
            found = ways(one, other) if counts[a, b] else []
            for way, (own, met) in enumerate((*found, *[(one, other)] * (2 - len(found)))):
                there = way < len(found)
                surface = self.surfaces.of(own.link, met.link) if self.surfaces and there else PLAIN
                columns = {"flipped": int(own is other), "number": way} | ({} if there else {"slots": 0})
                _, most = self._put(self.points_of(own), self.solid_of(met), surface, met.link, **columns)
                self.capacity += int(counts[a, b]) * most * there
        for i, shape in enumerate(shapes):
            columns = {
                "first_slot": self.slots + 2 * n * i * self.most, "number": int(kinds[i]),
                "group": len(self.groups) + i * (2 * n - i - 3) // 2 - 1,  # of the pair with shape j, less j
            }  # fmt: skip
            self._put(self.free[i], self.solid_of(shape), PLAIN, shape.link, **columns)
        self.slots += 2 * n * n * self.most

    def _put(
        self, own: ShapePoints, solid: Solid, surface: Surface, met: str, **columns: int
    ) -> tuple[PairColumns, int]:
        """Add a row with some of its integers, which are 0 by default; return the integers, and the most contacts."""
        shape = own.shape
        first, planes = self._first.get(id(shape), (self.count, len(own.planes) if self.with_planes else 0))
        if id(shape) not in self._first:
            self._first[id(shape)] = first, planes
            self.points += (own.points, own.planes) if planes else (own.points,)
            self.count += len(own.points) + planes
        _, place = self._places.get(id(solid)) or self._put_place(solid)
        (between, slots), terrain, count = _contacts(own, solid), solid.heights is not None, len(own.points)
        columns = {"slots": min(slots, SHARED_SLOTS) if terrain or not shape.size else slots} | columns
        row = PairColumns(
            body=shape.body, solid_body=solid.body, solid=solid.kind, first_point=first, points=count,
            cylinder=int(own.has_rims), nx=solid.nodes[0], ny=solid.nodes[1],
            start=self._start(solid.heights) if solid.heights is not None else 0, between=between,
            shape=own.kind.shape, planes=planes, **ZEROS | columns,
        )  # fmt: skip
        springs = min(PER_PAIR, max(count, 1))
        _, parameters = self._surfaces.get((id(surface), springs)) or self._put_surface(surface, springs)
        self.ints.append(row)
        self.reals += place, solid.size, parameters, own.ball
        self.links.append((shape.link, met))
        self.most = max(self.most, slots)
        return row, min(slots, PER_PAIR * groups_of(solid.kind) if terrain else PER_PAIR)

    def points_of(self, shape: CollisionShape) -> ShapePoints:
        """Return the points of a shape."""
        if id(shape) not in self._known:
            self._known[id(shape)] = shape_points(self.robot, shape)
        return self._known[id(shape)]

    def _start(self, heights: np.ndarray) -> int:
        """Return the place of the numbers of a height field or mesh in the table, to which they are added once."""
        start = 0
        for known in self.heights:
            if known is heights:
                return start
            start += known.size
        self.heights.append(heights)
        return start

    def _put_surface(self, surface: Surface, springs: int) -> tuple[Surface, SurfaceColumns]:
        """Return a surface and its contact parameters for a number of springs, which share the stiffness."""
        columns = SurfaceColumns(
            friction=surface.friction, restitution=surface.restitution,
            stiffness=0.0 if surface.stiffness is None else surface.stiffness / springs,
            dissipation_time=surface.dissipation_time, torsional_friction=surface.torsional_friction,
            rolling_friction=surface.rolling_friction,
        )  # fmt: skip
        self.resists |= bool(columns.torsional_friction or columns.rolling_friction)
        self.soft |= columns.stiffness > 0
        return self._surfaces.setdefault((id(surface), springs), (surface, columns))

    def _put_place(self, solid: Solid) -> tuple[Solid, np.ndarray]:
        """Return a solid and its placement (12,) in kernel axes."""
        self._places[id(solid)] = solid, _in_kernel_axes(self.robot, solid.body, solid.placement)
        return self._places[id(solid)]


def _contacts(own: ShapePoints, solid: Solid) -> tuple[int, int]:
    """Return the kind of contact between the points of a shape and a solid (`ContactKind.meets`), and a pair's slots.

    Edges of two boxes are assigned to one of their two pairs.
    """
    if solid.kind == CONVEX:
        return 0, PER_PAIR
    if solid.heights is not None:
        return 0, CANDIDATES
    body, between = own.shape.body, own.kind.meets.get(solid.kind, 0)
    if between == CROSSING and not (body > 0 and (solid.body == 0 or body < solid.body)):
        between = 0
    return between, (RIM if own.has_rims else len(own.points)) + MORE[between]


def _in_kernel_axes(robot: Tree, body: int, placement: Placement) -> np.ndarray:
    if not body:  # the world's are its own
        return np.concatenate([placement.rotation.ravel(), placement.translation])
    turn = robot.body_rotations[body].T
    return np.concatenate([product(turn, placement.rotation).ravel(), product(turn, placement.translation)])
