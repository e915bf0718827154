"""Contacts of edges, corners and triangles of a solid with the shape of a pair.

A feature of a solid touches where it is nearest to the shape, if the normal is one of the feature: an edge's normals
lie between those of its two faces, a corner's between those of all its faces. Vectors of features are in the solid's
axes.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import maximum, minimum, sqrt
from .candidates import add_candidate, ball_of
from .layout import PAIR
from .shape_distance import nearest_stretch, shape_distance
from .signed_distance import FAR, vector_of
from .tables import slot_of

BETWEEN = 1e-3  # sine of the angle by which a normal may be outside of those of a feature
SAME = 1e-9  # m: contacts nearer to each other, with the same normal, are one
EDGES, CORNERS = 12, 8  # of a box
FEW_FACES = 20  # more faces than this are worth a quick test


class Query(NamedTuple):
    """A pair of a shape and a solid in a step, whose contacts are to be found."""

    touch: Any
    k: Any
    r: Any
    dt: Any
    margin: Any
    m: Any  # candidates
    S: Any  # poses of the solid, and of the shape's body
    W: Any
    reach: Any  # largest gap to consider
    solids: Any


def to_body(query, p):
    """Return a point of the solid's axes in those of the shape's body."""
    world = add(query.S.p, rotate(query.S.R, p))
    return rotate_back(query.W.R, sub(world, query.W.p))


def offer(query, count, place, p, gap, n):
    """Add a contact at the point p of the solid, with the shape's outward normal n in body axes.

    place: number of the contact in the pair. Returns the number of candidates.
    """
    up = scale(rotate(query.W.R, n), n.x * 0 - 1)
    x = add(query.S.p, rotate(query.S.R, p))
    lift = gap
    if query.touch.pair[query.k, PAIR.solid_body] > 0:
        lift = gap / 2
    return offer_new(query, count, place, add(x, scale(up, lift)), gap, up)


def offer_new(query, count, place, x, gap, n):
    """Add a contact at x with normal n, both in the world, unless the same is among the candidates."""
    new, m, slot = True, query.m, slot_of(query.touch, query.k, place)
    for c in range(count):
        d, e = sub(vector_of(m.where, c), x), sub(vector_of(m.outward, c), n)
        if dot(d, d) < SAME * SAME and dot(e, e) < SAME * SAME:
            new = False
        if m.place[c] == slot:
            place += 1
            slot = slot_of(query.touch, query.k, place)
    if new:
        count = add_candidate(
            query.touch, query.k, query.r, query.dt, query.margin, m, count, place, x, gap, n, query.solids
        )
    return count


def leans_out(query, n, t):
    """Return whether the shape's outward normal n does not point along t, a direction from a feature into the solid.

    t: in the solid's axes, of any length.
    """
    own = rotate(query.S.R, t)
    return -dot(rotate(query.W.R, n), own) <= BETWEEN * sqrt(dot(own, own))


def may_be_near(query, one, d):
    """Return whether the segment from `one` along d may be within reach of the shape.

    Tests are those of the shape's bounding ball and, for a polyhedron of many faces, of its points along the direction
    of the ball, which is much faster than its distance.
    """
    touch, k = query.touch, query.k
    ball = rotate_back(query.S.R, sub(ball_of(touch, k, query.W), query.S.p))
    w = sub(ball, one)
    along = minimum(maximum(dot(w, d) / maximum(dot(d, d), 1e-300), 0), 1)
    w = sub(w, scale(d, along))
    most = touch.ball[k, 3] + query.reach
    near = dot(w, w) < most * most
    if near and touch.pair[k, PAIR.planes] > FEW_FACES and dot(w, w) > 0:
        u = rotate_back(query.W.R, rotate(query.S.R, scale(w, 1 / sqrt(dot(w, w)))))
        gap = least_height(touch, k, u) - dot(u, to_body(query, add(one, scale(d, along))))
        near = gap < query.reach + SAME
    return near


def least_height(touch, k, u):
    """Return the least of the heights of the points of pair k, less their radii, along u in the axes of the body."""
    found = u.x * 0 + FAR
    first = touch.pair[k, PAIR.first_point]
    for j in range(first, first + touch.pair[k, PAIR.points]):
        found = minimum(found, dot(u, vector_of(touch.point, j)) - touch.point[j, 3])
    return found


def meet_edge(query, count, place, one, other, left, right):
    """Add the contacts of an edge from `one` to `other`; return the number of candidates.

    Contacts with its ends are those of corners, unless the edge is parallel to a face of the shape.
    left, right: directions from `one` to points of the two faces at the edge.
    """
    d = sub(other, one)
    if may_be_near(query, one, d):
        start = to_body(query, one)
        found = nearest_stretch(query.touch, query.k, start, sub(to_body(query, other), start), query.reach)
        for end in range(2):
            along, gap, n = found.first, found.first_gap, found.first_normal
            if end == 1:
                along, gap, n = found.last, found.last_gap, found.last_normal
            if gap < query.reach and leans_out(query, n, left) and leans_out(query, n, right):
                count = offer(query, count, place + end, add(one, scale(d, along)), gap, n)
    return count


def corner_gap(query, p):
    """Return the signed distance of a corner p from the shape, and the shape's normal; FAR beyond reach."""
    gap, n = query.reach * 0 + FAR, p
    if may_be_near(query, p, scale(p, p.x * 0)):
        gap, n = shape_distance(query.touch, query.k, to_body(query, p))
    return gap, n


def sign_at(number, axis, o):
    """Return 1 or -1, by bit `axis` of a number; o: a zero."""
    found = o - 1
    if number // (1 << axis) % 2 == 1:
        found = o + 1
    return found


def box_corner(size, number):
    """Return corner `number` of a box with half lengths `size`."""
    o = size.x * 0
    return Vector(sign_at(number, 0, o) * size.x, sign_at(number, 1, o) * size.y, sign_at(number, 2, o) * size.z)


def meet_box_features(query, count, place):
    """Add contacts of the edges and corners of the box that is the solid; return the number of candidates.

    place: number of the first contact in the pair. A corner p has edges along the signs of -p.
    """
    size = vector_of(query.touch.size, query.k)
    o = size.x * 0
    for number in range(CORNERS):
        p = box_corner(size, number)
        gap, n = corner_gap(query, p)
        if gap < query.reach:
            x, y, z = Vector(-p.x, o, o), Vector(o, -p.y, o), Vector(o, o, -p.z)
            if leans_out(query, n, x) and leans_out(query, n, y) and leans_out(query, n, z):
                count = offer(query, count, place + number, p, gap, n)
    for number in range(EDGES):
        axis, side = number // 4, number % 4
        bit, next_bit = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        corner = side % 2 * bit + side // 2 * next_bit
        one, other = box_corner(size, corner), box_corner(size, corner + (1 << axis))
        x, y, z = Vector(-one.x, o, o), Vector(o, -one.y, o), Vector(o, o, -one.z)
        left, right = y, z
        if axis == 1:
            left, right = z, x
        if axis == 2:
            left, right = x, y
        count = meet_edge(query, count, place + CORNERS + 2 * number, one, other, left, right)
    return count
