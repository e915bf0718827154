"""Construction of the flat contact tables from shapes, surfaces and joints (see `treesim.kernels.contact.tables`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from operator import attrgetter
from typing import Any

import numpy as np

from ..kernels.constrained.constraints import row_count
from ..kernels.contact.collision import GATHERED
from ..kernels.contact.layout import (
    COUNT,
    PAIR,
    SUBTREE,
    Counts,
    RecoveryOptions,
    bounds_at,
    pair_of,
    pair_table,
)
from ..kernels.contact.near_pairs import FEW
from ..kernels.contact.signed_distance import CONVEX
from ..kernels.contact.tables import PER_PAIR, Touch, touch_tables
from ..model.shapes import CollisionShape
from ..model.tree import Tree
from ..states.support import candidates
from .joint_limits import position_limits_of, speed_limits_of
from .named_wrenches import WrenchRows
from .pair_boxes import boxes_of
from .pair_rows import PLAIN, PairTables
from .pairs import GROUND
from .solid import Solid
from .solids import variant_of
from .subtrees import subtrees_of
from .surface import StaticSurface, Surface
from .surfaces import Surfaces

CAPACITY = 128  # initial capacity for contacts of one state, see `stage`
STORED = 16  # contacts for each shape, besides CAPACITY, whose impulses are stored: a cube among cubes has 12
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
    links: tuple[tuple[str, str], ...]  # of each row of pairs: link of the points, and link or surface of the solid
    bodies: tuple[int, ...]  # whose shapes may touch
    surfaces: tuple[str, ...]  # names of what does not move: surfaces of the world, then links of fixed bases
    ready_groups: tuple[tuple[str, str], ...]  # of `groups`, those of pairs whose rows are ready
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

    @cached_property
    def touch(self) -> Touch:
        """Tables of kernels; rows of pairs of many free bodies are not made."""
        return touch_tables(self.layout, self.geometry)

    @cached_property
    def several(self) -> bool:
        """True if there are several subtrees of the base, which contacts connect to components."""
        return int((self.touch.subtree[:-1, SUBTREE.kinematic] == 0).sum()) > 1

    def rows_with(self, capacity: int) -> int:
        """Largest number of rows of one component with `capacity` contacts."""
        return self.scalar_rows + (7 if self.counts.resists else 3) * capacity

    @property
    def solids(self) -> str:
        """Name of the collision detection for the solids of the world (`kernels.contact.collision.VARIANTS`)."""
        return (GATHERED if self.counts.shapes else "") + variant_of(pair_table(self.layout))

    @property
    def is_swept(self) -> bool:
        """True if the broad phase sorts boxes, instead of testing each pair of them."""
        return bool(self.counts.shapes or self.counts.boxed > FEW * self.counts.boxes)

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
        return WrenchRows((GROUND, *self.body_names), self.surfaces, self.ready_groups, None, touching)

    @cached_property
    def groups(self) -> tuple[tuple[str, str], ...]:
        """Names of the pairs of bodies, or of a body and a surface, that may touch: their square of many bodies."""
        rows = pair_table(self.layout)[self.counts.pairs - self.counts.shapes :]
        return (*self.ready_groups, *combinations([self.body_names[body - 1] for body in rows[:, PAIR.body]], 2))

    @cached_property
    def longest_name(self) -> int:
        """Length of the longest name in `groups` and `links`."""
        names = self.body_names if self.counts.shapes else ()
        return max(map(len, (*names, *chain(*self.ready_groups, *self.links))), default=1)

    @cached_property
    def ready_names(self) -> list[tuple[str, ...]]:
        """Names of each pair whose row is ready: of both bodies or surfaces, and of their links or surfaces."""
        ready = len(self.links) - self.counts.shapes - 2 * self.counts.kinds**2
        groups = pair_table(self.layout)[:ready, [PAIR.group, PAIR.flipped]].tolist()
        pairs = zip(groups, self.links[:ready], strict=True)
        return [(*self.ready_groups[group][:: -1 if flipped else 1], *links) for (group, flipped), links in pairs]

    def names_of(self, number: int) -> tuple[str, ...]:
        """Return the names of a pair of points and a solid: of both bodies or surfaces, and their links or surfaces."""
        ready, pairs, n = len(self.ready_names), pair_table(self.layout), self.counts.shapes
        if number < ready:
            return self.ready_names[number]
        first, kinds = len(pairs) - n, pairs[-n:, PAIR.number]
        i, j = divmod((number - ready) // 2, n)
        row = pairs[ready + 2 * (self.counts.kinds * kinds[i] + kinds[j]) + (number - ready) % 2]
        own, solid = (first + j, first + i) if row[PAIR.flipped] else (first + i, first + j)
        body, other = (self.body_names[pairs[k, PAIR.body] - 1] for k in (own, solid))
        return body, other, self.links[own][0], self.links[solid][0]

    @cached_property
    def radii(self) -> np.ndarray:
        """Largest radius [m] of the shapes of each of `bodies`; infinite for bodies without contact points."""
        tables = self.touch
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
        n = self.counts
        bounds = bounds_at(n.pairs, n.points)
        return np.where(places < bounds, n.limits + n.frictions + pair_of(places), places - bounds)

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
    free: Sequence[CollisionShape] = (),
) -> Touching:
    """Return the contact tables of a robot in a world.

    grounds: surfaces of the world. limits, friction, speed_limits: include joint limits, joint friction, limits of
    joint speeds. held: layout and geometry of the constrained rows of frames and loops. pairs: shapes whose points
    collide with the solids of others. surfaces: contact parameters of all pairs; by default those of each ground, and
    of `Surface()`. convex: pairs with external contacts. kinematic: numbers of bodies that surfaces do not touch.
    starts: first body of each of several robots. free: shapes, each two of which are pairs besides, which follow; none
    with `convex`.
    """
    made = PairTables(robot, bool(pairs or free) or any(ground._has_edges for ground in grounds), surfaces)
    _add_grounds(made, robot, grounds, kinematic)
    for one, other in pairs:
        made.add(one, made.solid_of(other), PLAIN, other.link, other)
    first_convex = len(made.ints)
    for one, other in convex:
        made.add(one, Solid(other.body, CONVEX, (0.0,) * 4, other.placement), PLAIN, other.link)
    external = first_convex, len(made.ints)
    if free:
        made.add_free(free)
    limit, bound = position_limits_of(robot) if limits else ([], [])
    boxes = boxes_of(made.pairs, made.free)
    rough = np.flatnonzero(robot.joint_friction) if friction else np.empty(0, np.int64)
    _, independent_v = robot.kept()
    speed, fastest, braking = speed_limits_of(robot) if speed_limits else ([], [], [])
    dofs = next(zip(*limit, strict=True), ()), independent_v[rough].tolist(), next(zip(*speed, strict=True), ())
    bodies_held = held[0][1 : 1 + 2 * held[0][0]].tolist()
    subtrees, subtree_of, several = subtrees_of(robot, kinematic, bodies_held, starts, dofs)
    counts = Counts(
        pairs=len(made.ints), points=made.count, limits=len(bound), frictions=len(rough),
        capacity=min(CAPACITY, made.capacity), slots=made.slots, most=made.most, speeds=len(speed),
        groups=max(1, len(made.groups) + math.comb(len(free), 2)),
        external=max(1, min(MOST_EXTERNAL, PER_PAIR * len(convex))),
        reports_pairs=1, resists=int(made.resists), reports_points=0, soft=int(made.soft),
        unboxed=len(boxes.unboxed), boxes=len(boxes.body), moving=int(np.count_nonzero(boxes.body)),
        boxed=len(boxes.partner), stored=min(CAPACITY + STORED * made.shapes, made.capacity),
        subtrees=len(subtrees) - 1, bodies=robot.n_bodies,
        component=min(CAPACITY, made.capacity) if several else made.capacity, shapes=len(free), kinds=made.kinds,
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
    names = (*surface_names(grounds), *dict.fromkeys(static))
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


def _add_grounds(made: PairTables, robot: Tree, grounds: Sequence[StaticSurface], kinematic: frozenset[int]) -> None:
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
