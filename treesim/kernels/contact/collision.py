"""Collision detection: points with radii on one body, against a solid on another body or in the world.

A sphere is one point with its radius, a capsule two points, a box its vertices, a hull its extreme vertices. For a
cylinder, the lowest points of both rims are computed. A solid returns a point's signed distance and the outward normal.
Every point has a slot, which identifies its contact from step to step while it slides. A capsule's side and a box's
edges touch between the points (`edges`). Contacts on internal edges of adjacent static boxes are discarded
(`box_internal_edges`). Contacts of other pairs of convex shapes are arguments (`treesim.contact.convex_pairs`).
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import maximum, minimum, sqrt
from ..algebra.tables import transform_at
from .box_internal_edges import no_internal_edge, on_internal_edge
from .candidates import (
    add_candidate,
    ball_of,
    local_point,
    middle_of,
    put_row,
    reach_of,
    rim_along,
    solid_in_world,
    world_point,
)
from .coincident import EQUAL, all_distinct, drop_coincident
from .edges import (
    AXIS,
    CROSSING,
    CROSSINGS,
    FEATURES,
    axis_span,
    boxes,
    crossing_edges,
    crossing_in_faces,
    facing_normal,
    part,
)
from .gathered_pairs import gathered_row, gathered_tables, ready_row
from .height_field import meet_height_field, no_terrain
from .layout import PAIR, SURFACE
from .mesh_internal_edges import on_internal_edge_of_meshes
from .near_pairs import list_all, list_near, listed
from .signed_distance import (
    FAR,
    ROUND,
    box_face,
    from_plane,
    from_solid,
    groups_of,
    has_faces,
    is_plane,
    vector_of,
)
from .static_features import Query, meet_box_features
from .static_mesh import meet_terrain
from .support import Choice, choose, gap_price
from .tables import PER_PAIR, RIM, slot_of, touch_tables
from .warm_start import end_of_entries, stored_number

ALIKE = 0.9  # cosine between normals of contacts of one group


def no_face(touch, k, S, W):
    """Return 0 and -FAR; variant of `box_on_which` for planes."""
    return 0, W.p.x * 0 - FAR


def box_on_which(touch, k, S, W):
    """Return the face of pair k's box from which the other shape is farthest, and this distance.

    0 and -FAR for other solids.
    """
    best, farthest = 0, W.p.x * 0 - FAR
    if has_faces(touch, k):
        low, high = points_range(touch, k, S, W)
        for face in range(6):
            least = part(low, face) if face < 3 else -part(high, face - 3)
            _, n = box_face(low, low, face)
            least = least - part(vector_of(touch.size, k), face % 3) - rim_extent(touch, k, rotate(S.R, n), W)
            if least > farthest:
                best, farthest = face, least
        if touch.pair[k, PAIR.cylinder] != 1:
            farthest -= touch.point[touch.pair[k, PAIR.first_point], 3]
    return best, farthest


def points_range(touch, k, S, W):
    """Return the least and the largest coordinates of the points of pair k, in the axes of the solid with pose S."""
    o, far = rotate_back(S.R, sub(W.p, S.p)), S.p.x * 0 + FAR
    zero = far * 0
    x, y, z = (rotate_back(W.R, rotate(S.R, Vector(zero + 1, zero, zero))),
               rotate_back(W.R, rotate(S.R, Vector(zero, zero + 1, zero))),
               rotate_back(W.R, rotate(S.R, Vector(zero, zero, zero + 1))))  # fmt: skip
    low, high = Vector(far, far, far), Vector(-far, -far, -far)
    first = touch.pair[k, PAIR.first_point]
    for j in range(first, first + touch.pair[k, PAIR.points]):
        v = vector_of(touch.point, j)
        p = Vector(dot(x, v), dot(y, v), dot(z, v))
        low = Vector(minimum(low.x, p.x), minimum(low.y, p.y), minimum(low.z, p.z))
        high = Vector(maximum(high.x, p.x), maximum(high.y, p.y), maximum(high.z, p.z))
    return add(o, low), add(o, high)


def rim_extent(touch, k, n, W):
    """Return the extent of a cylinder's rim along the world's direction n from its centre; 0 for other shapes."""
    found = n.x * 0
    if touch.pair[k, PAIR.cylinder] == 1:
        a = sub(world_point(touch, k, 1, W), world_point(touch, k, 0, W))
        along = dot(n, a)
        found = touch.point[touch.pair[k, PAIR.first_point], 3] * sqrt(maximum(1 - along * along / dot(a, a), 0))
    return found


def up_from(touch, k, S, face):
    """Return the world's direction above which a cylinder's rims are lowest: a box's face normal, or z of a solid."""
    o = S.p.x * 0
    n = Vector(o, o, o + 1)
    if has_faces(touch, k):
        _, n = box_face(n, n, face)
    return rotate(S.R, n)


