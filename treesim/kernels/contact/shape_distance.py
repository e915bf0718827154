"""Signed distance of a point from the shape of a pair, and the least distance along a segment.

A shape is a ball, a capsule, a cylinder, or a convex polyhedron given by the planes of its faces. All points and
normals are in the axes of the shape's body. The distance from a convex shape is a convex function of the point.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, dot, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, sqrt
from .layout import PAIR
from .signed_distance import FAR, across, from_center, sign_of, vector_of

BALL, ROD, DRUM, POLYHEDRON = range(4)  # sphere, capsule, cylinder, box or hull
EXACT = 1e-13  # m: accuracy of the least distance
CUTS = 60  # of the search for it, at most; a polyhedron needs a few, round shapes about 20
LEVEL = 1e-4  # slope of the distance below which it counts as constant
NARROW = 1e-3  # m: a shorter stretch of constant distance is one point


def polyhedron_distance(touch, first, planes, p):
    """Return the largest distance of a point from the planes of a polyhedron, and that plane's normal.

    It is the signed distance inside and over faces, and less than the distance beyond edges and corners. touch.point
    contains normals and offsets of the planes, from row `first` on.
    """
    o = p.x * 0
    gap, n = o - FAR, Vector(o, o, o + 1)
    for j in range(first, first + planes):
        face = vector_of(touch.point, j)
        found = dot(face, p) - touch.point[j, 3]
        if found > gap:
            gap, n = found, face
    return gap, n


def axis_distance(touch, first, kind, p):
    """Return signed distance and outward normal of a capsule or cylinder, for a point p."""
    one, d = vector_of(touch.point, first), sub(vector_of(touch.point, first + 1), vector_of(touch.point, first))
    radius, length, w = touch.point[first, 3], sqrt(dot(d, d)), sub(p, one)
    u = scale(d, 1 / length)
    along = dot(w, u)
    if kind == ROD:
        gap, n = from_center(sub(w, scale(u, minimum(maximum(along, 0), length))), radius)
    else:
        radial = sub(w, scale(u, along))
        out = sqrt(dot(radial, radial))
        side = across(u)
        if out > 0:
            side = scale(radial, 1 / out)
        cap = scale(u, sign_of(along - length / 2))
        wide, high = out - radius, absolute(along - length / 2) - length / 2
        gap, n = wide, side
        if high > wide:
            gap, n = high, cap
        if wide > 0 and high > 0:
            gap = sqrt(wide * wide + high * high)
            n = add(scale(side, wide / gap), scale(cap, high / gap))
    return gap, n


def shape_distance(touch, k, p):
    """Return signed distance and outward normal of the shape of pair k, for a point p."""
    first, kind = touch.pair[k, PAIR.first_point], touch.pair[k, PAIR.shape]
    if kind == POLYHEDRON:
        gap, n = polyhedron_distance(touch, first + touch.pair[k, PAIR.points], touch.pair[k, PAIR.planes], p)
    elif kind == BALL:
        gap, n = from_center(sub(p, vector_of(touch.point, first)), touch.point[first, 3])
    else:
        gap, n = axis_distance(touch, first, kind, p)
    return gap, n


class Least(NamedTuple):
    """Point of a segment where the distance plus a tilt is least, with slopes and normals around it."""

    along: Any  # fraction of the segment
    gap: Any
    falling: Any  # slope before the point, negative unless the point is the start
    rising: Any  # slope behind it, positive unless the point is the end
    before: Any  # normals of the shape before and behind the point
    behind: Any


def least_along(touch, k, one, d, tilt, most):
    """Return the point one + t d, 0 <= t <= 1, where the distance from pair k's shape plus tilt t is least.

    If it is above `most`, another point above `most` may be returned. The tangents at two points with slopes of
    different sign cross at the next point (Kelley's cutting planes): exact after a few steps for polyhedra, one bit
    or more a step for round shapes.
    """
    low, high = tilt * 0, tilt * 0 + 1
    at_low, before = shape_distance(touch, k, one)
    at_high, behind = shape_distance(touch, k, add(one, d))
    at_high += tilt
    falling, rising = dot(before, d) + tilt, dot(behind, d) + tilt
    along, value, cuts = low, at_low, 0
    if falling < 0:
        along, value = high, at_high
    while cuts < CUTS and falling < 0 and rising > 0:
        along = (at_high - at_low + falling * low - rising * high) / (falling - rising)
        along = minimum(maximum(along, low), high)
        bound = at_low + falling * (along - low)
        cuts += 1
        if bound > most:
            value, cuts = bound, CUTS
        else:
            value, n = shape_distance(touch, k, add(one, scale(d, along)))
            value += tilt * along
            slope = dot(n, d) + tilt
            if value - bound < EXACT:
                cuts = CUTS
            elif slope < 0:
                low, at_low, falling, before = along, value, slope, n
            else:
                high, at_high, rising, behind = along, value, slope, n
    return Least(along, value - tilt * along, falling, rising, before, behind)


def across_segment(least):
    """Return gap and normal of a shape whose edge crosses the segment at `least`.

    The normal is the combination of the normals before and behind the crossing that is perpendicular to the segment.
    FAR where a segment passes straight through two opposite faces, which has none.
    """
    whole, weight = least.rising - least.falling, least.rising * 0 + 1
    if whole > 0:
        weight = least.rising / whole
    n = add(scale(least.before, weight), scale(least.behind, 1 - weight))
    size, gap = sqrt(dot(n, n)), least.gap * 0 + FAR
    if size > 0:
        gap, n = least.gap / size, scale(n, 1 / size)
    return gap, n


class Stretch(NamedTuple):
    """The one or two points of a segment that are nearest to a shape: fraction of the segment, gap, normal of each.

    The gap is FAR where there is no point.
    """

    first: Any
    first_gap: Any
    first_normal: Any
    last: Any
    last_gap: Any
    last_normal: Any


def stretch_near_ball(touch, k, one, d):
    """Return the point of a segment that is nearest to a sphere, as `nearest_stretch` does."""
    far = one.x * 0 + FAR
    along = dot(sub(vector_of(touch.point, touch.pair[k, PAIR.first_point]), one), d) / dot(d, d)
    gap, n = shape_distance(touch, k, add(one, scale(d, along)))
    if along < 0 or along > 1:
        gap = far
    return Stretch(along, gap, n, along, far, n)


def nearest_stretch(touch, k, one, d, reach):
    """Return the points of the segment from `one` along d that are nearest to pair k's shape, if within reach.

    They are the ends of the part along which the distance is constant to LEVEL, or one point if that is short. There is
    none if an end of the segment is nearest.
    """
    if touch.pair[k, PAIR.shape] == BALL:
        return stretch_near_ball(touch, k, one, d)
    length = sqrt(dot(d, d))
    level, far = LEVEL * length, length * 0 + FAR
    least = least_along(touch, k, one, d, length * 0, reach)
    found = Stretch(least.along, far, least.before, least.along, far, least.before)
    if least.gap < reach and least.falling < level and least.rising > -level:
        start, end = least, least
        if least.falling >= -level or least.rising <= level:
            start, end = least_along(touch, k, one, d, level, far), least_along(touch, k, one, d, -level, far)
        if (end.along - start.along) * length >= NARROW:
            first, last = start.behind, end.before
            if start.falling >= 0:  # at an end of the segment, whose normal is that of the point there
                first = start.before
            if end.rising <= 0:
                last = end.behind
            found = Stretch(start.along, start.gap, first, end.along, end.gap, last)
        elif least.falling <= 0 and least.rising >= 0:
            gap, n = across_segment(least)
            found = Stretch(least.along, gap, n, least.along, far, n)
    return found
