"""Internal edges: faces between adjacent static boxes of a world must not cause contacts."""

from __future__ import annotations

from ..algebra.linear import Vector, add, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, maximum, minimum
from ..algebra.tables import transform_at
from .edges import part
from .signed_distance import BOX, ROUND, from_solid, sign_of, vector_of

EDGE_MARGIN = (
    1e-4  # m: distance from the border and the plane of a face at which it is tested; more than overlaps of shapes
)
TILT = 1e-9  # component of a normal above which it leans to a face


def solid_distance(touch, k, x):
    """Return the signed distance of a world point from the solid of pair k, which is fixed to the world."""
    S = transform_at(touch.solid, k)
    gap, _ = from_solid(touch, k, rotate_back(S.R, sub(x, S.p)), x.x * 0 + ROUND, 0)
    return gap


def is_within(touch, k, x):
    """Return whether a world point is inside the solid of pair k, which is fixed to the world."""
    return solid_distance(touch, k, x) < -EDGE_MARGIN / 2


def within_another(touch, k, x, is_within):
    """Return whether a world point is inside another solid of the world than that of pair k.

    The other solids are those of adjacent pairs in the table with the same points. is_within: of one solid.
    """
    found = False
    for way in range(2):
        step = 2 * way - 1
        other = k + step
        while other >= 0 and other < touch.pair.shape[0] and touch.pair[other, 3] == touch.pair[k, 3]:
            if touch.pair[other, 13] == other + 1:
                found = found or is_within(touch, other, x)
            other += step
    return found


def inside(x, half):
    """Return x clamped to EDGE_MARGIN inside of +-half."""
    most = maximum(half - EDGE_MARGIN, 0)
    return minimum(maximum(x, -most), most)


def beyond_face(p, n, size, axis):
    """Return a point just outside of a box's face, near the point p of its surface, but inside the face's border.

    The face is across `axis`, on the side to which n points. size: half lengths.
    """
    out = sign_of(part(n, axis)) * (part(size, axis) + EDGE_MARGIN)
    x, y, z = inside(p.x, size.x), inside(p.y, size.y), inside(p.z, size.z)
    if axis == 0:
        x = out
    if axis == 1:
        y = out
    if axis == 2:
        z = out
    return Vector(x, y, z)


def no_internal_edge(touch, k, x, gap, n):
    """Return False; variant of `on_internal_edge` for planes."""
    return False


def on_internal_face(touch, k, x, gap, n, is_within):
    """Return whether a contact of pair k at x, with gap and normal n, is on an internal face of a static box.

    is_within: returns whether a point is inside a solid of the world.
    """
    found, own = False, touch.pair[k, 13] - 1
    if own >= 0 and touch.pair[own, 2] == BOX and touch.law[own, 2] == 0:
        w, out = sub(x, scale(n, gap)), n
        if own != k:  # corners of the static box are this pair's points
            w, out = add(x, scale(n, gap / 2)), scale(n, -1)
        S = transform_at(touch.solid, own)
        p, out, size = rotate_back(S.R, sub(w, S.p)), rotate_back(S.R, out), vector_of(touch.size, own)
        for axis in range(3):
            if absolute(part(out, axis)) > TILT:
                probe = add(S.p, rotate(S.R, beyond_face(p, out, size, axis)))
                found = found or within_another(touch, own, probe, is_within)
    return found


def on_internal_edge(touch, k, x, gap, n):
    """Return whether a contact of pair k at x, with gap and normal n, is on an internal face, edge or corner.

    An internal face belongs to a static box, and another solid of the world covers it. False for soft surfaces, which
    shapes penetrate.
    """
    return on_internal_face(touch, k, x, gap, n, is_within)
