"""Where shapes touch: points of one body, of a radius, against a solid of another or of the world.

A sphere is one point with its radius, a capsule two, a box its vertices, a hull its extreme vertices; of a cylinder the
lowest points of both rims are found anew. Solids tell of a point its signed distance and the outward normal there.
Every point has a place of its own (its slot), by which a contact is known from step to step while it slides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .linear import Vector, add, cross, dot, rotate, rotate_back, scale, sub
from .numbers import absolute, maximum, minimum, sqrt
from .rotations import compose
from .tables import motion_at, transform_at

PLANE, SPHERE, CAPSULE, BOX, GRID = range(5)  # solids
NUMBERS = 8  # of counts in front of the table of integers
COLUMNS = 10  # integers of a pair
REALS = 24  # reals of a pair
RIM = 8  # slots of a cylinder: four points on each rim
PER_PAIR = 4  # contacts of a pair at most: more do not change what two rigid bodies can do
EDGE = 1e-6  # m: a vertex so far beside a face still stands on it
UPRIGHT = 1e-6  # a cylinder's axis so near the normal has no lowest point
FAR = 1e30
ROUND = 1e-9  # m: what has a radius is round, and meets edges and corners of a box too


class Touch(NamedTuple):
    """The constant tables of all that may touch: see `treesim.contact.tables`, which fills them."""

    capacity: Any  # contacts at most
    slots: Any
    most: Any  # points of a pair at most
    limits: Any  # numbers of joint limits, and of joints with friction
    frictions: Any
    speeds: Any  # and of limits of speeds
    pair: Any  # (P, COLUMNS) bodies a and b, solid, first point, points, first slot, cylinder?, grid: nx, ny, start
    solid: Any  # (P, 12) placement of the solid on body b
    size: Any  # (P, 4) of the solid: half lengths; radius, half length; spacings of a grid
    law: Any  # (P, 4) friction, restitution, stiffness (0: rigid) [N/m], dissipation time [s]
    ball: Any  # (P, 4) centre on body a and radius of a sphere around the shape
    point: Any  # (n, 4) points on body a, and their radius
    limit: Any  # (limits, 3) degree of freedom, coordinate, 1 for a lower and -1 for an upper limit
    friction: Any  # (frictions,) degrees of freedom
    speed: Any  # (speeds, 2) degree of freedom, 1 for the highest and -1 for the lowest velocity
    bound: Any  # (limits,) where the limits are
    rough: Any  # (frictions,) Coulomb friction
    fastest: Any  # (speeds,) limits of speeds, and the efforts that keep them
    braking: Any
    height: Any  # of the grids
    option: Any  # recovery, slop, speed of restitution, tolerance


OPTIONS = 4


def touch_tables(layout, geometry):
    """The tables from their two flat arrays."""
    P, n, limits, frictions, speeds = layout[0], layout[1], layout[2], layout[3], layout[7]
    ends = NUMBERS + COLUMNS * P
    limit = layout[ends : ends + 3 * limits].reshape((limits, 3))
    friction = layout[ends + 3 * limits : ends + 3 * limits + frictions]
    speed = layout[ends + 3 * limits + frictions :].reshape((speeds, 2))
    a, b = OPTIONS + REALS * P, OPTIONS + REALS * P + 4 * n
    c, pairs = b + limits + frictions, geometry[OPTIONS:a].reshape((P, REALS))
    return Touch(
        layout[4], layout[5], layout[6], limits, frictions, speeds, layout[NUMBERS:ends].reshape((P, COLUMNS)),
        pairs[:, 0:12],
        pairs[:, 12:16], pairs[:, 16:20], pairs[:, 20:24], geometry[a:b].reshape((n, 4)), limit, friction,
        speed, geometry[b : b + limits], geometry[b + limits : c], geometry[c : c + speeds],
        geometry[c + speeds : c + 2 * speeds], geometry[c + 2 * speeds :], geometry[0:OPTIONS],
    )  # fmt: skip


class Contacts(NamedTuple):
    """The contacts of one state, and scratch memory for those of one pair."""

    pair: Any  # (C,)
    slot: Any
    gap: Any
    point: Any  # (C, 3)
    normal: Any
    place: Any  # the same of what one pair finds
    distance: Any
    where: Any
    outward: Any
    chosen: Any  # (PER_PAIR,)


def contacts_memory(touch, q):
    """Scratch memory, of the numbers in q."""
    C, most = touch.capacity, touch.most
    found, near = np.empty((C, 7), q.dtype), np.empty((most, 7), q.dtype)
    kept = np.empty((2, C), np.int64)
    return Contacts(
        kept[0], kept[1], found[:, 0], found[:, 1:4], found[:, 4:7], np.empty(most, np.int64), near[:, 0], near[:, 1:4],
        near[:, 4:7], np.empty(PER_PAIR, np.int64),
    )  # fmt: skip


def vector_of(x, k):
    """Row k of three numbers as a vector."""
    return Vector(x[k, 0], x[k, 1], x[k, 2])


def put_row(x, k, a):
    """Write a vector to row k."""
    x[k, 0], x[k, 1], x[k, 2] = a.x, a.y, a.z


def sign_of(x):
    """1 or -1."""
    found = x * 0 + 1
    if x < 0:
        found = -found
    return found


def from_center(d, radius):
    """Distance and normal of what is at d from the centre of a sphere."""
    length = sqrt(dot(d, d))
    n = Vector(d.x * 0, d.x * 0, d.x * 0 + 1)
    if length > 0:
        n = scale(d, 1 / length)
    return length - radius, n


def box_face(d, p, face):
    """Distance to one face (0 to 5) of a box, d = |p| - half lengths, and its normal."""
    o = p.x * 0
    side = o + 1
    if face >= 3:
        side = -side
    gap, n = side * p.x - (absolute(p.x) - d.x), Vector(side, o, o)
    if face % 3 == 1:
        gap, n = side * p.y - (absolute(p.y) - d.y), Vector(o, side, o)
    if face % 3 == 2:
        gap, n = side * p.z - (absolute(p.z) - d.z), Vector(o, o, side)
    return gap, n


def box_excess(p, size, k):
    """|p| less the half lengths of the box of pair k."""
    return Vector(absolute(p.x) - size[k, 0], absolute(p.y) - size[k, 1], absolute(p.z) - size[k, 2])


def from_box(d, p):
    """Distance and normal of a sphere's centre p from a box: from the nearest point of its surface."""
    out = Vector(maximum(d.x, 0), maximum(d.y, 0), maximum(d.z, 0))
    gap, n = from_center(Vector(sign_of(p.x) * out.x, sign_of(p.y) * out.y, sign_of(p.z) * out.z), 0)
    if gap <= 0:
        gap, n = d.x, Vector(sign_of(p.x), p.x * 0, p.x * 0)
        if d.y > gap:
            gap, n = d.y, Vector(p.x * 0, sign_of(p.y), p.x * 0)
        if d.z > gap:
            gap, n = d.z, Vector(p.x * 0, p.x * 0, sign_of(p.z))
    return gap, n


