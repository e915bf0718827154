"""Collision detection: points with radii on one body, against a solid on another body or in the world.

A sphere is one point with its radius, a capsule two points, a box its vertices, a hull its extreme vertices. For a
cylinder, the lowest points of both rims are computed. A solid returns a point's signed distance and the outward normal.
Every point has a slot, which identifies its contact from step to step while it slides. A capsule's side and a box's
edges touch between the points (`edges`). Contacts on internal edges of adjacent static boxes are discarded
(`box_internal_edges`). Contacts of other pairs of convex shapes are arguments (`treesim.contact.convex_pairs`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, add, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, sqrt
from ..algebra.rotations import compose
from ..algebra.tables import motion_at, transform_at
from .box_internal_edges import no_internal_edge, on_internal_edge
from .edges import AXIS, CROSSING, CROSSINGS, axis_span, boxes, crossing_edges, crossing_in_faces, facing_normal
from .signed_distance import (
    BOX,
    CONVEX,
    FAR,
    GRID,
    ROUND,
    across,
    box_excess,
    box_face,
    from_plane,
    from_solid,
    vector_of,
)
from .tables import PER_PAIR, RIM, slot_of

GAP_PRICE = 100.0  # a sole is flat where it rises by less than one in so many
NO_WIDTH = 1e-60  # m^2
UPRIGHT = 1e-6  # a cylinder's axis so near the normal has no lowest point


class Contacts(NamedTuple):
    """Contacts of one state, and scratch memory for those of one pair."""

    pair: Any  # (C,)
    slot: Any
    gap: Any
    point: Any  # (C, 3)
    normal: Any
    place: Any  # the same of what one pair finds
    distance: Any
    where: Any
    outward: Any
    chosen: Any  # (PER_PAIR,)


def contacts_memory(touch, q):
    """Scratch memory, with the dtype of q."""
    C, most = touch.capacity, touch.most
    found, near = np.empty((C, 7), q.dtype), np.empty((most, 7), q.dtype)
    kept = np.empty((2, C), np.int64)
    return Contacts(
        kept[0], kept[1], found[:, 0], found[:, 1:4], found[:, 4:7], np.empty(most, np.int64), near[:, 0], near[:, 1:4],
        near[:, 4:7], np.empty(PER_PAIR, np.int64),
    )  # fmt: skip


def put_row(x, k, a):
    """Write a vector to row k."""
    x[k, 0], x[k, 1], x[k, 2] = a.x, a.y, a.z


def no_face(touch, k, S, W):
    """Return 0; variant of `box_on_which` for planes."""
    return 0


def box_on_which(touch, k, S, W):
    """Return the face of pair k's box from which the other shape's points are farthest; 0 for other solids."""
    best, farthest = 0, -FAR
    for face in range(6 if touch.pair[k, 2] == BOX else 0):
        least = S.p.x * 0 + FAR
        for j in range(touch.pair[k, 4]):
            p = local_point(touch, k, j, S, W)
            gap, _ = box_face(box_excess(p, touch.size, k), p, face)
            least = minimum(least, gap)
        if least > farthest:
            best, farthest = face, least
    return best


def world_point(touch, k, j, W):
    """Return point j of pair k in the world; W: pose of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.point, touch.pair[k, 3] + j)))


def local_point(touch, k, j, S, W):
    """Return point j of pair k in the axes of the solid with pose S."""
    return rotate_back(S.R, sub(world_point(touch, k, j, W), S.p))


def rim_point(touch, k, j, S, W):
    """Return point j of a cylinder in the world: j % 4 quarter turns from the lowest point of rim j // 4.

    The lowest point is the one along the normal of the solid's axes (a plane's, or z of a height field).
    """
    first, n = touch.pair[k, 3], rotate(S.R, Vector(S.p.x * 0, S.p.x * 0, S.p.x * 0 + 1))
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


def speed_within(V, W, center, radius):
    """Return an upper bound of the speed of a body's points within a sphere around a world point `center`.

    V, W: velocity and pose of the body.
    """
    c = rotate_back(W.R, sub(center, W.p))
    u = add(V.lin, cross(V.ang, c))
    return sqrt(dot(u, u)) + radius * sqrt(dot(V.ang, V.ang))


def velocity_along(V, W, point, n):
    """Return the velocity along n of a world point that moves with a body of velocity V and pose W."""
    u = add(V.lin, cross(V.ang, rotate_back(W.R, sub(point, W.p))))
    return dot(rotate(W.R, u), n)


def solid_in_world(touch, k, B):
    """Return the world pose of pair k's solid; B: pose of its body."""
    S = transform_at(touch.solid, k)
    return S if touch.pair[k, 1] == 0 else compose(B, S)


def ball_of(touch, k, W):
    """Return the world centre of the bounding ball of pair k's shape; W: pose of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.ball, k)))


def reach_of(touch, k, r, ball, dt, margin):
    """Return the margin plus the largest relative motion of pair k in the step, for the shape's bounding ball."""
    a, b, radius = touch.pair[k, 0], touch.pair[k, 1], touch.ball[k, 3]
    reach = margin + dt * speed_within(motion_at(r.V, a), transform_at(r.W, a), ball, radius)
    if b > 0:
        reach += dt * speed_within(motion_at(r.V, b), transform_at(r.W, b), ball, radius)
    return reach