def broad_phase(touch, k, r, S, dt, margin, solids):
    """Return the largest gap of points of pair k to consider; negative if the shape's bounding ball is farther away.

    It is the margin plus the largest relative motion in the step.
    """
    ball = ball_of(touch, k, transform_at(r.W, touch.pair[k, PAIR.body]))
    gap, _ = solids.distance(touch, k, rotate_back(S.R, sub(ball, S.p)), maximum(touch.ball[k, 3], ROUND), 0)
    reach = reach_of(touch, k, r, ball, dt, margin)
    return reach if gap < reach else -reach


def narrow_phase(touch, k, r, dt, margin, m, S, W, reach, face, solids):
    """Add the points of pair k that are within reach to m; return their number. face: of a box (`box_on_which`)."""
    cylinder, count = touch.pair[k, PAIR.cylinder] == 1, 0
    up = up_from(touch, k, S, face)
    along, height = rotate_back(W.R, up), solid_height(touch, k, S, W, up, face)
    first = touch.pair[k, PAIR.first_point]
    for j in range(RIM if cylinder else touch.pair[k, PAIR.points]):
        rho = reach * 0 if cylinder else touch.point[first + j, 3]
        if cylinder or dot(along, vector_of(touch.point, first + j)) - rho < height + reach + EQUAL:
            p = rim_along(touch, k, j, up, W) if cylinder else world_point(touch, k, j, W)
            gap, n = solids.distance(touch, k, rotate_back(S.R, sub(p, S.p)), rho, face)
            if gap < reach:
                n = rotate(S.R, n)
                x = middle_of(touch, k, p, rho, gap, n)
                count = add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids)
    return count


def solid_height(touch, k, S, W, up, face):
    """Return the height along `up` from the body of pair k's shape of its solid: a plane or a box's face; else FAR.

    Points that are higher have at least this gap, for which most points of a large hull are not looked at.
    """
    height = dot(up, sub(S.p, W.p))
    if has_faces(touch, k):
        height += part(vector_of(touch.size, k), face % 3)
    elif not is_plane(touch, k):
        height = height * 0 + FAR
    return height


def meet_axis(touch, k, r, dt, margin, m, count, S, W, solids):
    """Add the ends of the part of a capsule's axis that is nearest to pair k's solid, except for the axis's ends."""
    one, other = local_point(touch, k, 0, S, W), local_point(touch, k, 1, S, W)
    first, last = axis_span(touch, k, one, other)
    rho = touch.point[touch.pair[k, PAIR.first_point], 3]
    for j in range(2):
        along = first if j == 0 else last
        if along > 0:
            p = add(one, scale(sub(other, one), along))
            gap, n = from_solid(touch, k, p, rho, 0)
            p, n = add(S.p, rotate(S.R, p)), rotate(S.R, n)
            x = middle_of(touch, k, p, rho, gap, n)
            count = add_candidate(touch, k, r, dt, margin, m, count, 2 + j, x, gap, n, solids)
    return count


