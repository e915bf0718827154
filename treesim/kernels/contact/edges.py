"""Contacts between the points of shapes: sides of capsules, and crossing edges of boxes."""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, cross, dot, scale, sub
from ..algebra.numbers import absolute, sqrt
from .signed_distance import EDGE, FAR, from_solid, sign_of

AXIS, CROSSING, FEATURES = 1, 2, 3  # what a pair may find between its points
LEVEL = 1e-4  # the slope of a distance below which it counts as the least
HALVINGS = 50  # to the last bit
NARROW = 1e-3  # m: a shorter stretch of an axis touches at one point
INSIDE = 1 - 1e-9  # of half an edge: farther out is its corner, a point of the box
CROSSINGS = 16  # of the edges of two faces
PARALLEL = 1e-10  # square of the sine between edges that do not cross


def axis_slope(touch, k, one, other, along):
    """Return the slope of the distance from the solid of pair k, for a point between `one` (0) and `other` (1).

    The distance from a convex solid is convex, so the slope increases with `along`.
    """
    d = sub(other, one)
    _, n = from_solid(touch, k, add(one, scale(d, along)), along * 0 + 1, 0)
    return dot(n, d) / sqrt(dot(d, d))


def where_slope(touch, k, one, other, slope):
    """Return where between `one` (0) and `other` (1) the slope of the distance from pair k's solid exceeds `slope`.

    Found by bisection.
    """
    low, high = slope * 0, slope * 0 + 1
    for _ in range(HALVINGS):
        half = (low + high) / 2
        if axis_slope(touch, k, one, other, half) < slope:
            low = half
        else:
            high = half
    return (low + high) / 2


def axis_span(touch, k, one, other):
    """Return the two ends of the part of the segment from `one` (0) to `other` (1) that is nearest to pair k's solid.

    0 for an end of the segment, and for the second if both are one point.
    """
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
    """Return component 0, 1 or 2 of a vector, or that half axis of a box."""
    found = a.x
    if axis == 1:
        found = a.y
    if axis == 2:
        found = a.z
    return found


def unit(o, axis):
    """Return the unit vector along axis 0, 1 or 2; o: a zero."""
    found = Vector(o + 1, o, o)
    if axis == 1:
        found = Vector(o, o + 1, o)
    if axis == 2:
        found = Vector(o, o, o + 1)
    return found


class HalfAxes(NamedTuple):
    """Half axes of a box: vectors from its centre to the centres of three faces."""

    x: Any
    y: Any
    z: Any


def reach_along(n, a):
    """Return the extent of a box along n from its centre."""
    return absolute(dot(n, a.x)) + absolute(dot(n, a.y)) + absolute(dot(n, a.z))


def separation(n, c, a, b):
    """Return the separation of two boxes a, b along n, |n| = 1; c: vector from the centre of b to that of a."""
    return absolute(dot(n, c)) - reach_along(n, a) - reach_along(n, b)


def facing(c, a, b):
    """Return the largest separation of two boxes along face normals of a, and the index of that half axis."""
    most, axis = c.x * 0 - FAR, 0
    for k in range(3):
        own = part(a, k)
        apart = separation(scale(own, 1 / sqrt(dot(own, own))), c, a, b)
        if apart > most:
            most, axis = apart, k
    return most, axis


def facing_normal(c, a, b):
    """Return the largest separation of two boxes along their face normals, and that normal, from b to a."""
    most, axis = facing(c, a, b)
    other, k = facing(c, b, a)
    n = part(a, axis)
    if other > most:
        most, n = other, part(b, k)
    return most, scale(n, sign_of(dot(n, c)) / sqrt(dot(n, n)))


def steepest(n, a):
    """Return the index of the half axis of a box that is most parallel to n."""
    axis, most = 0, n.x * 0 - 1
    for k in range(3):
        own = part(a, k)
        along = absolute(dot(n, own)) / sqrt(dot(own, own))
        if along > most:
            axis, most = k, along
    return axis


def edge_toward(n, a, axis):
    """Return the centre of the edge along half axis `axis` that is farthest along n, relative to the box's centre."""
    found = scale(n, n.x * 0)
    for k in range(3):
        if k != axis:
            own = part(a, k)
            found = add(found, scale(own, sign_of(dot(n, own))))
    return found


def edge_of_face(n, a, up, axis, side):
    """Return the centre of an edge along half axis `axis` of a box's face, relative to the box's centre.

    The face is the one across half axis `up` that is farther along n. side: which of the face's two edges, 0 or 1.
    """
    own, across = part(a, up), part(a, 3 - up - axis)
    return add(scale(own, sign_of(dot(n, own))), scale(across, n.x * 0 + 2 * side - 1))


def passing(n, on_a, u, on_b, e):
    """Return where two lines cross as seen along n: distance from on_a in units of u, and from on_b in units of e.

    The lines go through on_a along u, and through on_b along e. The result is 2, beyond the ends of edges, for lines
    that are nearly parallel.
    """
    w, across_u, across_e = sub(on_a, on_b), cross(u, n), cross(e, n)
    turn, s, t = dot(across_e, u), n.x * 0 + 2, n.x * 0 + 2
    if turn * turn > PARALLEL * dot(u, u) * dot(e, e):
        s, t = -dot(across_e, w) / turn, dot(across_u, w) / dot(across_u, e)
    return s, t


def crossing_in_faces(c, a, b, n, number):
    """Return distance along n, and point on the first box, of the crossing of two edges of facing faces.

    The edges are one of the first box's lowest face along n, and one of the second box's highest face. The distance is
    FAR if they do not cross between their ends. number: which edges, 0 to 15. c, a, b: as in `separation`.
    """
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
    """Return the vector from the centre of the second box to that of the first, and the half axes of both boxes.

    corner, x, y, z: a corner of the first box and the edges from there. size: half lengths of the second box, in whose
    axes all vectors are.
    """
    o = corner.x * 0
    a = HalfAxes(scale(x, o + 0.5), scale(y, o + 0.5), scale(z, o + 0.5))
    b = HalfAxes(scale(unit(o, 0), size.x), scale(unit(o, 1), size.y), scale(unit(o, 2), size.z))
    return add(corner, add(a.x, add(a.y, a.z))), a, b


def crossing_edges(c, a, b, most):
    """Return distance, point on the first box, and normal from the second, of crossing edges that separate two boxes.

    The separation must exceed `most`, that of faces; otherwise the distance is FAR. By the separating axis theorem
    (Gottschalk, Lin and Manocha 1996), the direction of largest separation is a face normal, or the cross product of an
    edge of each box.
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
