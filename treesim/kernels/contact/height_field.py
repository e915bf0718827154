"""Contacts of a shape with a height field: its points with triangles, its surface with ridges and peaks.

Only nodes and cells below the shape are looked at. Each cell of the grid is cut along the diagonal from its corner of
least x and y. Beyond the border there is nothing; border edges collide as the edges of a solid with vertical sides.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, cross, dot, rotate, rotate_back, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, sqrt
from .candidates import PLANES, ball_of, put_row, reach_of, rim_along, world_point
from .layout import PAIR
from .signed_distance import FAR, from_grid, vector_of
from .static_features import Query, corner_gap, leans_out, meet_edge, offer, offer_new
from .tables import RIM

BENT = 1e-9  # m: the surface is flat where the second difference of heights is smaller
BEHIND = 1e-4  # m: a point so far below the plane of a triangle may still touch it, besides the one right above
ON_BORDER = 1e-9  # m: distance beyond the border of a triangle that counts as on it
FEATURES = 24  # numbers for contacts of ridges and peaks, which they share


class Window(NamedTuple):
    """Range of cells: from i and j on, less than i_end and j_end."""

    i: Any
    i_end: Any
    j: Any
    j_end: Any


def cell_of(x, spacing, nodes):
    """Return the index of the cell along one axis that contains the coordinate x, or of the nearest cell."""
    return int(minimum(maximum(x / spacing + (nodes - 1) / 2, 0), nodes - 2))


def window_about(touch, k, p, radius):
    """Return the cells within a distance along x and y from a point p; none if p is farther from the grid."""
    nx, ny = touch.pair[k, PAIR.nx], touch.pair[k, PAIR.ny]
    dx, dy = touch.size[k, 0], touch.size[k, 1]
    beyond = maximum(absolute(p.x) - dx * (nx - 1) / 2, absolute(p.y) - dy * (ny - 1) / 2)
    i, i_end = cell_of(p.x - radius, dx, nx), cell_of(p.x + radius, dx, nx) + 1
    if beyond > radius:
        i_end = i
    return Window(i, i_end, cell_of(p.y - radius, dy, ny), cell_of(p.y + radius, dy, ny) + 1)


def height_at(touch, k, i, j):
    """Return the height of a node."""
    return touch.height[touch.pair[k, PAIR.start] + i * touch.pair[k, PAIR.ny] + j]


def node(touch, k, i, j):
    """Return the position of a node in the grid's axes."""
    nx, ny = touch.pair[k, PAIR.nx], touch.pair[k, PAIR.ny]
    return Vector(
        (i - (nx - 1) / 2) * touch.size[k, 0], (j - (ny - 1) / 2) * touch.size[k, 1], height_at(touch, k, i, j)
    )


def highest(touch, k, window):
    """Return the largest height of the nodes of a range of cells."""
    most = touch.size[k, 0] * 0 - FAR
    for i in range(window.i, window.i_end + 1):
        for j in range(window.j, window.j_end + 1):
            most = maximum(most, height_at(touch, k, i, j))
    return most


def is_node(touch, k, i, j):
    """Return whether there is a node of these indices."""
    return i >= 0 and j >= 0 and i < touch.pair[k, PAIR.nx] and j < touch.pair[k, PAIR.ny]


def bend(touch, k, i, j, di, dj):
    """Return the second difference of heights at a node along (di, dj); negative on a ridge, 0 beyond the border."""
    found = touch.size[k, 0] * 0
    if is_node(touch, k, i + di, j + dj) and is_node(touch, k, i - di, j - dj):
        found = height_at(touch, k, i + di, j + dj) + height_at(touch, k, i - di, j - dj)
        found -= 2 * height_at(touch, k, i, j)
    return found


