"""Construction of the flat contact tables from shapes, surfaces and joints (see `treesim.kernels.contact.tables`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..kernels.algebra.limits import UNLIMITED
from ..kernels.constrained.constraints import row_count
from ..kernels.contact.edges import AXIS, CROSSING, CROSSINGS, FEATURES
from ..kernels.contact.layout import (
    COUNT,
    PAIR,
    SURFACE,
    Counts,
    PairColumns,
    RecoveryOptions,
    SurfaceColumns,
    bounds_at,
    pair_of,
    pair_table,
)
from ..kernels.contact.shape_distance import BALL, DRUM, POLYHEDRON, ROD
from ..kernels.contact.signed_distance import BOX, CAPSULE, CONVEX, GRID, MESH, PLANE
from ..kernels.contact.static_features import CORNERS, EDGES
from ..kernels.contact.tables import GROUPS, MESH_GROUPS, PER_PAIR, RIM, touch_tables
from ..model.inertia import Placement
from ..model.matrices import product, vector_length
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.support import candidate_points, candidates
from .bodies import solid_of_shape
from .hull_faces import face_planes
from .named_wrenches import WrenchRows
from .pairs import GROUND
from .solid import Solid
from .surface import StaticSurface, Surface
from .surfaces import Surfaces

SHARED_SLOTS = 32  # of a hull with more points, and of a shape on a height field or mesh
CANDIDATES = 96  # on a height field or mesh: of more, those with the largest gaps are left out
NO_PLANES = np.zeros((0, 4))
KINDS = {"sphere": BALL, "capsule": ROD, "cylinder": DRUM, "box": POLYHEDRON, "hull": POLYHEDRON}
CAPACITY = 128  # initial capacity for contacts of one state, see `stage`
MOST_EXTERNAL = 4096  # largest number of external contacts of one state
RECOVERY = 0.2  # fraction of an overlap that a step recovers
FASTEST = 1.0  # m/s, rad/s: largest speed at which overlaps open
REBOUND_SPEED = 0.05  # m/s
DEEP = 0.05  # of a body's radius: an overlap to warn of
LEFT = 1e-5  # m, rad: allowed overlap: points of a mesh's sole differ in height by part of it
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
    def rows(self) -> int:
        """Number of impulses that a state stores for the warm start.

        There are three for each slot, six with torsional or rolling friction, and one for each limit, joint with
        friction, speed limit, and row of frame and loop constraints.
        """
        n = self.counts
        return 3 * n.slots * (1 + n.resists) + n.limits + n.frictions + n.speeds + int(row_count(self.held[0]))

    def rows_with(self, capacity: int) -> int:
        """Largest number of rows of one state with `capacity` contacts."""
        n = self.counts
        return self.rows + (7 if n.resists else 3) * capacity - 3 * n.slots * (1 + n.resists)

    @property
    def on_planes(self) -> bool:
        """True if all collision geometry of the world is planes."""
        return bool((self._solids == PLANE).all())

    @property
    def on_meshes(self) -> bool:
        """True if the world has a static mesh."""
        return bool((self._solids == MESH).any())

    @property
    def _solids(self) -> np.ndarray:
        """Kind of the solid of each pair."""
        return pair_table(self.layout)[:, PAIR.solid]

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
        found = [tables.ball[tables.pair[:, PAIR.body] == body, 3].max(initial=0.0) for body in self.bodies]
        return np.array([radius or np.inf for radius in found])

    @cached_property
    def largest_overlap(self) -> float:
        """Overlap [m] above which a step may be warned of (`deep_overlaps`); infinite with soft surfaces."""
        return float(DEEP * self.radii.min()) if self.counts.slots and not self.is_soft else math.inf

    @cached_property
    def is_soft(self) -> bool:
        """True if any surface that something may touch has a stiffness."""
        return bool(self.counts.slots and touch_tables(self.layout, self.geometry).law[:, SURFACE.stiffness].any())

    def batched_places(self, places: np.ndarray) -> np.ndarray:
        """Return where numbers of `geometry` stand in `kernels.contact.lane_parameters.LaneParameters.contact`."""
        pairs, bounds = self.counts.pairs, bounds_at(self.counts.pairs, self.counts.points)
        return np.where(places < bounds, pair_of(places), pairs + places - bounds)

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
) -> Touching:
    """Return the contact tables of a robot in a world.

    grounds: surfaces of the world. limits, friction, speed_limits: include joint limits, joint friction, limits of
    joint speeds. held: layout and geometry of the constrained rows of frames and loops. pairs: shapes whose points
    collide with the solids of others. surfaces: contact parameters of all pairs; by default those of each ground, and
    of `Surface()`. convex: pairs with external contacts. kinematic: numbers of bodies that surfaces do not touch.
    """
    made = _Pairs(robot, bool(pairs) or any(ground._has_edges for ground in grounds), surfaces)
    _add_grounds(made, robot, grounds, kinematic)
    for one, other in pairs:
        made.add(one, cast("Solid", solid_of_shape(other)), Surface(), other.link)
    first_convex = len(made.ints)
    for one, other in convex:
        made.add(one, Solid(other.body, CONVEX, (0.0,) * 4, other.placement), Surface(), other.link)
    limit, bound = _limits(robot) if limits else ([], [])
    rough = np.flatnonzero(robot.joint_friction) if friction else np.empty(0, np.int64)
    _, independent_v = robot.kept()
    speed, fastest, braking = _speeds(robot) if speed_limits else ([], [], [])
    counts = Counts(
        pairs=len(made.ints), points=len(made.points), limits=len(bound), frictions=len(rough),
        capacity=min(CAPACITY, made.capacity), slots=made.slots, most=made.most, speeds=len(speed),
        groups=max(1, len(made.groups)), external=max(1, min(MOST_EXTERNAL, PER_PAIR * len(convex))),
        reports_pairs=1, resists=int(made.resists), reports_points=0,
    )  # fmt: skip
    rows: list[Any] = [counts, np.ravel(made.ints), np.ravel(limit), independent_v[rough], np.ravel(speed)]
    layout = np.concatenate(rows).astype(np.int64)
    parts: list[Any] = [
        RecoveryOptions(fraction=RECOVERY, fastest=FASTEST, rebound_speed=REBOUND_SPEED, allowed_overlap=LEFT),
        made.reals,
        made.points,
        bound,
        robot.joint_friction[rough],
        fastest,
        braking,
        *made.heights,
    ]
    geometry = np.concatenate([np.ravel(x).astype(float) for x in parts])
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
    shapes = sorted(dict.fromkeys(candidates(robot).shapes), key=lambda s: s.body) if grounds else []
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
                if shape.kind == "box":
                    internal_edges = len(grounds) * s + g + 1 if len(grounds) > 1 else 0
                    made.add(corners, cast("Solid", solid_of_shape(shape)), ground, shape.link, internal_edges)


class _Pairs:
    """Builder of the tables of pairs of points and solids."""

    def __init__(self, robot: Tree, with_planes: bool, surfaces: Surfaces | None = None) -> None:
        self.surfaces = surfaces
        self.robot, self.with_planes = robot, with_planes  # the planes of faces are for edges of solids to meet
        self.ints: list[PairColumns] = []
        self.reals: list[np.ndarray] = []
        self.points: list[np.ndarray] = []
        self.heights: list[np.ndarray] = []  # of height fields, and tables of meshes, one after the other
        self.links: list[tuple[str, str]] = []
        self.groups: dict[tuple[str, str], int] = {}
        self.slots = self.most = self.capacity = 0
        self.resists = False  # whether any pair has torsional or rolling friction
        self._first: dict[int, tuple[CollisionShape, int, np.ndarray, int]] = {}

    def add(self, shape: CollisionShape, solid: Solid, surface: Surface, met: str, internal_edges: int = 0) -> None:
        """Add the pair of one shape's points and one solid.

        met: name of the solid's link, or of the surface of the world. internal_edges: 1 + number of the pair whose
        solid other solids of the world may cover at internal edges; 0 for none.
        """
        first, points, planes = self._points(shape)
        cylinder, between, terrain = shape.kind == "cylinder", _between(shape, solid), solid.kind in (GRID, MESH)
        slots = _slots(shape, solid, points, between)
        (nx, ny), (group, flipped) = solid.nodes, self._group(shape, solid, met)
        row = PairColumns(
            body=shape.body, solid_body=solid.body, solid=solid.kind, first_point=first, points=len(points),
            first_slot=self.slots, cylinder=int(cylinder), nx=nx, ny=ny,
            start=0 if solid.heights is None else self._start(solid.heights), between=between, group=group,
            flipped=flipped, internal_edges=internal_edges,
            slots=min(slots, SHARED_SLOTS) if shape.kind == "hull" or terrain else slots,
            shape=KINDS[shape.kind], planes=planes,
        )  # fmt: skip
        surface = surface if self.surfaces is None else self.surfaces.of(shape.link, met)
        stiffness = 0.0 if surface.stiffness is None else surface.stiffness / min(PER_PAIR, max(len(points), 1))
        law = SurfaceColumns(
            friction=surface.friction, restitution=surface.restitution, stiffness=stiffness,
            dissipation_time=surface.dissipation_time, torsional_friction=surface.torsional_friction,
            rolling_friction=surface.rolling_friction,
        )  # fmt: skip
        self.resists |= bool(law.torsional_friction or law.rolling_friction)
        ball = bounding_ball(points) if not cylinder else _around(points, extra=points[0, 3])
        reals = np.concatenate([_in_kernel_axes(self.robot, solid.body, solid.placement), solid.size, law, ball])
        self.ints.append(row)
        self.reals.append(reals)
        self.links.append((shape.link, met))
        self.slots += row.slots
        self.most = max(self.most, slots)
        groups = (MESH_GROUPS if solid.kind == MESH else GROUPS) if terrain else 1
        self.capacity += min(slots, PER_PAIR * groups)

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
        flipped = shape.body == 0 or 0 < solid.body < shape.body
        names = [self._name(shape.body, shape.link), self._name(solid.body, met)]
        one, other = reversed(names) if flipped else names
        return self.groups.setdefault((one, other), len(self.groups)), int(flipped)

    def _name(self, body: int, surface: str) -> str:
        return self.robot.body_names[body - 1] if body else surface

    def _points(self, shape: CollisionShape) -> tuple[int, np.ndarray, int]:
        """Return the index of a shape's first point in the table, its points and radii (n, 4), and number of planes."""
        if id(shape) not in self._first:
            turn = self.robot.body_rotations[shape.body].T
            own = points_of(shape)
            at = product(own[:, :3], shape.placement.rotation.T) + shape.placement.translation
            points = np.column_stack([product(at, turn.T), own[:, 3]])
            planes = self._planes(shape, turn) if self.with_planes else NO_PLANES
            self._first[id(shape)] = shape, len(self.points), points, len(planes)
            self.points.extend(points)
            self.points.extend(planes)
        return self._first[id(shape)][1:]

    def _planes(self, shape: CollisionShape, turn: np.ndarray) -> np.ndarray:
        """Return the planes (k, 4) of a shape's faces in kernel axes; turn (3, 3): rotation to these from body axes."""
        faces = planes_of(shape)
        normals = product(faces[:, :3], shape.placement.rotation.T)
        return np.column_stack([product(normals, turn.T), faces[:, 3] + product(normals, shape.placement.translation)])


