"""What touches between the points of shapes: the side of a capsule, and edges of boxes that cross."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, cross, dot, scale, sub
from ..algebra.numbers import absolute, sqrt
from .signed_distance import EDGE, FAR, from_solid, sign_of

AXIS, CROSSING = 1, 2  # what a pair may find between its points
LEVEL = 1e-4  # the slope of a distance below which it counts as the least
HALVINGS = 50  # to the last bit
NARROW = 1e-3  # m: a shorter stretch of an axis touches at one point
INSIDE = 1 - 1e-9  # of half an edge: farther out is its corner, a point of the box
CROSSINGS = 16  # of the edges of two faces
PARALLEL = 1e-10  # square of the sine between edges that do not cross


def axis_slope(touch, k, one, other, along):
    """The slope of the distance between the solid of pair k and a point that moves from `one` (0) to `other` (1); the
    distance from a convex solid is convex, so that it only grows."""
    d = sub(other, one)
    _, n = from_solid(touch, k, add(one, scale(d, along)), along * 0 + 1, 0)
    return dot(n, d) / sqrt(dot(d, d))


def where_slope(touch, k, one, other, slope):
    """Where on the way from `one` (0) to `other` (1) the distance from the solid of pair k begins to grow faster than
    `slope`, by bisection."""
    low, high = slope * 0, slope * 0 + 1
    for _ in range(HALVINGS):
        half = (low + high) / 2
        if axis_slope(touch, k, one, other, half) < slope:
            low = half
        else:
            high = half
    return (low + high) / 2


def axis_span(touch, k, one, other):
    """The two ends of that part of the way from `one` (0) to `other` (1) which is nearest to the solid of pair k; 0 for
    those that are at an end of the way, and for the second where both are one point."""
    zero, d = one.x * 0, sub(other, one)
    first, last = zero, zero
    length = sqrt(dot(d, d))
    if length > 0:
        if axis_slope(touch, k, one, other, zero) < -LEVEL:
            first = where_slope(touch, k, one, other, zero - LEVEL)
        if axis_slope(touch, k, one, other, zero + 1) > LEVEL:
            last = where_slope(touch, k, one, other, zero + LEVEL)
        if first > 0 and last > 0 and (last - first) * length < NARROW:
            first, last = (first + last) / 2, zero
        if first >= 1:
            first = zero
    return first, last


def part(a, axis):
    """Component 0, 1 or 2 of a vector, or that half axis of a box."""
    found = a.x
    if axis == 1:
        found = a.y
    if axis == 2:
        found = a.z
    return found


def unit(o, axis):
    """The unit vector along axis 0, 1 or 2; o: a zero."""
    found = Vector(o + 1, o, o)
    if axis == 1:
        found = Vector(o, o + 1, o)
    if axis == 2:
        found = Vector(o, o, o + 1)
    return found


class HalfAxes(NamedTuple):
    """A box about its centre: the vectors from there to the middles of three faces."""

    x: Any
    y: Any
    z: Any


def reach_along(n, a):
    """How far a box reaches along n from its centre."""
    return absolute(dot(n, a.x)) + absolute(dot(n, a.y)) + absolute(dot(n, a.z))


def separation(n, c, a, b):
    """How far two boxes are apart along n, |n| = 1: c from the centre of b to that of a."""
    return absolute(dot(n, c)) - reach_along(n, a) - reach_along(n, b)


def facing(c, a, b):
    """How far two boxes are apart, at most, along the normals of the faces of a, and which half axis that is."""
    most, axis = c.x * 0 - FAR, 0
    for k in range(3):
        own = part(a, k)
        apart = separation(scale(own, 1 / sqrt(dot(own, own))), c, a, b)
        if apart > most:
            most, axis = apart, k
    return most, axis


def facing_normal(c, a, b):
    """How far two boxes are apart, at most, along the normals of their faces, and that normal, from b to a."""
    most, axis = facing(c, a, b)
    other, k = facing(c, b, a)
    n = part(a, axis)
    if other > most:
        most, n = other, part(b, k)
    return most, scale(n, sign_of(dot(n, c)) / sqrt(dot(n, n)))


def steepest(n, a):
    """The half axis of a box that is most along n."""
    axis, most = 0, n.x * 0 - 1
    for k in range(3):
        own = part(a, k)
        along = absolute(dot(n, own)) / sqrt(dot(own, own))
        if along > most:
            axis, most = k, along
    return axis


def edge_toward(n, a, axis):
    """The middle of the edge along half axis `axis` that lies farthest along n, from the box's centre."""
    found = scale(n, n.x * 0)
    for k in range(3):
        if k != axis:
            own = part(a, k)
            found = add(found, scale(own, sign_of(dot(n, own))))
    return found


