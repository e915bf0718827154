"""Contacts of a shape with a static triangle mesh: its points with faces, its surface with convex edges and vertices.

Only triangles, edges and vertices in the cells of a grid over x and y near the shape are considered. Edges between
triangles of one plane, and concave ones, have no contacts of their own. A border edge of an open mesh is the edge of a
solid whose side is perpendicular to the triangle. Points behind the surface touch the triangle nearest to them.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, sqrt
from .candidates import ball_of, reach_of, world_point
from .height_field import (
    BEHIND,
    FEATURES,
    ON_BORDER,
    cell_of,
    meet_height_field,
    past_side,
    shape_point,
    window_about,
)
from .layout import PAIR
from .signed_distance import FAR, is_mesh
from .static_features import Query, corner_gap, leans_out, meet_edge, offer, offer_new
from .tables import RIM

# Table of a mesh, built by `treesim.contact.mesh_tables`: HEADER offsets of its parts, which follow. For each kind of
# item there are three parts: starts of the cells' lists, the lists, and the records of the items.
TRIANGLES, EDGES, VERTICES = 0, 3, 6
# of cells: least and largest z of all triangles, and of those that do not face up; z above which points are above the
# surface, if its triangles face up, infinite where it has a border
# of vertices: directions into the solid
HEIGHTS, DIRECTIONS = 9, 10
HEADER = 11
HEIGHTS_SIZE = 5
# Records begin with the first cell of the item (i, j). Then follow:
# triangle: corners, normal, neighbours across its sides from corner 0 to 1, 1 to 2, 2 to 0
# edge: ends, directions from the first one into its two faces; vertex: position, first direction, number of directions
TRIANGLE_SIZE, EDGE_SIZE, VERTEX_SIZE = 17, 14, 7
CONCAVE, BORDER = -1, -2  # instead of a neighbour


class Face(NamedTuple):
    """A triangle: its corners, counterclockwise around its normal, and its neighbours or CONCAVE or BORDER."""

    one: Any
    two: Any
    three: Any
    normal: Any
    neighbour_one: Any
    neighbour_two: Any
    neighbour_three: Any


def real_at(touch, k, place):
    """Return a number of the mesh's table."""
    return touch.height[touch.pair[k, PAIR.start] + place]


def integer_at(touch, k, place):
    """Return an integer of the mesh's table."""
    return int(touch.height[touch.pair[k, PAIR.start] + place])


def vector_at(touch, k, place):
    """Return three numbers of the mesh's table as a vector."""
    return Vector(real_at(touch, k, place), real_at(touch, k, place + 1), real_at(touch, k, place + 2))


def list_start(touch, k, kind, i, j):
    """Return the start of a cell's list of items of one kind."""
    return integer_at(touch, k, integer_at(touch, k, kind) + i * (touch.pair[k, PAIR.ny] - 1) + j)


def list_end(touch, k, kind, i, j):
    """Return the end of a cell's list of items of one kind."""
    return integer_at(touch, k, integer_at(touch, k, kind) + i * (touch.pair[k, PAIR.ny] - 1) + j + 1)


def record_at(touch, k, kind, number, size):
    """Return the place of the record of entry `number` of the lists of a kind."""
    item = integer_at(touch, k, integer_at(touch, k, kind + 1) + number)
    return integer_at(touch, k, kind + 2) + size * item


def is_first(touch, k, record, window, i, j):
    """Return whether (i, j) is the first cell of a window with an item, which may be in the lists of several cells."""
    first_i, first_j = integer_at(touch, k, record), integer_at(touch, k, record + 1)
    if first_i < window.i:
        first_i = window.i
    if first_j < window.j:
        first_j = window.j
    return first_i == i and first_j == j


def heights_of(touch, k, i, j):
    """Return the place of the heights of a cell."""
    return integer_at(touch, k, HEIGHTS) + HEIGHTS_SIZE * (i * (touch.pair[k, PAIR.ny] - 1) + j)


def is_near(touch, k, i, j, z, radius):
    """Return whether the surface in a cell has points within a distance along z from z."""
    place = heights_of(touch, k, i, j)
    return z - radius < real_at(touch, k, place + 1) and z + radius > real_at(touch, k, place)


def face_at(touch, k, record):
    """Return the triangle of a record."""
    return Face(
        vector_at(touch, k, record + 2), vector_at(touch, k, record + 5), vector_at(touch, k, record + 8),
        vector_at(touch, k, record + 11), integer_at(touch, k, record + 14), integer_at(touch, k, record + 15),
        integer_at(touch, k, record + 16),
    )  # fmt: skip