def is_peak(touch, k, i, j):
    """Return whether a node may be nearest to a convex shape: no line through it is bent upward, and one downward.

    True at the border if no line is bent upward.
    """
    one, two, three = bend(touch, k, i, j, 1, 0), bend(touch, k, i, j, 0, 1), bend(touch, k, i, j, 1, 1)
    border = not (is_node(touch, k, i - 1, j - 1) and is_node(touch, k, i + 1, j + 1))
    return maximum(one, maximum(two, three)) <= BENT and (border or minimum(one, minimum(two, three)) < -BENT)


def normal_on_peak(query, i, j, n):
    """Return whether the shape's outward normal n leans out of all edges at a node."""
    touch, k = query.touch, query.k
    p = node(touch, k, i, j)
    found = leans_out(query, n, Vector(p.x * 0, p.x * 0, p.x * 0 - 1))
    for di in range(-1, 2):
        for dj in range(-1, 2):
            if found and di * dj >= 0 and di * di + dj * dj > 0 and is_node(touch, k, i + di, j + dj):
                found = leans_out(query, n, sub(node(touch, k, i + di, j + dj), p))
    return found


def meet_peaks(query, count, place, window, low):
    """Add contacts of the nodes of a range of cells; return the number of candidates. low: see `meet_shape_points`."""
    touch, k = query.touch, query.k
    for i in range(window.i, window.i_end + 1):
        for j in range(window.j, window.j_end + 1):
            if height_at(touch, k, i, j) > low - ON_BORDER and is_peak(touch, k, i, j):
                p = node(touch, k, i, j)
                gap, n = corner_gap(query, p)
                if gap < query.reach and normal_on_peak(query, i, j, n):
                    count = offer(query, count, place + (5 * i + 3 * j) % FEATURES, p, gap, n)
    return count


def meet_ridge(query, count, place, i, j, di, dj, low):
    """Add contacts of the edge from node (i, j) along (di, dj), (1, 0), (0, 1) or (1, 1), if the surface is convex.

    low: see `meet_shape_points`. Its faces have the third nodes (i + 1, j + 1) and (i, j) less the edge's normal, or
    the other nodes of the cell.
    """
    touch, k, high = query.touch, query.k, low - FAR
    if is_node(touch, k, i + di, j + dj):
        high = maximum(height_at(touch, k, i, j), height_at(touch, k, i + di, j + dj))
    if high > low - ON_BORDER:
        i_left, j_left, i_right, j_right = i + 1, j + 1, i - dj, j - di
        if di == dj:
            i_left, j_left, i_right, j_right = i, j + 1, i + 1, j
        one = node(touch, k, i, j)
        down = Vector(one.x * 0, one.x * 0, one.x * 0 - 1)
        left, right = down, down
        both = height_at(touch, k, i, j) + height_at(touch, k, i + di, j + dj)
        inside = is_node(touch, k, i_left, j_left) and is_node(touch, k, i_right, j_right)
        if is_node(touch, k, i_left, j_left):
            left = sub(node(touch, k, i_left, j_left), one)
        if is_node(touch, k, i_right, j_right):
            right = sub(node(touch, k, i_right, j_right), one)
        if not inside or both > 2 * one.z + left.z + right.z + BENT:
            other = node(touch, k, i + di, j + dj)
            count = meet_edge(query, count, place + (5 * i + 3 * j + di) % FEATURES, one, other, left, right)
    return count


def meet_ridges(query, count, place, window, low):
    """Add contacts of the edges of a range of cells; return the number of candidates. low: see `meet_shape_points`."""
    for i in range(window.i, window.i_end + 1):
        for j in range(window.j, window.j_end + 1):
            count = meet_ridge(query, count, place, i, j, 1, 0, low)
            count = meet_ridge(query, count, place, i, j, 0, 1, low)
            count = meet_ridge(query, count, place, i, j, 1, 1, low)
    return count


def triangle_normal(a, b, c):
    """Return the unit normal of a triangle; a, b, c: its corners, counterclockwise around the normal."""
    n = cross(sub(b, a), sub(c, a))
    return scale(n, 1 / sqrt(dot(n, n)))


