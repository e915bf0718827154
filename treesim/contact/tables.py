"""Construction of the flat contact tables from shapes, surfaces and joints (see `treesim.kernels.contact.tables`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, cast

import numpy as np

from ..kernels.constrained.constraints import row_count
from ..kernels.contact.edges import AXIS, CROSSING, CROSSINGS, FEATURES
from ..kernels.contact.layout import (
    COUNT,
    PAIR,
    SUBTREE,
    Counts,
    PairColumns,
    RecoveryOptions,
    SurfaceColumns,
    bounds_at,
    pair_of,
    pair_table,
)
from ..kernels.contact.near_pairs import FEW
from ..kernels.contact.signed_distance import CONVEX, groups_of
from ..kernels.contact.static_features import CORNERS, EDGES
from ..kernels.contact.tables import PER_PAIR, RIM, touch_tables
from ..model.inertia import Placement
from ..model.matrices import product
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.support import candidates
from .bodies import solid_of_shape
from .joint_limits import position_limits_of, speed_limits_of
from .named_wrenches import WrenchRows
from .pair_boxes import BoxedPair, boxes_of
from .pairs import GROUND
from .shape_points import KNOWN, ShapePoints, shape_points
from .solid import Solid
from .solids import variant_of
from .subtrees import subtrees_of
from .surface import StaticSurface, Surface
from .surfaces import Surfaces

SHARED_SLOTS = 32  # of a hull with more points, and of a shape on a height field or mesh
CANDIDATES = 96  # on a height field or mesh: of more, those with the largest gaps are left out
CAPACITY = 128  # initial capacity for contacts of one state, see `stage`
STORED = 16  # contacts for each shape, besides CAPACITY, whose impulses are stored: a cube among cubes has 12
MOST_EXTERNAL = 4096  # largest number of external contacts of one state
RECOVERY = 0.2  # fraction of an overlap that a step recovers
FASTEST = 1.0  # m/s, rad/s: largest speed at which overlaps open
REBOUND_SPEED = 0.05  # m/s
DEEP = 0.05  # of a body's radius: an overlap to warn of
LEFT = 1e-5  # m, rad: allowed overlap: points of a mesh's sole differ in height by part of it
MORE = {0: 0, AXIS: 2, CROSSING: 1 + CROSSINGS, FEATURES: CORNERS + 2 * EDGES}  # slots of contacts between points
PLAIN = Surface()  # of pairs of bodies without surfaces of their own
Shapes = tuple[CollisionShape, CollisionShape]


@dataclass(frozen=True)
class Touching:
    """Contact tables of a world, and the names that belong to their rows."""

    layout: np.ndarray
    geometry: np.ndarray
    links: tuple[tuple[str, str], ...]  # of each pair: link of the points, and link or surface of the solid
    bodies: tuple[int, ...]  # whose shapes may touch
    surfaces: tuple[str, ...]  # names of what does not move: surfaces of the world, then links of fixed bases
    groups: tuple[tuple[str, str], ...]  # pairs of bodies, or of a body and a surface, that may touch
    convex: tuple[int, int]  # range of the pairs with external contacts
    held: tuple[np.ndarray, np.ndarray]  # constrained rows of frames and loops: layout and geometry
    body_names: tuple[str, ...]  # of all bodies of the robot
    counts: Counts  # its capacity is the initial one
    most_contacts: int  # largest number of one state

    @property
    def scalar_rows(self) -> int:
        """Number of limits, joints with friction, speed limits, and rows of frame and loop constraints."""
        n = self.counts
        return int(n.limits + n.frictions + n.speeds + row_count(self.held[0]))

    @property
    def stored_size(self) -> int:
        """Count of numbers of a stored contact: its slot, and three or six impulses."""
        return 4 + 3 * self.counts.resists

    @property
    def warm_start_size(self) -> int:
        """Count of numbers that a state stores for the warm start (`kernels.contact.warm_start`)."""
        return 1 + self.stored_size * self.counts.stored + self.scalar_rows

    @property
    def several(self) -> bool:
        """True if there are several subtrees of the base, which contacts connect to components."""
        return int((touch_tables(self.layout, self.geometry).subtree[:-1, SUBTREE.kinematic] == 0).sum()) > 1

    def rows_with(self, capacity: int) -> int:
        """Largest number of rows of one component with `capacity` contacts."""
        return self.scalar_rows + (7 if self.counts.resists else 3) * capacity

    @property
    def solids(self) -> str:
        """Name of the collision detection for the solids of the world (`kernels.contact.collision.VARIANTS`)."""
        return variant_of(pair_table(self.layout))

    @property
    def is_swept(self) -> bool:
        """True if the broad phase sorts boxes, instead of testing each pair of them."""
        return bool(self.counts.boxed > FEW * self.counts.boxes)

    @property
    def only_limits(self) -> bool:
        """True if nothing but joint limits can act."""
        return not (self.counts.slots or self.counts.frictions or self.counts.speeds)

    @property
    def active(self) -> bool:
        """True if there is any contact, joint limit, joint friction or speed limit."""
        return bool(self.counts.limits) or not self.only_limits

    @cached_property
    def wrench_rows(self) -> WrenchRows:
        """Names of the rows of the wrenches on the ground and on all bodies; without those of pairs."""
        touching = tuple(self.body_names[body - 1] for body in self.bodies)
        return WrenchRows((GROUND, *self.body_names), self.surfaces, self.groups, None, touching)

    @cached_property
    def radii(self) -> np.ndarray:
        """Largest radius [m] of the shapes of each of `bodies`; infinite for bodies without contact points."""
        tables = touch_tables(self.layout, self.geometry)
        largest = np.zeros(len(self.body_names) + 1)
        np.maximum.at(largest, tables.pair[:, PAIR.body], tables.ball[:, 3])
        return np.where(largest > 0, largest, np.inf)[list(self.bodies)]

    @cached_property
    def largest_overlap(self) -> float:
        """Overlap [m] above which a step may be warned of (`deep_overlaps`); infinite with soft surfaces."""
        return float(DEEP * self.radii.min()) if self.counts.slots and not self.is_soft else math.inf

    @cached_property
    def is_soft(self) -> bool:
        """True if any surface that something may touch has a stiffness."""
        return bool(self.counts.soft)

    def batched_places(self, places: np.ndarray) -> np.ndarray:
        """Return where numbers of `geometry` stand in `kernels.contact.lane_parameters.LaneParameters.contact`."""
        pairs, bounds = self.counts.pairs, bounds_at(self.counts.pairs, self.counts.points)
        return np.where(places < bounds, pair_of(places), pairs + places - bounds)

    def with_room(self, layout: np.ndarray, contacts: int) -> np.ndarray:
        """Return a layout with room for so many contacts of a component, within the capacity."""
        roomy = layout.copy()
        roomy[COUNT.component] = contacts
        return roomy

    def without_groups(self) -> np.ndarray:
        """Return a layout for steps that do not report wrenches of pairs."""
        layout = self.layout.copy()
        layout[COUNT.groups], layout[COUNT.reports_pairs] = 1, 0
        return layout


def touching(
    robot: Tree,
    grounds: Sequence[StaticSurface],
    limits: bool,
    friction: bool,
    held: tuple[np.ndarray, np.ndarray],
    pairs: Sequence[Shapes] = (),
    surfaces: Surfaces | None = None,
    speed_limits: bool = False,
    convex: Sequence[Shapes] = (),
    kinematic: frozenset[int] = frozenset(),
    starts: Sequence[int] = (),
) -> Touching:
    """Return the contact tables of a robot in a world.

    grounds: surfaces of the world. limits, friction, speed_limits: include joint limits, joint friction, limits of
    joint speeds. held: layout and geometry of the constrained rows of frames and loops. pairs: shapes whose points
    collide with the solids of others. surfaces: contact parameters of all pairs; by default those of each ground, and
    of `Surface()`. convex: pairs with external contacts. kinematic: numbers of bodies that surfaces do not touch.
    starts: first body of each of several robots.
    """
    made = _Pairs(robot, bool(pairs) or any(ground._has_edges for ground in grounds), surfaces)
    _add_grounds(made, robot, grounds, kinematic)
    for one, other in pairs:
        made.add(one, made.solid_of(other), PLAIN, other.link, other)
    first_convex = len(made.ints)
    for one, other in convex:
        made.add(one, Solid(other.body, CONVEX, (0.0,) * 4, other.placement), PLAIN, other.link)
    limit, bound = position_limits_of(robot) if limits else ([], [])
    boxes = boxes_of(made.pairs)
    rough = np.flatnonzero(robot.joint_friction) if friction else np.empty(0, np.int64)
    _, independent_v = robot.kept()
    speed, fastest, braking = speed_limits_of(robot) if speed_limits else ([], [], [])
    dofs = next(zip(*limit, strict=True), ()), independent_v[rough].tolist(), next(zip(*speed, strict=True), ())
    bodies_held = held[0][1 : 1 + 2 * held[0][0]].tolist()
    subtrees, subtree_of, several = subtrees_of(robot, kinematic, bodies_held, starts, dofs)
    counts = Counts(
        pairs=len(made.ints), points=made.count, limits=len(bound), frictions=len(rough),
        capacity=min(CAPACITY, made.capacity), slots=made.slots, most=made.most, speeds=len(speed),
        groups=max(1, len(made.groups)), external=max(1, min(MOST_EXTERNAL, PER_PAIR * len(convex))),
        reports_pairs=1, resists=int(made.resists), reports_points=0, soft=int(made.soft),
        unboxed=len(boxes.unboxed), boxes=len(boxes.body), moving=int(np.count_nonzero(boxes.body)),
        boxed=len(boxes.partner), stored=min(CAPACITY + STORED * made.shapes, made.capacity),
        subtrees=len(subtrees) - 1, bodies=robot.n_bodies,
        component=min(CAPACITY, made.capacity) if several else made.capacity,
    )  # fmt: skip
    rows: list[Any] = [counts, made.ints, limit, independent_v[rough], speed, subtrees, subtree_of, *boxes[:-1]]
    options = RecoveryOptions(fraction=RECOVERY, fastest=FASTEST, rebound_speed=REBOUND_SPEED, allowed_overlap=LEFT)
    bounds = bound, robot.joint_friction[rough], fastest, braking, boxes.box
    layout = np.concatenate(rows, axis=None).astype(np.int64)
    geometry = np.concatenate([options, *made.reals, *made.points, *bounds, *made.heights], axis=None, dtype=float)
    layout.setflags(write=False)
    geometry.setflags(write=False)
    bodies = tuple(sorted({body for row in made.ints for body in (row.body, row.solid_body) if body}))
    static = [shape.link for pair in (*pairs, *convex) for shape in pair if not shape.body]
    names, external = (*surface_names(grounds), *dict.fromkeys(static)), (first_convex, len(made.ints))
    links, groups = tuple(made.links), tuple(made.groups)
    return Touching(
        layout, geometry, links, bodies, names, groups, external, held, robot.body_names, counts, made.capacity
    )


def surface_names(grounds: Sequence[Surface]) -> tuple[str, ...]:
    """Return the name of each surface of the world, "ground[k]" if it has none.

    Examples
    --------
    >>> from treesim.contact.tables import surface_names
    >>> surface_names([treesim.Ground(), treesim.Ground(name="table", height=0.7)])
    ('ground[0]', 'table')
    """
    return tuple(ground.name or f"ground[{k}]" for k, ground in enumerate(grounds))


def _add_grounds(made: _Pairs, robot: Tree, grounds: Sequence[StaticSurface], kinematic: frozenset[int]) -> None:
    """Add pairs of the robot's shapes and the world's surfaces, and of static boxes' corners and robot boxes."""
    shapes = sorted(dict.fromkeys(candidates(robot).shapes), key=attrgetter("body")) if grounds else []
    shapes = [shape for shape in shapes if shape.body not in kinematic]
    solids = [ground._solid() for ground in grounds]
    names = surface_names(grounds)
    for shape in shapes:
        for solid, ground, name in zip(solids, grounds, names, strict=True):
            several = len(grounds) > 1 or ground._has_internal_edges
            made.add(shape, solid, ground, name, internal_edges=len(made.ints) + 1 if several else 0)
    for g, (ground, name) in enumerate(zip(grounds, names, strict=True)):
        if (corners := ground._corners(name)) is not None:
            for s, shape in enumerate(shapes):
                if shape.kind == corners.kind:
                    internal_edges = len(grounds) * s + g + 1 if len(grounds) > 1 else 0
                    made.add(corners, made.solid_of(shape), ground, shape.link, shape, internal_edges)