def meet_edges(touch, k, r, dt, margin, m, count, S, W, solids):
    """Add contacts where edges of a box cross edges of the box that is the solid of pair k.

    If two crossing edges separate the boxes, the contact is at their crossing. Otherwise the contacts are where the
    borders of the two facing faces cross.
    """
    corner = local_point(touch, k, 0, S, W)
    x, y, z = (sub(local_point(touch, k, 4, S, W), corner), sub(local_point(touch, k, 2, S, W), corner),
               sub(local_point(touch, k, 1, S, W), corner))  # fmt: skip
    c, a, b = boxes(corner, x, y, z, vector_of(touch.size, k))
    most, normal = facing_normal(c, a, b)
    gap, p, n = crossing_edges(c, a, b, most)
    if gap < FAR:
        count = offer_local(touch, k, r, dt, margin, m, count, 8, p, gap, n, S, solids)
    else:
        for number in range(CROSSINGS):
            gap, p = crossing_in_faces(c, a, b, normal, number)
            if gap < FAR:
                count = offer_local(touch, k, r, dt, margin, m, count, 9 + number, p, gap, normal, S, solids)
    return count


def offer_local(touch, k, r, dt, margin, m, count, j, p, gap, n, S, solids):
    """Add a point without radius, given in the axes of the solid with pose S, as `add_candidate` does."""
    n = rotate(S.R, n)
    x = middle_of(touch, k, add(S.p, rotate(S.R, p)), gap * 0, gap, n)
    return add_candidate(touch, k, r, dt, margin, m, count, j, x, gap, n, solids)


def meet_no_more(touch, k, r, dt, margin, m, count, S, W, reach, solids):
    """Return `count`; variant of `meet_between` for planes, which touch points only."""
    return count


def meet_axis_or_edges(touch, k, r, dt, margin, m, count, S, W, reach, solids):
    """Add contacts of pair k, of capsules and boxes, between its points; return the number of points in m."""
    if touch.pair[k, PAIR.between] == AXIS:
        count = meet_axis(touch, k, r, dt, margin, m, count, S, W, solids)
    if touch.pair[k, PAIR.between] == CROSSING:
        count = meet_edges(touch, k, r, dt, margin, m, count, S, W, solids)
    return count


def meet_between(touch, k, r, dt, margin, m, count, S, W, reach, solids):
    """Add contacts of pair k between its points; return the number of points in m."""
    count = meet_axis_or_edges(touch, k, r, dt, margin, m, count, S, W, reach, solids)
    if touch.pair[k, PAIR.between] == FEATURES:
        query = Query(touch, k, r, dt, margin, m, S, W, reach, solids)
        points = RIM if touch.pair[k, PAIR.cylinder] == 1 else touch.pair[k, PAIR.points]
        count = meet_box_features(query, count, points)
    return count


class Solids(NamedTuple):
    """Functions for the solids of a world.

    near: lists the pairs that may touch. distance, face: of a solid. between: contacts between points; internal_edge;
    terrain; distinct: drops contacts that are found twice. tables: returns the contact tables; row: of a pair in them,
    negative if there is no such pair. Steps compile without code for solids that their world does not have, which is
    most of the source.
    """

    near: Any
    distance: Any
    face: Any
    between: Any
    internal_edge: Any
    terrain: Any
    distinct: Any
    tables: Any = touch_tables
    row: Any = ready_row


PLANES = Solids(list_all, from_plane, no_face, meet_no_more, no_internal_edge, no_terrain, all_distinct)
SOLIDS = Solids(list_near, from_solid, box_on_which, meet_between, on_internal_edge, meet_height_field, drop_coincident)
PRIMITIVES = SOLIDS._replace(
    between=meet_axis_or_edges, internal_edge=no_internal_edge, terrain=no_terrain
)  # spheres, capsules and boxes, on planes or one static box
MESHES = SOLIDS._replace(terrain=meet_terrain, internal_edge=on_internal_edge_of_meshes)
VARIANTS = {"planes": PLANES, "primitives": PRIMITIVES, "solids": SOLIDS, "meshes": MESHES}
GATHERED = "gathered_"  # before the name of a variant: for worlds with `gathered_pairs`
VARIANTS |= {
    GATHERED + name: VARIANTS[name]._replace(tables=gathered_tables, row=gathered_row)
    for name in ("primitives", "solids", "meshes")
}


