"""Internal edges of meshes: faces and borders that another part or another solid covers must not cause contacts.

They are searched for where there are several surfaces, or a mesh with several parts.
"""

from ..algebra.linear import add, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, minimum, sqrt
from ..algebra.tables import transform_at
from .box_internal_edges import EDGE_MARGIN, FLUSH, TILT, covered_by_another, covers, on_internal_face
from .height_field import past_side, window_about
from .layout import PAIR, SURFACE
from .signed_distance import FAR, is_mesh
from .static_mesh import (
    BORDER,
    TRIANGLE_SIZE,
    TRIANGLES,
    face_at,
    face_distance,
    integer_at,
    list_end,
    list_start,
    nearest_height,
    record_at,
    vector_at,
)

ON_FACE = 1e-6  # m: a contact so near a triangle is on it
BENT = 1e-5  # cosine less than 1 of the normals of triangles of different faces


def covers_any(touch, k, x, rim):
    """Return whether the solid of pair k covers a face, as `covers`; a mesh covers it near its surface."""
    found = False
    if is_mesh(touch, k):
        S = transform_at(touch.solid, k)
        distance, height, _ = nearest_height(touch, k, rotate_back(S.R, sub(x, S.p)), 4 * EDGE_MARGIN)
        if distance < 4 * EDGE_MARGIN and height < -EDGE_MARGIN / 2:
            distance, height, _ = nearest_height(touch, k, rotate_back(S.R, sub(rim, S.p)), 4 * EDGE_MARGIN)
            found = distance < 4 * EDGE_MARGIN and height < FLUSH
    else:
        found = covers(touch, k, x, rim)
    return found


def ends_face(touch, k, neighbour, n):
    """Return whether a face ends at a side of one of its triangles, with normal n, to a neighbour."""
    found = True
    if neighbour >= 0:
        record = integer_at(touch, k, TRIANGLES + 2) + TRIANGLE_SIZE * neighbour
        found = dot(n, vector_at(touch, k, record + 11)) < 1 - BENT * BENT
    return found


def pulled_in(touch, k, neighbour, n, one, other, p):
    """Return p, moved from a side of a triangle to EDGE_MARGIN inside, if the face ends there."""
    past = past_side(n, one, other, p)
    if past > -EDGE_MARGIN and ends_face(touch, k, neighbour, n):
        p = sub(p, scale(outward_of(n, one, other), past + EDGE_MARGIN))
    return p


def outward_of(n, one, other):
    """Return the unit vector in the plane of a triangle with normal n that points out of its side."""
    u = cross(sub(other, one), n)
    return scale(u, 1 / sqrt(dot(u, u)))


def rim_of(n, q, p, out):
    """Return the point at the height of p along the direction out, beyond the point q of a face with normal n."""
    along, up = dot(n, out), sub(out, scale(n, dot(n, out)))
    size = sqrt(dot(up, up))
    if size > absolute(along):
        q = add(q, scale(up, dot(sub(p, q), up) / (size * size)))
    return q


def face_covered(touch, k, face, p, out):
    """Return whether another solid covers the face of a triangle at p, if it is turned towards the direction out."""
    found = False
    if dot(face.normal, out) > TILT:
        n, q = face.normal, p
        q = pulled_in(touch, k, face.neighbour_one, n, face.one, face.two, q)
        q = pulled_in(touch, k, face.neighbour_two, n, face.two, face.three, q)
        q = pulled_in(touch, k, face.neighbour_three, n, face.three, face.one, q)
        rim, beyond = rim_of(n, q, p, out), scale(n, EDGE_MARGIN)
        found = covered(touch, k, add(q, beyond), add(rim, beyond)) or on_inner_wall(touch, k, n, q, rim)
    return found


def on_inner_wall(touch, k, n, q, rim):
    """Return whether triangles of the same mesh face that of q, with normal n, without a gap, and reach up to `rim`."""
    gap = wall_distance(touch, k, n, q)
    return gap < EDGE_MARGIN / 2 and wall_distance(touch, k, n, rim) < gap + FLUSH


def wall_distance(touch, k, n, p):
    """Return the distance of p from the triangles that face the direction n, FAR if there is none near."""
    found, window = n.x * 0 + FAR, window_about(touch, k, p, n.x * 0 + EDGE_MARGIN)
    for i in range(window.i, window.i_end):
        for j in range(window.j, window.j_end):
            for c in range(list_start(touch, k, TRIANGLES, i, j), list_end(touch, k, TRIANGLES, i, j)):
                face = face_at(touch, k, record_at(touch, k, TRIANGLES, c, TRIANGLE_SIZE))
                if dot(face.normal, n) < BENT - 1:
                    found = minimum(found, face_distance(face.normal, face.one, face.two, face.three, p))
    return found


def border_covered(touch, k, neighbour, n, one, other, p, out):
    """Return whether another solid covers the side of the border at p, if it is turned towards the direction out."""
    found = False
    if neighbour == BORDER and absolute(past_side(n, one, other, p)) < ON_FACE:
        side = outward_of(n, one, other)
        if dot(side, out) > TILT:
            rim = add(p, scale(side, EDGE_MARGIN))
            probe, S = sub(rim, scale(n, EDGE_MARGIN)), transform_at(touch.solid, k)
            found = covered(touch, k, probe, rim)
            if not found:
                found = covers_any(touch, k, add(S.p, rotate(S.R, probe)), add(S.p, rotate(S.R, rim)))
    return found


def covered(touch, k, p, rim):
    """Return whether another solid covers a face, beyond which two points of the mesh's axes are (`covers`)."""
    S = transform_at(touch.solid, k)
    return covered_by_another(touch, k, add(S.p, rotate(S.R, p)), add(S.p, rotate(S.R, rim)), covers_any)


def on_internal_edge_of_meshes(touch, k, x, gap, n):
    """Return whether a contact of pair k at x, with gap and normal n, is on an internal face, edge or vertex.

    An internal face belongs to a static box or a mesh, and another solid of the world covers it. False for soft
    surfaces, which shapes penetrate.
    """
    found, own = on_internal_face(touch, k, x, gap, n, covers_any), touch.pair[k, PAIR.internal_edges] - 1
    if own >= 0 and is_mesh(touch, own) and touch.surface[own, SURFACE.stiffness] == 0:
        S = transform_at(touch.solid, own)
        p, out = rotate_back(S.R, sub(sub(x, scale(n, gap)), S.p)), rotate_back(S.R, n)
        window = window_about(touch, own, p, gap * 0 + EDGE_MARGIN)
        for i in range(window.i, window.i_end):
            for j in range(window.j, window.j_end):
                for c in range(list_start(touch, own, TRIANGLES, i, j), list_end(touch, own, TRIANGLES, i, j)):
                    found = found or on_covered(touch, own, record_at(touch, own, TRIANGLES, c, TRIANGLE_SIZE), p, out)
    return found


def on_covered(touch, k, record, p, out):
    """Return whether p is on a triangle whose face or border is covered, and turned towards the direction out."""
    face, found = face_at(touch, k, record), False
    n, one, two, three = face.normal, face.one, face.two, face.three
    if face_distance(n, one, two, three, p) < ON_FACE:
        found = face_covered(touch, k, face, p, out)
        found = found or border_covered(touch, k, face.neighbour_one, n, one, two, p, out)
        found = found or border_covered(touch, k, face.neighbour_two, n, two, three, p, out)
        found = found or border_covered(touch, k, face.neighbour_three, n, three, one, p, out)
    return found