def room_past(neighbour, depth):
    """Return how far past a side of a triangle a point may be that is `depth` behind it.

    Behind a concave edge there are points that are above neither of its triangles.
    """
    room = depth * 0 + ON_BORDER
    if neighbour == CONCAVE:
        room += maximum(depth, 0)
    return room


def is_over(face, p, height):
    """Return whether p is over a triangle, or, behind it, past its concave sides; height: over its plane."""
    n, one, two, three = face.normal, face.one, face.two, face.three
    over = past_side(n, one, two, p) <= room_past(face.neighbour_one, -height)
    over = over and past_side(n, two, three, p) <= room_past(face.neighbour_two, -height)
    return over and past_side(n, three, one, p) <= room_past(face.neighbour_three, -height)


def height_past(touch, k, neighbour, n, one, two, p):
    """Return the height of p over a triangle's neighbour across the side from `one` to `two`, if it is not concave.

    -FAR if p is not over the neighbour, which then does not touch it. Across a border edge the surface is perpendicular
    to the triangle, whose normal is n.
    """
    found = p.x * 0 - FAR
    if neighbour == BORDER:
        found = past_side(n, one, two, p)
    if neighbour >= 0:
        face = face_at(touch, k, integer_at(touch, k, TRIANGLES + 2) + TRIANGLE_SIZE * neighbour)
        height = dot(face.normal, sub(p, face.one))
        if is_over(face, p, height):
            found = height
    return found


def is_nearest(touch, k, face, p, height):
    """Return whether a triangle is nearer to a point p behind it than its neighbours; height: over its plane."""
    n, one, two, three = face.normal, face.one, face.two, face.three
    most = height_past(touch, k, face.neighbour_one, n, one, two, p)
    most = maximum(most, height_past(touch, k, face.neighbour_two, n, two, three, p))
    most = maximum(most, height_past(touch, k, face.neighbour_three, n, three, one, p))
    return most <= height + ON_BORDER


def meet_face(query, count, point, record):
    """Add the contact of a point of the shape with a triangle.

    Returns the number of candidates, and the distance from the triangle's plane if the point is far behind the
    triangle, else -FAR.
    """
    touch, k, S = query.touch, query.k, query.S
    n, one = vector_at(touch, k, record + 11), vector_at(touch, k, record + 2)
    world, rho = shape_point(query, point, n)
    p = rotate_back(S.R, sub(world, S.p))
    height, behind = dot(n, sub(p, one)), rho * 0 - FAR
    if height > -touch.ball[k, 3] and height - rho < query.reach:
        face = face_at(touch, k, record)
        if is_over(face, p, height):
            if height <= -BEHIND:
                behind = height
            elif height >= 0 or is_nearest(touch, k, face, p, height):
                up = rotate(S.R, n)
                count = offer_new(query, count, point, sub(world, scale(up, rho)), height - rho, up)
    return count, behind


def segment_distance(p, one, other):
    """Return the distance of p from a segment."""
    d, w = sub(other, one), sub(p, one)
    w = sub(w, scale(d, minimum(maximum(dot(w, d) / maximum(dot(d, d), 1e-300), 0), 1)))
    return sqrt(dot(w, w))


def face_distance(n, one, two, three, p):
    """Return the distance of p from a triangle with normal n."""
    past = maximum(past_side(n, one, two, p), maximum(past_side(n, two, three, p), past_side(n, three, one, p)))
    found = absolute(dot(n, sub(p, one)))
    if past > 0:
        found = segment_distance(p, one, two)
        found = minimum(found, segment_distance(p, two, three))
        found = minimum(found, segment_distance(p, three, one))
    return found


def is_beyond(face, p):
    """Return whether p is beyond a border of the mesh, at a side of a triangle."""
    n, one, two, three = face.normal, face.one, face.two, face.three
    found = face.neighbour_one == BORDER and past_side(n, one, two, p) > ON_BORDER
    found = found or (face.neighbour_two == BORDER and past_side(n, two, three, p) > ON_BORDER)
    return found or (face.neighbour_three == BORDER and past_side(n, three, one, p) > ON_BORDER)