def past_side(n, a, b, p):
    """Return how far p is past the side from a to b of a triangle with normal n; negative inside."""
    d = sub(b, a)
    return -dot(cross(n, d), sub(p, a)) / sqrt(dot(d, d))


def triangle(touch, k, i, j, half):
    """Return the corners of one half of a cell, counterclockwise; half 0 has node (i + 1, j), half 1 (i, j + 1)."""
    one, two, three = node(touch, k, i, j), node(touch, k, i + 1, j + 1), node(touch, k, i + 1 - half, j + half)
    if half == 0:
        two, three = three, two
    return one, two, three


def height_past_edge(touch, k, i, j, half, corner, n, p):
    """Return the distance of p from the plane of a neighbour of a triangle, whose edge to it is convex; else -FAR.

    i, j, half: the neighbour. corner, n: a corner of the triangle, and its normal.
    """
    found = p.x * 0 - FAR
    if is_node(touch, k, i, j) and is_node(touch, k, i + 1, j + 1):
        one, two, three = triangle(touch, k, i, j, half)
        if dot(n, sub(one, corner)) + dot(n, sub(two, corner)) + dot(n, sub(three, corner)) < -BENT:
            found = dot(triangle_normal(one, two, three), sub(p, one))
    return found


def is_nearest(touch, k, i, j, half, corner, n, p, height):
    """Return whether a triangle is nearer to a point p inside than its neighbours across convex edges.

    corner, n: a corner of the triangle and its normal. height: distance of p from its plane.
    """
    step, other = 2 * half - 1, 1 - half
    most = height_past_edge(touch, k, i, j, other, corner, n, p)
    most = maximum(most, height_past_edge(touch, k, i, j + step, other, corner, n, p))
    most = maximum(most, height_past_edge(touch, k, i - step, j, other, corner, n, p))
    return most <= height + ON_BORDER


def meet_triangle(query, count, point, i, j, half):
    """Add the contact of a point of the shape with one half of a cell; return the number of candidates."""
    touch, k, S = query.touch, query.k, query.S
    one, two, three = triangle(touch, k, i, j, half)
    n = triangle_normal(one, two, three)
    world, rho = shape_point(query, point, n)
    p = rotate_back(S.R, sub(world, S.p))
    height = dot(n, sub(p, one))
    if height > -BEHIND and height - rho < query.reach:
        past = maximum(past_side(n, one, two, p), maximum(past_side(n, two, three, p), past_side(n, three, one, p)))
        if past <= ON_BORDER + maximum(-height, 0) and (
            height >= 0 or is_nearest(touch, k, i, j, half, one, n, p, height)
        ):
            up = rotate(S.R, n)
            count = offer_new(query, count, point, sub(world, scale(up, rho)), height - rho, up)
    return count


def shape_point(query, point, n):
    """Return a point of the shape in the world and its radius; on a cylinder's rim, the lowest along the normal n."""
    touch, k = query.touch, query.k
    if touch.pair[k, PAIR.cylinder] == 1:
        p, rho = rim_along(touch, k, point, rotate(query.S.R, n), query.W), n.x * 0
    else:
        p, rho = world_point(touch, k, point, query.W), touch.point[touch.pair[k, PAIR.first_point] + point, 3]
    return p, rho


def meet_below(query, count, point):
    """Add the contact of a point that is deep inside with the triangle above it; return the number of candidates."""
    touch, k, S = query.touch, query.k, query.S
    up = Vector(query.reach * 0, query.reach * 0, query.reach * 0 + 1)
    world, rho = shape_point(query, point, up)
    height, n = from_grid(touch, k, rotate_back(S.R, sub(world, S.p)))
    if height <= -BEHIND:
        n = rotate(S.R, n)
        count = offer_new(query, count, point, sub(world, scale(n, rho)), height - rho, n)
    return count