def broad_phase(touch, k, r, S, dt, margin, solids):
    """Return the largest gap of points of pair k to consider; negative if the shape's bounding ball is farther away.

    It is the margin plus the largest relative motion in the step.
    """
    ball = ball_of(touch, k, transform_at(r.W, touch.pair[k, 0]))
    gap, _ = solids.distance(touch, k, rotate_back(S.R, sub(ball, S.p)), maximum(touch.ball[k, 3], ROUND), 0)
    reach = reach_of(touch, k, r, ball, dt, margin)
    return reach if gap < reach or touch.pair[k, 2] == GRID else -reach


def add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids):
    """Add point j of pair k, at x with normal n, to m if its gap is below the margin, or closes in the step.

    Returns the number of points in m.
    """
    a, b = touch.pair[k, 0], touch.pair[k, 1]
    W, B = transform_at(r.W, a), transform_at(r.W, b)
    closing = velocity_along(motion_at(r.V, b), B, x, n) - velocity_along(motion_at(r.V, a), W, x, n)
    if gap < margin + dt * maximum(closing, 0) and not solids.internal_edge(touch, k, x, gap, n):
        m.place[count], m.distance[count] = slot_of(touch, k, j), gap
        put_row(m.where, count, x)
        put_row(m.outward, count, n)
        count += 1
    return count


def middle_of(touch, k, p, rho, gap, n):
    """Return the position of a contact for a point p of radius rho.

    It is on the point's surface for solids of the world, and midway between two bodies.
    """
    x = sub(p, scale(n, rho))
    if touch.pair[k, 1] > 0:
        x = sub(p, scale(n, rho + gap / 2))
    return x


def narrow_phase(touch, k, r, dt, margin, m, S, W, reach, solids):
    """Add the points of pair k that are within reach to m; return their number."""
    cylinder, count = touch.pair[k, 6] == 1, 0
    face = solids.face(touch, k, S, W)
    for j in range(RIM if cylinder else touch.pair[k, 4]):
        p = rim_point(touch, k, j, S, W) if cylinder else world_point(touch, k, j, W)
        rho = reach * 0 if cylinder else touch.point[touch.pair[k, 3] + j, 3]
        gap, n = solids.distance(touch, k, rotate_back(S.R, sub(p, S.p)), rho, face)
        if gap < reach:
            n = rotate(S.R, n)
            x = middle_of(touch, k, p, rho, gap, n)
            count = add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids)
    return count


def meet_axis(touch, k, r, dt, margin, m, count, S, W):
    """Add the ends of the part of a capsule's axis that is nearest to pair k's solid, except for the axis's ends."""
    one, other = local_point(touch, k, 0, S, W), local_point(touch, k, 1, S, W)
    first, last = axis_span(touch, k, one, other)
    rho = touch.point[touch.pair[k, 3], 3]
    for j in range(2):
        along = first if j == 0 else last
        if along > 0:
            p = add(one, scale(sub(other, one), along))
            gap, n = from_solid(touch, k, p, rho, 0)
            p, n = add(S.p, rotate(S.R, p)), rotate(S.R, n)
            x = middle_of(touch, k, p, rho, gap, n)
            count = add_candidate(touch, k, r, dt, margin, m, count, 2 + j, x, gap, n, SOLIDS)
    return count


def meet_edges(touch, k, r, dt, margin, m, count, S, W):
    """Add contacts where edges of a box cross edges of the box that is the solid of pair k.

    If the crossing edges separate the two boxes, it is that crossing. Otherwise it is the crossings of the borders of
    the two facing faces.
    """
    corner = local_point(touch, k, 0, S, W)
    x, y, z = (sub(local_point(touch, k, 4, S, W), corner), sub(local_point(touch, k, 2, S, W), corner),
               sub(local_point(touch, k, 1, S, W), corner))  # fmt: skip
    c, a, b = boxes(corner, x, y, z, vector_of(touch.size, k))
    most, normal = facing_normal(c, a, b)
    gap, p, n = crossing_edges(c, a, b, most)
    if gap < FAR:
        count = offer_local(touch, k, r, dt, margin, m, count, 8, p, gap, n, S)
    else:
        for number in range(CROSSINGS):
            gap, p = crossing_in_faces(c, a, b, normal, number)
            if gap < FAR:
                count = offer_local(touch, k, r, dt, margin, m, count, 9 + number, p, gap, normal, S)
    return count


def offer_local(touch, k, r, dt, margin, m, count, j, p, gap, n, S):
    """Add a point without radius, given in the axes of the solid with pose S, as `add_candidate` does."""
    n = rotate(S.R, n)
    x = middle_of(touch, k, add(S.p, rotate(S.R, p)), gap * 0, gap, n)
    return add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, SOLIDS)


