"""Points of shapes in the world, and the list of contact candidates of a pair."""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, add, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import maximum, sqrt
from ..algebra.rotations import compose
from ..algebra.tables import motion_at, transform_at
from .layout import PAIR
from .near_pairs import NearPairs, near_pairs_memory, speed_within
from .signed_distance import across, vector_of
from .tables import slot_of

PLANES = 8  # triangles of four cells of a height field
UPRIGHT = 1e-6  # a cylinder's axis so near the normal has no lowest point


class Contacts(NamedTuple):
    """Contacts of one state, and scratch memory for those of one pair."""

    pair: Any  # (C,)
    slot: Any
    order: Any  # place in the list of stored impulses (`warm_start.put_order`)
    gap: Any
    point: Any  # (C, 3)
    normal: Any
    place: Any  # the same of what one pair finds
    distance: Any
    where: Any
    outward: Any
    carried: Any  # (most,) normal impulses of the last step
    active: Any  # (most,) see `support.Choice`
    before: Any  # impulses of the last step (`warm_start`), none if they are not known
    plane: Any  # (PLANES, 4) normals and offsets of a solid's faces near the shape
    external: Any  # contacts found outside the kernel (`tables.FOUND` numbers each)
    first: Any  # (C,) lists of contacts of the same bodies (`coincident`): the last one of each, and the one before
    following: Any
    near: NearPairs  # broad phase (`near_pairs`)


def contacts_memory(touch, q):
    """Scratch memory, with the dtype of q."""
    C, most = touch.capacity, touch.most
    found, near = np.empty((C, 8), q.dtype), np.empty((most, 9), q.dtype)
    kept = np.empty((4, C), np.int64)
    return Contacts(
        kept[0], kept[1], found[:, 7], found[:, 0], found[:, 1:4], found[:, 4:7], np.empty(most, np.int64), near[:, 0],
        near[:, 1:4], near[:, 4:7], near[:, 7], near[:, 8], np.empty(0, q.dtype), np.empty((PLANES, 4), q.dtype), 0,
        kept[2], kept[3], near_pairs_memory(touch, q),
    )  # fmt: skip


def put_row(x, k, a):
    """Write a vector to row k."""
    x[k, 0], x[k, 1], x[k, 2] = a.x, a.y, a.z


def world_point(touch, k, j, W):
    """Return point j of pair k in the world; W: pose of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.point, touch.pair[k, PAIR.first_point] + j)))


def local_point(touch, k, j, S, W):
    """Return point j of pair k in the axes of the solid with pose S."""
    return rotate_back(S.R, sub(world_point(touch, k, j, W), S.p))


def rim_point(touch, k, j, S, W):
    """Return point j of a cylinder in the world, as `rim_along` does for the z axis of the solid with pose S."""
    return rim_along(touch, k, j, rotate(S.R, Vector(S.p.x * 0, S.p.x * 0, S.p.x * 0 + 1)), W)


def rim_along(touch, k, j, n, W):
    """Return point j of a cylinder in the world: j % 4 quarter turns from the lowest point of rim j // 4.

    The lowest point is the one along the world's direction n.
    """
    first = touch.pair[k, PAIR.first_point]
    one, other = world_point(touch, k, 0, W), world_point(touch, k, 1, W)
    a = sub(other, one)
    a = scale(a, 1 / sqrt(dot(a, a)))
    down = sub(scale(a, dot(n, a)), n)
    size = sqrt(dot(down, down))
    down = scale(down, 1 / size) if size > UPRIGHT else rotate(W.R, across(rotate_back(W.R, a)))
    side = cross(a, down)
    center = other if j >= 4 else one
    turn = down
    if j % 4 == 1:
        turn = side
    if j % 4 == 2:
        turn = scale(down, -1)
    if j % 4 == 3:
        turn = scale(side, -1)
    return add(center, scale(turn, touch.point[first, 3]))


def velocity_along(V, W, point, n):
    """Return the velocity along n of a world point that moves with a body of velocity V and pose W."""
    u = add(V.lin, cross(V.ang, rotate_back(W.R, sub(point, W.p))))
    return dot(rotate(W.R, u), n)


def solid_in_world(touch, k, B):
    """Return the world pose of pair k's solid; B: pose of its body."""
    S = transform_at(touch.solid, k)
    return S if touch.pair[k, PAIR.solid_body] == 0 else compose(B, S)


def ball_of(touch, k, W):
    """Return the world centre of the bounding ball of pair k's shape; W: pose of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.ball, k)))


def reach_of(touch, k, r, ball, dt, margin):
    """Return the margin plus the largest relative motion of pair k in the step, for the shape's bounding ball."""
    a, b, radius = touch.pair[k, PAIR.body], touch.pair[k, PAIR.solid_body], touch.ball[k, 3]
    reach = margin + dt * speed_within(motion_at(r.V, a), transform_at(r.W, a), ball, radius)
    if b > 0:
        reach += dt * speed_within(motion_at(r.V, b), transform_at(r.W, b), ball, radius)
    return reach


def add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids):
    """Add point j of pair k, at x with normal n, to m if its gap is below the margin, or closes in the step.

    Returns the number of points in m.
    """
    a, b = touch.pair[k, PAIR.body], touch.pair[k, PAIR.solid_body]
    W, B = transform_at(r.W, a), transform_at(r.W, b)
    closing = velocity_along(motion_at(r.V, b), B, x, n) - velocity_along(motion_at(r.V, a), W, x, n)
    if gap < margin + dt * maximum(closing, 0) and not solids.internal_edge(touch, k, x, gap, n):
        at = count
        if count == m.place.shape[0]:
            at = farthest_candidate(m)
        if at == count or gap < m.distance[at]:
            m.place[at], m.distance[at] = slot_of(touch, k, j), gap
            put_row(m.where, at, x)
            put_row(m.outward, at, n)
        count = count + 1 if at == count else count
    return count


def farthest_candidate(m):
    """Return the index of the candidate with the largest gap, which gives way to another when the list is full."""
    at = 0
    for c in range(m.place.shape[0]):
        if m.distance[c] > m.distance[at]:
            at = c
    return at


def middle_of(touch, k, p, rho, gap, n):
    """Return the position of a contact for a point p of radius rho.

    It is on the point's surface for solids of the world, and midway between two bodies.
    """
    x = sub(p, scale(n, rho))
    if touch.pair[k, PAIR.solid_body] > 0:
        x = sub(p, scale(n, rho + gap / 2))
    return x