def nearest_height(touch, k, p, radius):
    """Return the distance of the triangle nearest to p, and the distance of its plane and its normal.

    It is right if it is below the radius, else there is no triangle within it.

    Triangles at whose borders p is beyond do not count. Among equally near ones, which share an edge or a vertex,
    it is the one whose plane is farthest from p: its sign is that of the surface.
    """
    window, o = window_about(touch, k, p, radius), p.x * 0
    nearest, found, normal = o + FAR, o, Vector(o, o, o + 1)
    for i in range(window.i, window.i_end):
        for j in range(window.j, window.j_end):
            if is_near(touch, k, i, j, p.z, radius):
                for c in range(list_start(touch, k, TRIANGLES, i, j), list_end(touch, k, TRIANGLES, i, j)):
                    record = record_at(touch, k, TRIANGLES, c, TRIANGLE_SIZE)
                    n, one = vector_at(touch, k, record + 11), vector_at(touch, k, record + 2)
                    two, three = vector_at(touch, k, record + 5), vector_at(touch, k, record + 8)
                    distance = face_distance(n, one, two, three, p)
                    height = dot(n, sub(p, one))
                    farther = absolute(height) > absolute(found)
                    nearer = distance < nearest - ON_BORDER or (distance < nearest + ON_BORDER and farther)
                    if nearer and not is_beyond(face_at(touch, k, record), p):
                        nearest, found, normal = minimum(distance, nearest), height, n
    return nearest, found, normal


def meet_behind(query, count, point, up):
    """Add the contact of a point far behind the surface with the nearest triangle; return the number of candidates.

    up: normal of a triangle, which selects the point of a cylinder. A point in front of the nearest triangle is
    outside the mesh, and gets no contact. This occurs near thin walls.
    """
    touch, k, S = query.touch, query.k, query.S
    world, rho = shape_point(query, point, up)
    _, height, n = nearest_height(touch, k, rotate_back(S.R, sub(world, S.p)), touch.ball[k, 3])
    if height <= -BEHIND:
        n = rotate(S.R, n)
        count = offer_new(query, count, point, sub(world, scale(n, rho)), height - rho, n)
    return count


def left_of(one, other, p):
    """Return whether p is on the left of the line from `one` to `other`, seen from above."""
    return (other.x - one.x) * (p.y - one.y) - (other.y - one.y) * (p.x - one.x) >= 0


class Near(NamedTuple):
    """Surface around a shape, as far as points behind it are considered.

    top: largest z. faces_up: whether all of its triangles face up. Then what is over a triangle is outside.
    """

    top: Any
    faces_up: Any


def surface_near(touch, k, p, radius):
    """Return the surface within a distance of p."""
    window, top, up = window_about(touch, k, p, radius), p.x * 0 - FAR, True
    for i in range(window.i, window.i_end):
        for j in range(window.j, window.j_end):
            place = heights_of(touch, k, i, j)
            top = maximum(top, real_at(touch, k, place + 1))
            up = up and (p.z - radius >= real_at(touch, k, place + 3) or p.z + radius <= real_at(touch, k, place + 2))
    return Near(top, up)


def is_above(touch, k, p, radius, near):
    """Return whether p is certainly outside, so that no triangle has to be searched that it is behind.

    radius: distance along z below a triangle at which p is behind it. near: surface around the shape.
    """
    i = cell_of(p.x, touch.size[k, 0], touch.pair[k, PAIR.nx])
    j = cell_of(p.y, touch.size[k, 1], touch.pair[k, PAIR.ny])
    over = real_at(touch, k, heights_of(touch, k, i, j) + 4)
    above = p.z >= near.top or (near.faces_up and p.z >= over)
    clear = near.faces_up or above
    if clear and not above:
        for c in range(list_start(touch, k, TRIANGLES, i, j), list_end(touch, k, TRIANGLES, i, j)):
            record = record_at(touch, k, TRIANGLES, c, TRIANGLE_SIZE)
            n, one = vector_at(touch, k, record + 11), vector_at(touch, k, record + 2)
            height = dot(n, sub(p, one))
            if n.z > 0 and height > -radius:
                two, three = vector_at(touch, k, record + 5), vector_at(touch, k, record + 8)
                if left_of(one, two, p) and left_of(two, three, p) and left_of(three, one, p):
                    clear, above = clear and height >= 0, True
    return clear and above


def meet_surface(query, count, point, p, radius, near):
    """Add contacts of one point of the shape, or of a rim, with the triangles near p; return the number of candidates.

    radius: largest distance from p of points that touch. near: surface around the shape. Behind the surface, points
    within the radius of the shape's bounding ball are considered.
    """
    touch, k = query.touch, query.k
    wide, o = maximum(radius, touch.ball[k, 3]), radius * 0
    if wide > radius and is_above(touch, k, p, wide, near):
        wide = radius
    window = window_about(touch, k, p, wide)
    most, up = o - FAR, Vector(o, o, o + 1)
    for i in range(window.i, window.i_end):
        for j in range(window.j, window.j_end):
            if is_near(touch, k, i, j, p.z, wide):
                for c in range(list_start(touch, k, TRIANGLES, i, j), list_end(touch, k, TRIANGLES, i, j)):
                    record = record_at(touch, k, TRIANGLES, c, TRIANGLE_SIZE)
                    if is_first(touch, k, record, window, i, j):
                        count, behind = meet_face(query, count, point, record)
                        if behind > most:
                            most, up = behind, vector_at(touch, k, record + 11)
    if most > -FAR:
        count = meet_behind(query, count, point, up)
    return count