class _Pairs:
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
        own = self._known.get(id(shape)) or self._points_of(shape)
        first, planes = self._first.get(id(shape), (self.count, len(own.planes) if self.with_planes else 0))
        if id(shape) not in self._first:
            self._first[id(shape)] = first, planes
            self.points += (own.points, own.planes) if planes else (own.points,)
            self.count += len(own.points) + planes
        _, place = self._places.get(id(solid)) or self._put_place(solid)
        (between, slots), terrain, count = _contacts(own, solid), solid.heights is not None, len(own.points)
        (nx, ny), (group, flipped) = solid.nodes, self._group(shape, solid, met)
        row = PairColumns(
            body=shape.body, solid_body=solid.body, solid=solid.kind, first_point=first, points=count,
            first_slot=self.slots, cylinder=int(own.has_rims), nx=nx, ny=ny,
            start=self._start(solid.heights) if solid.heights is not None else 0, between=between, group=group,
            flipped=flipped, internal_edges=internal_edges,
            slots=min(slots, SHARED_SLOTS) if terrain or not shape.size else slots, shape=own.kind.shape, planes=planes,
        )  # fmt: skip
        surface = surface if self.surfaces is None else self.surfaces.of(shape.link, met)
        springs = min(PER_PAIR, max(count, 1))
        _, columns = self._surfaces.get((id(surface), springs)) or self._put_surface(surface, springs)
        self.pairs.append((own, solid, None if of is None else self._points_of(of)))
        self.ints.append(row)
        self.reals += place, solid.size, columns, own.ball
        self.links.append((shape.link, met))
        self.slots += row.slots
        self.most = max(self.most, slots)
        self.capacity += min(slots, PER_PAIR * groups_of(solid.kind) if terrain else PER_PAIR)

    def _points_of(self, shape: CollisionShape) -> ShapePoints:
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

    def _group(self, shape: CollisionShape, solid: Solid, met: str) -> tuple[int, int]:
        """Return the number of the pair of bodies or surfaces, and 1 if the solid's body comes first in it."""
        flipped, names = shape.body == 0 or 0 < solid.body < shape.body, self.robot.body_names
        one, other = names[shape.body - 1] if shape.body else shape.link, names[solid.body - 1] if solid.body else met
        return self.groups.setdefault((other, one) if flipped else (one, other), len(self.groups)), int(flipped)

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