def _between(shape: CollisionShape, solid: Solid) -> int:
    """Return the kind of contact between the points of a shape and a solid: AXIS, CROSSING, FEATURES or 0.

    Edges of two boxes are assigned to one of their two pairs.
    """
    if shape.kind == "capsule" and solid.kind in (CAPSULE, BOX):
        return AXIS
    if shape.kind in ("hull", "cylinder") and solid.kind == BOX:
        return FEATURES
    own = shape.body > 0 and (solid.body == 0 or shape.body < solid.body)
    return CROSSING if shape.kind == "box" and solid.kind == BOX and own else 0


def _slots(shape: CollisionShape, solid: Solid, points: np.ndarray, between: int) -> int:
    """Return the number of slots for the contacts of a pair; between: kind of contact between the points."""
    if solid.kind == CONVEX:
        return PER_PAIR
    if solid.kind in (GRID, MESH):
        return CANDIDATES
    more = {AXIS: 2, CROSSING: 1 + CROSSINGS, FEATURES: CORNERS + 2 * EDGES}.get(between, 0)
    return (RIM if shape.kind == "cylinder" else len(points)) + more


def points_of(shape: CollisionShape) -> np.ndarray:
    """Return a shape's points and radii (n, 4) in its own axes; for a cylinder the centres of its rims."""
    points = candidate_points(shape)
    return np.column_stack([points, np.full(len(points), 0.0 if shape.kind == "box" else sum(shape.size[:1]))])