def beside_face(d, face):
    """How far p is beside a face of a box."""
    found = maximum(d.y, d.z)
    if face % 3 == 1:
        found = maximum(d.x, d.z)
    if face % 3 == 2:
        found = maximum(d.x, d.y)
    return found


def from_grid(touch, k, p):
    """Distance and normal of p above the triangle of a grid of heights that is below it; FAR beside the grid.

    The grid's origin is its centre; each cell is cut along the diagonal from its corner of least x and y."""
    nx, ny, start = touch.pair[k, 7], touch.pair[k, 8], touch.pair[k, 9]
    dx, dy = touch.size[k, 0], touch.size[k, 1]
    x, y = p.x / dx + (nx - 1) / 2, p.y / dy + (ny - 1) / 2
    gap, n = p.x * 0 + FAR, Vector(p.x * 0, p.x * 0, p.x * 0 + 1)
    if x >= 0 and y >= 0 and x <= nx - 1 and y <= ny - 1:
        i, j = 0, 0
        while i < nx - 2 and i + 1 <= x:
            i += 1
        while j < ny - 2 and j + 1 <= y:
            j += 1
        at = start + i * ny + j
        u, w = x - i, y - j
        low, high = touch.height[at], touch.height[at + ny + 1]
        if u >= w:
            east, north = touch.height[at + ny] - low, high - touch.height[at + ny]
        else:
            east, north = high - touch.height[at + 1], touch.height[at + 1] - low
        sx, sy = east / dx, north / dy
        up = 1 / sqrt(1 + sx * sx + sy * sy)
        gap, n = (p.z - (low + u * east + w * north)) * up, Vector(-sx * up, -sy * up, up)
    return gap, n


def from_smooth(touch, k, p):
    """Distance and normal of the point p from the plane, sphere or capsule of pair k."""
    solid, size = touch.pair[k, 2], touch.size
    gap, n = p.z, Vector(p.x * 0, p.x * 0, p.x * 0 + 1)
    if solid == SPHERE:
        gap, n = from_center(p, size[k, 0])
    if solid == CAPSULE:
        along = minimum(maximum(p.z, -size[k, 1]), size[k, 1])
        gap, n = from_center(Vector(p.x, p.y, p.z - along), size[k, 0])
    return gap, n


