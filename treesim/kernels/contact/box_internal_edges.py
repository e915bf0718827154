"""Internal edges: faces between adjacent static boxes of a world must not cause contacts."""

from ..algebra.linear import Vector, add, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, maximum, minimum
from ..algebra.tables import transform_at
from .edges import part
from .layout import PAIR, SURFACE
from .signed_distance import ROUND, from_grid, from_solid, has_faces, is_grid, sign_of, vector_of

EDGE_MARGIN = (
    1e-4  # m: distance from the border and the plane of a face at which it is tested; more than overlaps of shapes
)
TILT = 1e-9  # component of a normal above which it leans to a face
FLUSH = 1e-9  # m: steps between faces of adjacent solids that do not count as steps


def solid_distance(touch, k, x):
    """Return the signed distance of a world point from the solid of pair k, which is fixed to the world."""
    S = transform_at(touch.solid, k)
    p = rotate_back(S.R, sub(x, S.p))
    if is_grid(touch, k):
        gap, _ = from_grid(touch, k, p)
        gap -= ROUND
    else:
        gap, _ = from_solid(touch, k, p, x.x * 0 + ROUND, 0)
    return gap + ROUND


def covers(touch, k, x, rim):
    """Return whether the solid of pair k, which is fixed to the world, covers a face beyond which the points are.

    It contains x, inside of the face's border, and reaches up to `rim`, at the height of the contact: a face that ends
    above the solid is a step.
    """
    return solid_distance(touch, k, x) < -EDGE_MARGIN / 2 and solid_distance(touch, k, rim) < FLUSH


def covered_by_another(touch, k, x, rim, covers):
    """Return whether another solid of the world than that of pair k covers a face beyond which x and `rim` are.

    The other solids are those of adjacent pairs in the table with the same points. covers: function of one solid.
    """
    found = False
    for way in range(2):
        step = 2 * way - 1
        other = k + step
        first = touch.pair[k, PAIR.first_point]
        while other >= 0 and other < touch.pair.shape[0] and touch.pair[other, PAIR.first_point] == first:
            if touch.pair[other, PAIR.internal_edges] == other + 1:
                found = found or covers(touch, other, x, rim)
            other += step
    return found


def inside(x, half):
    """Return x clamped to EDGE_MARGIN inside of +-half."""
    most = maximum(half - EDGE_MARGIN, 0)
    return minimum(maximum(x, -most), most)


def with_part(a, axis, value):
    """Return a vector with another component along an axis."""
    x, y, z = a.x, a.y, a.z
    if axis == 0:
        x = value
    if axis == 1:
        y = value
    if axis == 2:
        z = value
    return Vector(x, y, z)


def steepest(n):
    """Return the axis along which a vector has its largest component."""
    found = 0
    if absolute(n.y) > absolute(n.x):
        found = 1
    if absolute(n.z) > absolute(part(n, found)):
        found = 2
    return found


def beyond_face(p, n, size, axis):
    """Return two points just outside of a box's face, near the point p of its surface.

    The first one is inside of the face's border, the second one at the height of p along the normal n. The face is
    across `axis`, on the side to which n points. size: half lengths.
    """
    out = sign_of(part(n, axis)) * (part(size, axis) + EDGE_MARGIN)
    x = with_part(Vector(inside(p.x, size.x), inside(p.y, size.y), inside(p.z, size.z)), axis, out)
    up, rim = steepest(n), x
    if up != axis:
        rim = with_part(x, up, part(p, up))
    return x, rim


def no_internal_edge(touch, k, x, gap, n):
    """Return False; variant of `on_internal_edge` for worlds without internal edges."""
    return False


def on_internal_face(touch, k, x, gap, n, covers):
    """Return whether a contact of pair k at x, with gap and normal n, is on an internal face of a static box.

    covers: function of a solid of the world.
    """
    found, own = False, touch.pair[k, PAIR.internal_edges] - 1
    if own >= 0 and has_faces(touch, own) and touch.surface[own, SURFACE.stiffness] == 0:
        w, out = sub(x, scale(n, gap)), n
        if own != k:  # corners of the static box are this pair's points
            w, out = add(x, scale(n, gap / 2)), scale(n, -1)
        S = transform_at(touch.solid, own)
        p, out, size = rotate_back(S.R, sub(w, S.p)), rotate_back(S.R, out), vector_of(touch.size, own)
        for axis in range(3):
            at_face = absolute(part(p, axis)) > part(size, axis) - EDGE_MARGIN
            if at_face and absolute(part(out, axis)) > TILT:
                probe, rim = beyond_face(p, out, size, axis)
                probe, rim = add(S.p, rotate(S.R, probe)), add(S.p, rotate(S.R, rim))
                found = found or covered_by_another(touch, own, probe, rim, covers)
    return found


def on_internal_edge(touch, k, x, gap, n):
    """Return whether a contact of pair k at x, with gap and normal n, is on an internal face, edge or corner.

    An internal face belongs to a static box, and another solid of the world covers it. False for soft surfaces, which
    shapes penetrate.
    """
    return on_internal_face(touch, k, x, gap, n, covers)