def planes_of(shape: CollisionShape) -> np.ndarray:
    """Return normals and offsets (k, 4) of the planes n . x = d of a box's or hull's faces; none for other shapes.

    None for flat hulls, too.
    """
    if shape.kind == "box":
        return np.column_stack([np.vstack([np.eye(3), -np.eye(3)]), np.tile(np.array(shape.size) / 2, 2)])
    return face_planes(shape.vertices) if shape.kind == "hull" else NO_PLANES


def bounding_ball(points: np.ndarray) -> np.ndarray:
    """Return the centre and radius (4,) of a ball around points with radii (n, 4)."""
    center = (points[:, :3].min(axis=0) + points[:, :3].max(axis=0)) / 2
    radius = (np.linalg.norm(points[:, :3] - center, axis=1) + points[:, 3]).max()
    return np.array([*center, radius])


def _around(points: np.ndarray, extra: float) -> np.ndarray:
    """Return the bounding ball (4,) of a cylinder, from the centres of its rims and their radius `extra`."""
    center = points[:, :3].mean(axis=0)
    half = vector_length(points[0, :3] - center)
    return np.array([*center, math.sqrt(half * half + extra * extra)])


def _in_kernel_axes(robot: Tree, body: int, placement: Placement) -> np.ndarray:
    if not body:  # the world's are its own
        return np.concatenate([placement.rotation.ravel(), placement.translation])
    turn = robot.body_rotations[body].T
    return np.concatenate([product(turn, placement.rotation).ravel(), product(turn, placement.translation)])