def from_solid(touch, k, p, radius, face):
    """Distance and normal, in the solid's axes, of the point p of a radius from the solid of pair k; face: of a box,
    on which vertices are."""
    solid, size = touch.pair[k, 2], touch.size
    gap, n = from_smooth(touch, k, p)
    if solid == BOX:
        d = box_excess(p, size, k)
        if radius > 0:
            gap, n = from_box(d, p)
        else:
            gap, n = box_face(d, p, face)
            if beside_face(d, face) > EDGE:
                gap = gap * 0 + FAR
    if solid == GRID:
        gap, n = from_grid(touch, k, p)
    return gap - radius, n


def box_on_which(touch, k, S, W):
    """The face of pair k's box from which the points of the other shape, as a whole, are farthest."""
    best, farthest = 0, -FAR
    for face in range(6):
        least = S.p.x * 0 + FAR
        for j in range(touch.pair[k, 4]):
            p = local_point(touch, k, j, S, W)
            gap, _ = box_face(box_excess(p, touch.size, k), p, face)
            least = minimum(least, gap)
        if least > farthest:
            best, farthest = face, least
    return best


def world_point(touch, k, j, W):
    """Point j of pair k in the world; W: the placement of its body."""
    return add(W.p, rotate(W.R, vector_of(touch.point, touch.pair[k, 3] + j)))


def local_point(touch, k, j, S, W):
    """Point j of pair k in the axes of the solid that is placed at S."""
    return rotate_back(S.R, sub(world_point(touch, k, j, W), S.p))


def across(a):
    """A unit vector across the unit vector a, the same for the same a."""
    o = a.x * 0
    other = Vector(o + 1, o, o)
    if absolute(a.x) > 0.9:
        other = Vector(o, o + 1, o)
    t = sub(other, scale(a, dot(a, other)))
    return scale(t, 1 / sqrt(dot(t, t)))


def rim_point(touch, k, j, S, W):
    """Point j of a cylinder in the world: j % 4 quarter turns from the lowest one on its rim j // 4, as seen along the
    normal of the solid's axes (a plane's, or upward on a grid)."""
    first, n = touch.pair[k, 3], rotate(S.R, Vector(S.p.x * 0, S.p.x * 0, S.p.x * 0 + 1))
    one, other = world_point(touch, k, 0, W), world_point(touch, k, 1, W)
    a = sub(other, one)
    a = scale(a, 1 / sqrt(dot(a, a)))
    down = sub(scale(a, dot(n, a)), n)
    size = sqrt(dot(down, down))
    down = scale(down, 1 / size) if size > UPRIGHT else rotate(W.R, across(rotate_back(W.R, a)))
    side = cross(a, down)
    center = other if j >= 4 else one
    turn = down
    if j % 4 == 1:
        turn = side
    if j % 4 == 2:
        turn = scale(down, -1)
    if j % 4 == 3:
        turn = scale(side, -1)
    return add(center, scale(turn, touch.point[first, 3]))


def speed_within(V, W, center, radius):
    """No point within a sphere around `center` of the world is faster than this, on a body placed at W."""
    c = rotate_back(W.R, sub(center, W.p))
    u = add(V.lin, cross(V.ang, c))
    return sqrt(dot(u, u)) + radius * sqrt(dot(V.ang, V.ang))


def velocity_along(V, W, point, n):
    """The velocity along n of a point of the world that moves with a body placed at W."""
    u = add(V.lin, cross(V.ang, rotate_back(W.R, sub(point, W.p))))
    return dot(rotate(W.R, u), n)


def solid_in_world(touch, k, B):
    """The placement of pair k's solid; B: that of its body, which is the world's for most."""
    S = transform_at(touch.solid, k)
    return S if touch.pair[k, 1] == 0 else compose(B, S)


def ball_of(touch, k, W):
    """The centre, in the world, of the ball around the shape of pair k on a body placed at W."""
    return add(W.p, rotate(W.R, vector_of(touch.ball, k)))


def reach_of(touch, k, r, ball, dt, margin):
    """The margin, and how far the two of pair k move in the step at most, around the centre of the ball."""
    a, b, radius = touch.pair[k, 0], touch.pair[k, 1], touch.ball[k, 3]
    reach = margin + dt * speed_within(motion_at(r.V, a), transform_at(r.W, a), ball, radius)
    if b > 0:
        reach += dt * speed_within(motion_at(r.V, b), transform_at(r.W, b), ball, radius)
    return reach