def meet_no_more(touch, k, r, dt, margin, m, count, S, W):
    """Return `count`; variant of `meet_between` for planes, which touch points only."""
    return count


def meet_between(touch, k, r, dt, margin, m, count, S, W):
    """Add contacts of pair k between its points; return the number of points in m."""
    if touch.pair[k, 10] == AXIS:
        count = meet_axis(touch, k, r, dt, margin, m, count, S, W)
    if touch.pair[k, 10] == CROSSING:
        count = meet_edges(touch, k, r, dt, margin, m, count, S, W)
    return count


class Solids(NamedTuple):
    """Functions for the solids of a world: distance, facing box face, contacts between points, internal edges.

    Steps with planes only compile without code for other solids, which is most of the source.
    """

    distance: Any
    face: Any
    between: Any
    internal_edge: Any


PLANES = Solids(from_plane, no_face, meet_no_more, no_internal_edge)
SOLIDS = Solids(from_solid, box_on_which, meet_between, on_internal_edge)


def meet(touch, k, r, dt, margin, m, solids):
    """Find the contact candidates of pair k within the margin or its motion in the step; return their number."""
    W = transform_at(r.W, touch.pair[k, 0])
    S = solid_in_world(touch, k, transform_at(r.W, touch.pair[k, 1]))
    reach = broad_phase(touch, k, r, S, dt, margin, solids)
    count = 0
    if reach > 0:
        count = narrow_phase(touch, k, r, dt, margin, m, S, W, reach, solids)
        count = solids.between(touch, k, r, dt, margin, m, count, S, W)
    return count


def worth(mode, gap, x, n, one, two, three):
    """Return the depth of a point x (mode 0), or how much it widens the support (modes 1 to 3).

    The width is measured across the normal n: from a first point (1), from the line of two (2), or from that line on
    the other side than the third (3). A gap costs GAP_PRICE times its size, so that a wider ring of points above those
    that touch, such as a chamfer, comes last.
    """
    found = -gap
    if mode == 1:
        d = sub(x, one)
        d = sub(d, scale(n, dot(n, d)))
        found = sqrt(dot(d, d)) - GAP_PRICE * maximum(gap, 0)
    if mode >= 2:
        side = cross(n, sub(two, one))
        found = dot(side, sub(x, one))
        if mode == 2:
            found = absolute(found)
        elif dot(side, sub(three, one)) > 0:
            found = -found
        found = found / sqrt(maximum(dot(side, side), NO_WIDTH)) - GAP_PRICE * maximum(gap, 0)
    return found


def farthest_of(count, m, mode):
    """Return the point of largest `worth`, given those chosen before."""
    best, size = 0, -FAR
    one = m.chosen[0] if mode > 0 else 0
    two = m.chosen[1] if mode > 1 else 0
    three = m.chosen[2] if mode > 2 else 0
    for j in range(count):
        found = worth(
            mode, m.distance[j], vector_of(m.where, j), vector_of(m.outward, one), vector_of(m.where, one),
            vector_of(m.where, two), vector_of(m.where, three),
        )  # fmt: skip
        if found > size:
            best, size = j, found
    return best


def chosen_before(m, count, j):
    """Return whether point j is among the first `count` chosen ones."""
    found = False
    for c in range(count):
        if m.chosen[c] == j:
            found = True
    return found


def keep(touch, k, m, j, n):
    """Store point j of pair k as contact n, unless the capacity is exceeded; return the number of contacts."""
    if n < touch.capacity:
        m.pair[n], m.slot[n], m.gap[n] = k, m.place[j], m.distance[j]
        put_row(m.point, n, vector_of(m.where, j))
        put_row(m.normal, n, vector_of(m.outward, j))
    return n + 1


def keep_found(touch, found, m, n):
    """Store external contacts, rows of FOUND numbers, from contact n on; return the number of contacts."""
    for c in range(found.shape[0]):
        if found[c, 0] >= 0:
            k = int(found[c, 0])
            m.place[0], m.distance[0] = slot_of(touch, k, int(found[c, 1])), found[c, 2]
            for axis in range(3):
                m.where[0, axis], m.outward[0, axis] = found[c, 3 + axis], found[c, 6 + axis]
            n = keep(touch, k, m, 0, n)
    return n


def find_contacts(touch, r, dt, margin, found, m, solids=SOLIDS):
    """Find the contacts of all pairs, at most four each, and add external ones; return their number.

    The number may exceed the capacity. found: external contacts. r.W, r.V: poses and velocities of the bodies.
    """
    n = 0
    for k in range(touch.pair.shape[0]):
        count = meet(touch, k, r, dt, margin, m, solids) if touch.pair[k, 2] != CONVEX else 0
        if count <= PER_PAIR:
            for j in range(count):
                n = keep(touch, k, m, j, n)
        else:
            for mode in range(PER_PAIR):
                m.chosen[mode] = farthest_of(count, m, mode)
                if not chosen_before(m, mode, m.chosen[mode]):
                    n = keep(touch, k, m, m.chosen[mode], n)
    return keep_found(touch, found, m, n)