def meet_shape_points(query, count, ball, near):
    """Add contacts of the shape's points with triangles; return the number of candidates.

    ball: centre of the shape's bounding ball in the mesh's axes. near: surface around it.
    """
    touch, k, S = query.touch, query.k, query.S
    cylinder = touch.pair[k, PAIR.cylinder] == 1
    for point in range(RIM if cylinder else touch.pair[k, PAIR.points]):
        p, radius = ball, touch.ball[k, 3] + query.reach
        if not cylinder:
            p = rotate_back(S.R, sub(world_point(touch, k, point, query.W), S.p))
            radius = touch.point[touch.pair[k, PAIR.first_point] + point, 3] + query.reach
        if p.z - radius < near.top:
            count = meet_surface(query, count, point, p, radius, near)
    return count


def normal_at_vertex(query, record, n):
    """Return whether the shape's outward normal n leans out of all edges and border faces at a vertex."""
    touch, k = query.touch, query.k
    first, found = integer_at(touch, k, record + 5), True
    place = integer_at(touch, k, DIRECTIONS) + 3 * first
    for c in range(integer_at(touch, k, record + 6)):
        found = found and leans_out(query, n, vector_at(touch, k, place + 3 * c))
    return found


def meet_vertices(query, count, i, j):
    """Add contacts of a cell's vertices with the shape; return the number of candidates."""
    touch, k = query.touch, query.k
    for c in range(list_start(touch, k, VERTICES, i, j), list_end(touch, k, VERTICES, i, j)):
        record = record_at(touch, k, VERTICES, c, VERTEX_SIZE)
        p = vector_at(touch, k, record + 2)
        gap, n = corner_gap(query, p)
        if gap < query.reach and normal_at_vertex(query, record, n):
            count = offer(query, count, RIM + c % FEATURES, p, gap, n)
    return count


def meet_mesh_edges(query, count, window, i, j):
    """Add contacts of a cell's edges with the shape; return the number of candidates."""
    touch, k = query.touch, query.k
    for c in range(list_start(touch, k, EDGES, i, j), list_end(touch, k, EDGES, i, j)):
        record = record_at(touch, k, EDGES, c, EDGE_SIZE)
        if is_first(touch, k, record, window, i, j):
            one, other = vector_at(touch, k, record + 2), vector_at(touch, k, record + 5)
            left, right = vector_at(touch, k, record + 8), vector_at(touch, k, record + 11)
            item = integer_at(touch, k, integer_at(touch, k, EDGES + 1) + c)
            count = meet_edge(query, count, RIM + 3 * item % FEATURES, one, other, left, right)
    return count


def meet_mesh(touch, k, r, dt, margin, m, S, W, solids):
    """Find the contact candidates of pair k, whose solid is a static mesh; return their number."""
    world = ball_of(touch, k, W)
    ball, reach = rotate_back(S.R, sub(world, S.p)), reach_of(touch, k, r, world, dt, margin)
    radius, count, some = touch.ball[k, 3] + reach, 0, False
    window = window_about(touch, k, ball, radius)
    for i in range(window.i, window.i_end):
        for j in range(window.j, window.j_end):
            some = some or is_near(touch, k, i, j, ball.z, radius)
    if some:
        query = Query(touch, k, r, dt, margin, m, S, W, reach, solids)
        count = meet_shape_points(query, count, ball, surface_near(touch, k, ball, radius + touch.ball[k, 3]))
        for i in range(window.i, window.i_end):
            for j in range(window.j, window.j_end):
                if is_near(touch, k, i, j, ball.z, radius):
                    count = meet_vertices(query, count, i, j)
                    count = meet_mesh_edges(query, count, window, i, j)
    return count


def meet_terrain(touch, k, r, dt, margin, m, S, W, solids):
    """Find the contact candidates of pair k, whose solid is a height field or a static mesh; return their number."""
    if is_mesh(touch, k):
        count = meet_mesh(touch, k, r, dt, margin, m, S, W, solids)
    else:
        count = meet_height_field(touch, k, r, dt, margin, m, S, W, solids)
    return count