def near_enough(touch, k, r, S, dt, margin):
    """How far points of pair k may be from the solid to be looked at: the margin, and what the two move in the step; a
    negative number where the ball around the shape is farther away."""
    ball = ball_of(touch, k, transform_at(r.W, touch.pair[k, 0]))
    gap, _ = from_solid(touch, k, rotate_back(S.R, sub(ball, S.p)), maximum(touch.ball[k, 3], ROUND), 0)
    reach = reach_of(touch, k, r, ball, dt, margin)
    return reach if gap < reach or touch.pair[k, 2] == GRID else -reach


def meet(touch, k, r, dt, margin, m):
    """What pair k finds within the margin, or closer than it moves in the step: how many points, in m."""
    a, b, cylinder = touch.pair[k, 0], touch.pair[k, 1], touch.pair[k, 6] == 1
    W, B = transform_at(r.W, a), transform_at(r.W, b)
    S = solid_in_world(touch, k, B)
    reach = near_enough(touch, k, r, S, dt, margin)
    count = 0
    if reach > 0:
        face = box_on_which(touch, k, S, W) if touch.pair[k, 2] == BOX else 0
        for j in range(RIM if cylinder else touch.pair[k, 4]):
            p = rim_point(touch, k, j, S, W) if cylinder else world_point(touch, k, j, W)
            rho = reach * 0 if cylinder else touch.point[touch.pair[k, 3] + j, 3]
            gap, n = from_solid(touch, k, rotate_back(S.R, sub(p, S.p)), rho, face)
            if gap < reach:
                n = rotate(S.R, n)
                x = sub(p, scale(n, rho + gap / 2)) if b > 0 else sub(p, scale(n, rho))
                closing = velocity_along(motion_at(r.V, b), B, x, n) - velocity_along(motion_at(r.V, a), W, x, n)
                if gap < margin + dt * maximum(closing, 0):
                    m.place[count], m.distance[count] = touch.pair[k, 5] + j, gap
                    put_row(m.where, count, x)
                    put_row(m.outward, count, n)
                    count += 1
    return count


def worth(mode, gap, x, n, one, two, three):
    """How deep a point x is (mode 0), how far from a first one, where the normal is n (1), from the line of two (2), or
    from it on the other side than the third (3)."""
    found = -gap
    if mode == 1:
        d = sub(x, one)
        found = dot(d, d)
    if mode >= 2:
        side = cross(n, sub(two, one))
        found = dot(side, sub(x, one))
        if mode == 2:
            found = absolute(found)
        elif dot(side, sub(three, one)) > 0:
            found = -found
    return found


def farthest_of(count, m, mode):
    """The point that is worth most beside those chosen before."""
    best, size = 0, -FAR
    one = m.chosen[0] if mode > 0 else 0
    two = m.chosen[1] if mode > 1 else 0
    three = m.chosen[2] if mode > 2 else 0
    for j in range(count):
        found = worth(
            mode, m.distance[j], vector_of(m.where, j), vector_of(m.outward, one), vector_of(m.where, one),
            vector_of(m.where, two), vector_of(m.where, three),
        )  # fmt: skip
        if found > size:
            best, size = j, found
    return best


def chosen_before(m, count, j):
    """Whether point j is among the first `count` chosen ones."""
    found = False
    for c in range(count):
        if m.chosen[c] == j:
            found = True
    return found


def keep(touch, k, m, j, n):
    """Point j of what pair k has found is contact n, if there is room; returns how many there are."""
    if n < touch.capacity:
        m.pair[n], m.slot[n], m.gap[n] = k, m.place[j], m.distance[j]
        put_row(m.point, n, vector_of(m.where, j))
        put_row(m.normal, n, vector_of(m.outward, j))
    return n + 1


def find_contacts(touch, r, dt, margin, m):
    """The contacts of all pairs, four of a pair at most; returns how many were found, which may be more than there is
    room for. r.W, r.V: placements and velocities of the bodies."""
    n = 0
    for k in range(touch.pair.shape[0]):
        count = meet(touch, k, r, dt, margin, m)
        if count <= PER_PAIR:
            for j in range(count):
                n = keep(touch, k, m, j, n)
        else:
            for mode in range(PER_PAIR):
                m.chosen[mode] = farthest_of(count, m, mode)
                if not chosen_before(m, mode, m.chosen[mode]):
                    n = keep(touch, k, m, m.chosen[mode], n)
    return n
