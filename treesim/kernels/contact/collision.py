"""Where shapes touch: points of one body, of a radius, against a solid of another or of the world.

A sphere is one point with its radius, a capsule two, a box its vertices, a hull its extreme vertices; of a cylinder the
lowest points of both rims are found anew. Solids tell of a point its signed distance and the outward normal there.
Every point has a place of its own (its slot), by which a contact is known from step to step while it slides. Between
the points a capsule's side and a box's edges touch too (`edges`), and where static boxes lie flush, their seam is none
(`box_internal_edges`). What pairs of other convex shapes find is told from outside (`treesim.contact.convex_pairs`).
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
    """The contacts of one state, and scratch memory for those of one pair."""

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
    """Scratch memory, of the numbers in q."""
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
    """Planes have one."""
    return 0


def box_on_which(touch, k, S, W):
    """The face of pair k's solid, if that is a box, from which the points of the other shape are farthest."""
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
    """Point j of pair k in the world; W: the placement of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.point, touch.pair[k, 3] + j)))


def local_point(touch, k, j, S, W):
    """Point j of pair k in the axes of the solid that is placed at S."""
    return rotate_back(S.R, sub(world_point(touch, k, j, W), S.p))


def rim_point(touch, k, j, S, W):
    """Point j of a cylinder in the world: j % 4 quarter turns from the lowest one on its rim j // 4, as seen along the
    normal of the solid's axes (a plane's, or upward on a grid)."""
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
    """No point within a sphere around `center` of the world is faster than this, on a body placed at W."""
    c = rotate_back(W.R, sub(center, W.p))
    u = add(V.lin, cross(V.ang, c))
    return sqrt(dot(u, u)) + radius * sqrt(dot(V.ang, V.ang))


def velocity_along(V, W, point, n):
    """The velocity along n of a point of the world that moves with a body placed at W."""
    u = add(V.lin, cross(V.ang, rotate_back(W.R, sub(point, W.p))))
    return dot(rotate(W.R, u), n)


def solid_in_world(touch, k, B):
    """The placement of pair k's solid; B: that of its body, which is the world's for most."""
    S = transform_at(touch.solid, k)
    return S if touch.pair[k, 1] == 0 else compose(B, S)


def ball_of(touch, k, W):
    """The centre, in the world, of the ball around the shape of pair k on a body placed at W."""
    return add(W.p, rotate(W.R, vector_of(touch.ball, k)))


def reach_of(touch, k, r, ball, dt, margin):
    """The margin, and how far the two of pair k move in the step at most, around the centre of the ball."""
    a, b, radius = touch.pair[k, 0], touch.pair[k, 1], touch.ball[k, 3]
    reach = margin + dt * speed_within(motion_at(r.V, a), transform_at(r.W, a), ball, radius)
    if b > 0:
        reach += dt * speed_within(motion_at(r.V, b), transform_at(r.W, b), ball, radius)
    return reach


def broad_phase(touch, k, r, S, dt, margin, solids):
    """How far points of pair k may be from the solid to be looked at: the margin, and what the two move in the step; a
    negative number where the ball around the shape is farther away."""
    ball = ball_of(touch, k, transform_at(r.W, touch.pair[k, 0]))
    gap, _ = solids.distance(touch, k, rotate_back(S.R, sub(ball, S.p)), maximum(touch.ball[k, 3], ROUND), 0)
    reach = reach_of(touch, k, r, ball, dt, margin)
    return reach if gap < reach or touch.pair[k, 2] == GRID else -reach


def add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids):
    """Add point j of pair k, at x with normal n, to what m holds, if it is within the margin, or closes in the step;
    returns how many there are."""
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
    """Where contact acts, of a point p of radius rho: on its surface over the world, and midway between two bodies."""
    x = sub(p, scale(n, rho))
    if touch.pair[k, 1] > 0:
        x = sub(p, scale(n, rho + gap / 2))
    return x


def narrow_phase(touch, k, r, dt, margin, m, S, W, reach, solids):
    """The points of pair k that are within reach; returns how many are added to m."""
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
    """The ends of what of a capsule's axis is nearest to the solid of pair k, between the axis's own ends."""
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
    """Where edges of the box of points of pair k cross edges of the box that is its solid: where that separates the
    two, else where the border of one face crosses that of the other."""
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
    """The same as `add_candidate`, of a point with no radius in the axes of the solid placed at S."""
    n = rotate(S.R, n)
    x = middle_of(touch, k, add(S.p, rotate(S.R, p)), gap * 0, gap, n)
    return add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, SOLIDS)


def meet_no_more(touch, k, r, dt, margin, m, count, S, W):
    """Planes meet points alone."""
    return count


def meet_between(touch, k, r, dt, margin, m, count, S, W):
    """What pair k finds between its points."""
    if touch.pair[k, 10] == AXIS:
        count = meet_axis(touch, k, r, dt, margin, m, count, S, W)
    if touch.pair[k, 10] == CROSSING:
        count = meet_edges(touch, k, r, dt, margin, m, count, S, W)
    return count


class Solids(NamedTuple):
    """What is compiled of solids: the distance of a point, the face of a box that counts, what is found between points,
    and whether a place is on a seam. Steps over planes know nothing of other solids, which are most of the text."""

    distance: Any
    face: Any
    between: Any
    internal_edge: Any


PLANES = Solids(from_plane, no_face, meet_no_more, no_internal_edge)
SOLIDS = Solids(from_solid, box_on_which, meet_between, on_internal_edge)


def meet(touch, k, r, dt, margin, m, solids):
    """What pair k finds within the margin, or closer than it moves in the step: how many points, in m."""
    W = transform_at(r.W, touch.pair[k, 0])
    S = solid_in_world(touch, k, transform_at(r.W, touch.pair[k, 1]))
    reach = broad_phase(touch, k, r, S, dt, margin, solids)
    count = 0
    if reach > 0:
        count = narrow_phase(touch, k, r, dt, margin, m, S, W, reach, solids)
        count = solids.between(touch, k, r, dt, margin, m, count, S, W)
    return count


def worth(mode, gap, x, n, one, two, three):
    """How deep a point x is (mode 0), and how much wider it makes the support: how far it is, across the normal n, from
    a first point (1), from the line of two (2), or from it on the other side than the third (3). A gap costs GAP_PRICE
    times as much as width is worth: a wider ring of points above those that touch, as of a chamfer, comes last."""
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
    """The point that is worth most beside those chosen before."""
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
    """Whether point j is among the first `count` chosen ones."""
    found = False
    for c in range(count):
        if m.chosen[c] == j:
            found = True
    return found


def keep(touch, k, m, j, n):
    """Point j of what pair k has found is contact n, if there is room; returns how many there are."""
    if n < touch.capacity:
        m.pair[n], m.slot[n], m.gap[n] = k, m.place[j], m.distance[j]
        put_row(m.point, n, vector_of(m.where, j))
        put_row(m.normal, n, vector_of(m.outward, j))
    return n + 1


def keep_found(touch, found, m, n):
    """Contacts that are told from outside, rows of FOUND numbers, are kept from number n on; returns how many there
    are."""
    for c in range(found.shape[0]):
        if found[c, 0] >= 0:
            k = int(found[c, 0])
            m.place[0], m.distance[0] = slot_of(touch, k, int(found[c, 1])), found[c, 2]
            for axis in range(3):
                m.where[0, axis], m.outward[0, axis] = found[c, 3 + axis], found[c, 6 + axis]
            n = keep(touch, k, m, 0, n)
    return n


def find_contacts(touch, r, dt, margin, found, m, solids=SOLIDS):
    """The contacts of all pairs, four of a pair at most, and those `found` outside; returns how many there are, which
    may be more than there is room for. r.W, r.V: placements and velocities of the bodies."""
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