def _speeds(robot: Tree) -> tuple[list[list[int]], list[float], list[float]]:
    """Return the speed limits: rows (degree of freedom, side), speeds, and the efforts that enforce them."""
    limited = np.flatnonzero(np.isfinite(robot.velocity_limit) & (robot.velocity_limit > 0)).tolist()
    _, independent_v = robot.kept()
    rows = [[int(independent_v[k]), side] for k in limited for side in (1, -1)]
    efforts = np.minimum(robot.effort_limit, UNLIMITED)
    pairs = [(float(robot.velocity_limit[k]), float(efforts[k])) for k in limited for _ in range(2)]
    return rows, [speed for speed, _ in pairs], [effort for _, effort in pairs]


def _limits(robot: Tree) -> tuple[list[list[int]], list[float]]:
    """Return the position limits of joints with one coordinate: rows (degree of freedom, coordinate, side), and bounds.

    Indices are those of the spanning tree. Limits of mimic joints are included in those of their mimicked joints.
    """
    independent_q, independent_v = robot.kept()
    found: Iterable[tuple[list[int], float]] = (
        (
            [int(independent_v[robot.v_index[name].start]), int(independent_q[where.start]), side],
            float(bounds[where.start]),
        )
        for name, where in robot.q_index.items()
        if where.stop - where.start == 1
        for side, bounds in ((1, robot.lower), (-1, robot.upper))
        if np.isfinite(bounds[where.start])
    )
    pairs = list(found)
    return [row for row, _ in pairs], [bound for _, bound in pairs]
