"""What touches between the points of shapes: the side of a capsule, and edges of boxes that cross."""

from __future__ import annotations

from typing import Any, NamedTuple

from .contact_solids import EDGE, FAR, from_solid, sign_of
from .linear import Vector, add, cross, dot, scale, sub
from .numbers import absolute, maximum, sqrt

AXIS, CROSSING = 1, 2  # what a pair may find between its points
LEVEL = 1e-4  # the slope of a distance below which it counts as the least
HALVINGS = 50  # to the last bit
NARROW = 1e-3  # m: a shorter stretch of an axis touches at one point
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
    """Component 0, 1 or 2 of a vector."""
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


def half_axis(a, axis):
    """Half axis 0, 1 or 2 of a box."""
    found = a.x
    if axis == 1:
        found = a.y
    if axis == 2:
        found = a.z
    return found


def reach_along(n, a):
    """How far a box reaches along n from its centre."""
    return absolute(dot(n, a.x)) + absolute(dot(n, a.y)) + absolute(dot(n, a.z))


def separation(n, c, a, b):
    """How far two boxes are apart along n, |n| = 1: c from the centre of b to that of a."""
    return absolute(dot(n, c)) - reach_along(n, a) - reach_along(n, b)


def faces_apart(c, a, b):
    """How far two boxes are apart, at most, along the normals of the faces of a."""
    most = c.x * 0 - FAR
    for axis in range(3):
        own = half_axis(a, axis)
        most = maximum(most, separation(scale(own, 1 / sqrt(dot(own, own))), c, a, b))
    return most


def edge_toward(n, a, axis):
    """The middle of the edge along half axis `axis` that lies farthest along n, from the box's centre."""
    found = scale(n, n.x * 0)
    for k in range(3):
        if k != axis:
            own = half_axis(a, k)
            found = add(found, scale(own, sign_of(dot(n, own))))
    return found


def nearest_on_edges(n, c, a, b, i, j):
    """Of the edges along half axes i of a and j of b that face each other along n, where that of a passes the other,
    from the centre of b, and whether it does so between the ends of both."""
    u, e = half_axis(a, i), half_axis(b, j)
    on_a, on_b = add(c, edge_toward(scale(n, n.x * 0 - 1), a, i)), edge_toward(n, b, j)
    w, across_u, across_e = sub(on_a, on_b), cross(u, n), cross(e, n)
    s, t = -dot(across_e, w) / dot(across_e, u), dot(across_u, w) / dot(across_u, e)
    return add(on_a, scale(u, s)), absolute(s) <= 1 and absolute(t) <= 1


def crossing_edges(corner, x, y, z, size):
    """Distance, point, and normal out of the second box, where edges of two boxes cross; FAR where they do not.

    The first box: a corner, and its edges x, y, z from there; the second: its half lengths, in whose axes all is. By
    the theorem of separating axes (Gottschalk, Lin and Manocha 1996) what separates boxes most is the normal of a face,
    or across an edge of each.
    """
    o = corner.x * 0
    a = HalfAxes(scale(x, o + 0.5), scale(y, o + 0.5), scale(z, o + 0.5))
    b = HalfAxes(scale(unit(o, 0), size.x), scale(unit(o, 1), size.y), scale(unit(o, 2), size.z))
    c = add(corner, add(a.x, add(a.y, a.z)))
    most = maximum(faces_apart(c, a, b), faces_apart(c, b, a)) + EDGE
    gap, p, normal = o + FAR, corner, unit(o, 2)
    for i in range(3):
        for j in range(3):
            u, e = half_axis(a, i), half_axis(b, j)
            n = cross(u, e)
            square = dot(n, n)
            if square > PARALLEL * dot(u, u) * dot(e, e):
                n = scale(n, sign_of(dot(n, c)) / sqrt(square))
                apart = separation(n, c, a, b)
                if apart > most:
                    x_a, between = nearest_on_edges(n, c, a, b, i, j)
                    most, gap, p, normal = apart, apart if between else o + FAR, x_a, n
    return gap, p, normal