def put_planes(query, window):
    """Write normal and offset of the triangles of a range of cells, in the axes of the shape's body; return how many.

    0 if there are more than PLANES.
    """
    touch, k, S, W, planes, n = query.touch, query.k, query.S, query.W, query.m.plane, 0
    if (window.i_end - window.i) * (window.j_end - window.j) * 2 <= PLANES:
        o = rotate_back(S.R, sub(W.p, S.p))
        for i in range(window.i, window.i_end):
            for j in range(window.j, window.j_end):
                for half in range(2):
                    one, two, three = triangle(touch, k, i, j, half)
                    normal = triangle_normal(one, two, three)
                    put_row(planes, n, rotate_back(W.R, rotate(S.R, normal)))
                    planes[n, 3] = dot(normal, sub(o, one))
                    n += 1
    return n


def least_height(planes, n, v):
    """Return the least height of a point v over n planes; -FAR without planes."""
    found = v.x * 0 - FAR
    if n > 0:
        found = -found
    for j in range(n):
        found = minimum(found, dot(vector_of(planes, j), v) + planes[j, 3])
    return found


def meet_shape_points(query, count, ball, window):
    """Add contacts of the shape's points with the triangles near them.

    Returns the number of candidates, and a lower bound of the shape's height less the query's reach. ball: centre of
    the shape's bounding ball in the grid's axes. window: cells near the shape.
    """
    touch, k, S, W = query.touch, query.k, query.S, query.W
    if touch.pair[k, PAIR.cylinder] == 1:
        low = ball.z - touch.ball[k, 3] - query.reach
        for point in range(RIM):
            count = meet_shape_point(query, count, point, ball, touch.ball[k, 3] + query.reach, -FAR)
    else:
        low, first, planes = query.reach * 0 + FAR, touch.pair[k, PAIR.first_point], 0
        if touch.pair[k, PAIR.points] > PLANES:
            planes = put_planes(query, window)
        o = rotate_back(S.R, sub(W.p, S.p)).z
        up = rotate_back(W.R, rotate(S.R, Vector(o * 0, o * 0, o * 0 + 1)))
        for point in range(touch.pair[k, PAIR.points]):
            v, radius = vector_of(touch.point, first + point), touch.point[first + point, 3] + query.reach
            low = minimum(low, o + dot(up, v) - radius)
            least = least_height(query.m.plane, planes, v)
            if least < radius + ON_BORDER:
                p = rotate_back(S.R, sub(world_point(touch, k, point, W), S.p))
                count = meet_shape_point(query, count, point, p, radius, least)
    return count, low


def meet_shape_point(query, count, point, p, radius, least):
    """Add contacts of one point of the shape, or of a rim, with the triangles within `radius` of p.

    least: lower bound of its height over the planes of all triangles near the shape.
    """
    window = window_about(query.touch, query.k, p, radius)
    if p.z - radius < highest(query.touch, query.k, window):
        for i in range(window.i, window.i_end):
            for j in range(window.j, window.j_end):
                count = meet_triangle(query, count, point, i, j, 0)
                count = meet_triangle(query, count, point, i, j, 1)
        if least < ON_BORDER - BEHIND:
            count = meet_below(query, count, point)
    return count


def meet_height_field(touch, k, r, dt, margin, m, S, W, solids):
    """Find the contact candidates of pair k, whose solid is a height field; return their number."""
    world = ball_of(touch, k, W)
    ball, reach = rotate_back(S.R, sub(world, S.p)), reach_of(touch, k, r, world, dt, margin)
    count, low = 0, ball.z - touch.ball[k, 3] - reach
    if low < touch.size[k, 2]:
        window = window_about(touch, k, ball, touch.ball[k, 3] + reach)
        top = highest(touch, k, window)
        if window.i < window.i_end and low < top:
            query = Query(touch, k, r, dt, margin, m, S, W, reach, solids)
            count, low = meet_shape_points(query, count, ball, window)
            if low < top + ON_BORDER:
                count = meet_peaks(query, count, RIM, window, low)
                count = meet_ridges(query, count, RIM, window, low)
    return count


def no_terrain(touch, k, r, dt, margin, m, S, W, solids):
    """Return 0; variant of `meet_height_field` for planes."""
    return 0
