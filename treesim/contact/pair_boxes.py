"""Boxes around shapes and solids for the broad phase, and the pairs that belong to them.

See `treesim.kernels.contact.near_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from ..kernels.contact.edges import FEATURES
from ..kernels.contact.layout import BOX_REALS, HIGH, IS_BALL, LOW, REACH
from ..kernels.contact.signed_distance import CAPSULE, CONVEX, FAR, GRID, MESH, PLANE, SPHERE
from ..kernels.contact.static_mesh import HEIGHTS, HEIGHTS_SIZE
from .shape_points import ShapePoints
from .solid import Solid

FEW_PAIRS = 0.5  # of each box, up to which testing all pairs is as fast as testing boxes
BEYOND = 1e-5  # m: by so much static boxes are larger, more than tolerances of contacts at borders of faces
ALIGNED = 1e-12  # of components of axes along those of the world
# points of a pair's shape, its solid, and points of the shape that is the solid, None for other solids
BoxedPair = tuple[ShapePoints, Solid, ShapePoints | None]


class BoxTables(NamedTuple):
    """Tables of the broad phase; empty where all pairs are tested.

    unboxed (A,): pairs that are always considered. body (B,), box (B, BOX_REALS): of each box, which moves with the
    body; those of the world, body 0, come last. first_partner (B + 1,): where the partners of a box with larger numbers
    begin in partner (E,), ascending. partner_pair (E,): their pairs.
    """

    unboxed: np.ndarray
    body: np.ndarray
    first_partner: np.ndarray
    partner: np.ndarray
    partner_pair: np.ndarray
    box: np.ndarray


NONE = np.zeros(0, np.int64)
NO_BOXES = BoxTables(NONE, NONE, np.zeros(1, np.int64), NONE, NONE, np.empty((0, BOX_REALS)))


def boxes_of(pairs: Sequence[BoxedPair], shapes: Sequence[ShapePoints] = ()) -> BoxTables:
    """Return the tables of pairs, which are numbered in this order.

    shapes: those of further pairs (`kernels.contact.gathered_pairs`), whose boxes come first.
    """
    made = _Boxes()
    for own in shapes:
        made._of_points(own)
    for k, (own, solid, met) in enumerate(pairs):
        if solid.kind == PLANE:
            made.unboxed.append(k)
        elif solid.kind != CONVEX:
            made.add(k, own, solid, met)
    return made.tables(bool(shapes))


class _Boxes:
    """Builder of the tables."""

    def __init__(self) -> None:
        self.unboxed: list[int] = []
        self._known: dict[int, tuple[object, int | None]] = {}  # of each shape and static solid
        self._rows: list[tuple[int, np.ndarray]] = []
        self._pairs: list[tuple[int, int, int]] = []

    def add(self, k: int, own: ShapePoints, solid: Solid, met: ShapePoints | None) -> None:
        """Add pair k. Its solid has a box, unless it is tilted (`_of_static`)."""
        other = self._of_points(met) if solid.body and met is not None else self._of_static(solid)
        if other is None:
            self.unboxed.append(k)
        else:
            one = self._of_points(own)
            self._pairs.append((one, other, k))

    def tables(self, needed: bool) -> BoxTables:
        """Return the tables; without boxes unless these are needed or pairs are many."""
        if not needed and len(self._pairs) <= FEW_PAIRS * len(self._rows):
            return NO_BOXES
        body, box = (np.array(x) for x in zip(*self._rows, strict=True))
        order = np.argsort(body == 0, kind="stable")  # those on bodies come first
        pairs = np.array(self._pairs, np.int64).reshape(-1, 3)
        ends = np.sort(np.argsort(order)[pairs[:, :2]], axis=1)
        one, other, pair = np.column_stack([ends, pairs[:, 2]])[np.lexsort((pairs[:, 2], ends[:, 1], ends[:, 0]))].T
        first = np.searchsorted(one, np.arange(len(body) + 1))
        return BoxTables(np.array(self.unboxed, np.int64), body[order], first, other, pair, box[order])

    def _of_points(self, own: ShapePoints) -> int:
        """Return the box of a shape: its ball, or for static ones, if contacts are at its points only, around these."""
        if id(own) not in self._known:
            if own.shape.body or own.has_rims or FEATURES in own.kind.meets.values():
                row = _box(own.ball[:3], own.ball[:3], own.ball[3], is_ball=True)
            else:
                points, radii = own.points[:, :3], own.points[:, 3:]
                row = _box((points - radii).min(axis=0), (points + radii).max(axis=0))
            self._put(own, own.shape.body, row)
        return self._number(own)

    def _of_static(self, solid: Solid) -> int | None:
        """Return the box of a static solid; None for height fields and meshes that are tilted."""
        if id(solid) not in self._known:
            bounds = _bounds(solid)
            if bounds is None:
                self._known[id(solid)] = solid, None
            else:
                self._put(solid, 0, _box(*bounds))
        return self._known[id(solid)][1]

    def _put(self, owner: object, body: int, row: np.ndarray) -> None:
        self._known[id(owner)] = owner, len(self._rows)
        self._rows.append((body, row))

    def _number(self, owner: object) -> int:
        number = self._known[id(owner)][1]
        assert number is not None
        return number


def _box(low: np.ndarray, high: np.ndarray, radius: float = 0.0, is_ball: bool = False) -> np.ndarray:
    """Return the numbers of a box."""
    row = np.zeros(BOX_REALS)
    beyond = 0.0 if is_ball else BEYOND
    row[LOW : LOW + 3], row[HIGH : HIGH + 3] = low - beyond, high + beyond
    row[REACH], row[IS_BALL] = radius, is_ball
    return row


def _bounds(solid: Solid) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the least and the largest coordinates of a static solid, None for tilted height fields and meshes."""
    R = np.asarray(solid.placement.rotation)
    if solid.heights is not None and (np.minimum(abs(R), abs(abs(R) - 1)) > ALIGNED).any():
        return None
    low, high = _own_bounds(solid)
    corners = np.array(list(product(*zip(low, high, strict=True)))) @ np.round(R, 12).T + solid.placement.translation
    return corners.min(axis=0), corners.max(axis=0)


def _own_bounds(solid: Solid) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest coordinates of a static solid in its own axes. Below a height field is solid."""
    size, low, high = np.array(solid.size[:3]), -FAR, solid.size[2]
    if solid.kind == MESH:
        low, high = _heights(solid)
    if solid.kind in (MESH, GRID):
        size[:2] *= (np.array(solid.nodes) - 1) / 2
        return np.array([*-size[:2], low]), np.array([*size[:2], high])
    if solid.kind in (SPHERE, CAPSULE):
        size = size[0] + np.array([0, 0, size[1]])
    return -size, size


def _heights(solid: Solid) -> tuple[float, float]:
    """Return the least and the largest z of a mesh in its own axes."""
    assert solid.heights is not None
    start, cells = int(solid.heights[HEIGHTS]), (solid.nodes[0] - 1) * (solid.nodes[1] - 1)
    ranges = solid.heights[start : start + HEIGHTS_SIZE * cells].reshape(cells, HEIGHTS_SIZE)
    return ranges[:, 0].min(), ranges[:, 1].max()