def edge_of_face(n, a, up, axis, side):
    """The middle of an edge along half axis `axis` of that face of a box, across half axis `up`, which is farthest
    along n, from the box's centre; side: which of the face's two edges, 0 or 1."""
    own, beside = part(a, up), part(a, 3 - up - axis)
    return add(scale(own, sign_of(dot(n, own))), scale(beside, n.x * 0 + 2 * side - 1))


def passing(n, on_a, u, on_b, e):
    """Where a line through on_a along u, and one through on_b along e, pass each other as seen along n: how far from
    on_a in units of u, and from on_b in units of e; 2, no point of an edge, of lines that are nearly parallel."""
    w, across_u, across_e = sub(on_a, on_b), cross(u, n), cross(e, n)
    turn, s, t = dot(across_e, u), n.x * 0 + 2, n.x * 0 + 2
    if turn * turn > PARALLEL * dot(u, u) * dot(e, e):
        s, t = -dot(across_e, w) / turn, dot(across_u, w) / dot(across_u, e)
    return s, t


def crossing_in_faces(c, a, b, n, number):
    """Distance along n, and point on the first box, where an edge of its lowest face along n passes one of the highest
    face of the second between the ends of both; FAR where it does not. number: which edges, 0 to 15; c, a, b: see
    `facing`."""
    gap, p = n.x * 0 + FAR, c
    up, top = steepest(n, a), steepest(n, b)
    axis, other = (up + 1 + number // 8) % 3, (top + 1 + number // 4 % 2) % 3
    u, e = part(a, axis), part(b, other)
    on_a = add(c, edge_of_face(scale(n, n.x * 0 - 1), a, up, axis, number // 2 % 2))
    on_b = edge_of_face(n, b, top, other, number % 2)
    s, t = passing(n, on_a, u, on_b, e)
    if absolute(s) < INSIDE and absolute(t) < INSIDE:
        p = add(on_a, scale(u, s))
        gap = dot(n, sub(p, add(on_b, scale(e, t))))
    return gap, p


def boxes(corner, x, y, z, size):
    """Half axes of two boxes, and the vector from the centre of the second to that of the first: of the first a corner
    and the edges from there, of the second the half lengths, in whose axes all is."""
    o = corner.x * 0
    a = HalfAxes(scale(x, o + 0.5), scale(y, o + 0.5), scale(z, o + 0.5))
    b = HalfAxes(scale(unit(o, 0), size.x), scale(unit(o, 1), size.y), scale(unit(o, 2), size.z))
    return add(corner, add(a.x, add(a.y, a.z))), a, b


def crossing_edges(c, a, b, most):
    """Distance, point on the first box, and normal from the second, where edges cross that separate two boxes by more
    than `most`, that which faces do; FAR where none do.

    By the theorem of separating axes (Gottschalk, Lin and Manocha 1996) what separates boxes most is the normal of a
    face, or across an edge of each.
    """
    o = c.x * 0
    gap, p, normal = o + FAR, c, unit(o, 2)
    for i in range(3):
        for j in range(3):
            u, e = part(a, i), part(b, j)
            n = cross(u, e)
            square = dot(n, n)
            if square > PARALLEL * dot(u, u) * dot(e, e):
                n = scale(n, sign_of(dot(n, c)) / sqrt(square))
                apart = separation(n, c, a, b)
                if apart > most + EDGE:
                    on_a = add(c, edge_toward(scale(n, o - 1), a, i))
                    s, t = passing(n, on_a, u, edge_toward(n, b, j), e)
                    between = absolute(s) <= 1 and absolute(t) <= 1
                    most, gap, p, normal = apart - EDGE, apart if between else o + FAR, add(on_a, scale(u, s)), n
    return gap, p, normal