def meet(touch, k, r, dt, margin, m, solids):
    """Find the contact candidates of pair k within the margin or its motion in the step; return their number."""
    W = transform_at(r.W, touch.pair[k, PAIR.body])
    S = solid_in_world(touch, k, transform_at(r.W, touch.pair[k, PAIR.solid_body]))
    count = 0
    if groups_of(touch.pair[k, PAIR.solid]) > 1:
        count = solids.terrain(touch, k, r, dt, margin, m, S, W, solids)
    else:
        reach = broad_phase(touch, k, r, S, dt, margin, solids)
        if reach > 0:
            face, gap = solids.face(touch, k, S, W)
            if gap < reach:
                count = narrow_phase(touch, k, r, dt, margin, m, S, W, reach, face, solids)
                count = solids.between(touch, k, r, dt, margin, m, count, S, W, reach, solids)
    return count


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


def keep_four(touch, k, r, dt, m, first, end, n):
    """Store the candidates of pair k from `first` on, before `end`, four at most (`support`), from contact n on.

    Returns the number of contacts.
    """
    if end - first <= PER_PAIR:
        for j in range(first, end):
            n = keep(touch, k, m, j, n)
    else:
        for j in range(first, end):
            m.active[j], m.carried[j] = 1.0, 0.0
            if m.before.size > 0:
                entries = end_of_entries(touch, m.before, 0, m.place[j], 0)
                m.carried[j] = stored_number(touch, m.before, entries, m.place[j], 2)
        price = gap_price(touch, k, r, ball_of(touch, k, transform_at(r.W, touch.pair[k, PAIR.body])), dt)
        choice = Choice(m.distance, m.where, m.outward, m.carried, m.active)
        choose(choice, first, end, price, touch.surface[k, SURFACE.stiffness] == 0)
        for j in range(first, end):  # not in the order of choice, which differs between SIMD lanes
            if m.active[j] > 1:
                n = keep(touch, k, m, j, n)
    return n


def exchange(m, a, b):
    """Exchange candidates a and b."""
    place, gap, x, n = m.place[a], m.distance[a], vector_of(m.where, a), vector_of(m.outward, a)
    m.place[a], m.distance[a] = m.place[b], m.distance[b]
    put_row(m.where, a, vector_of(m.where, b))
    put_row(m.outward, a, vector_of(m.outward, b))
    m.place[b], m.distance[b] = place, gap
    put_row(m.where, b, x)
    put_row(m.outward, b, n)


def put_alike_first(m, first, count):
    """Move the deepest candidate from `first` on, and those of similar normals, to the front; return their end."""
    deepest = first
    for j in range(first, count):
        if m.distance[j] < m.distance[deepest]:
            deepest = j
    n, end = vector_of(m.outward, deepest), first
    for j in range(first, count):
        if dot(n, vector_of(m.outward, j)) > ALIKE:
            exchange(m, end, j)
            end += 1
    return end


def find_contacts(touch, r, dt, margin, found, m, solids=SOLIDS):
    """Find the contacts of all pairs, and add external ones; return their number, which may exceed the capacity.

    There are at most four of a pair, and on a height field or mesh four of each group of similar normals. found:
    external contacts. r.W, r.V: poses and velocities of the bodies.
    """
    n, count = 0, solids.near(touch, r, dt, margin, m.near)
    for j in range(count):
        k = solids.row(touch, listed(m.near, j, count), n)
        if k >= 0:
            n = find_contacts_of_pair(touch, k, r, dt, margin, m, n, solids)
    return keep_found(touch, found, m, n)


def find_contacts_of_pair(touch, k, r, dt, margin, m, n, solids):
    """Find the contacts of pair k, from contact n on; return the number of all contacts so far."""
    count, groups = meet(touch, k, r, dt, margin, m, solids), groups_of(touch.pair[k, PAIR.solid])
    if groups > 1 and count > PER_PAIR:
        first = 0
        for _ in range(groups):
            if first < count:
                end = put_alike_first(m, first, count)
                n = keep_four(touch, k, r, dt, m, first, end, n)
                first = end
    else:
        n = keep_four(touch, k, r, dt, m, 0, count, n)
    return n
