"""Solids as collision geometry: signed distance of a point from each, and outward normal."""

from ..algebra.linear import Vector, dot, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, sqrt
from .layout import PAIR

PLANE, SPHERE, CAPSULE, BOX, GRID, CONVEX, MESH = range(7)  # solids; contacts of pairs with CONVEX are external
SMOOTH = PLANE, SPHERE, CAPSULE  # those of `from_smooth`
EDGE = 1e-6  # m: a vertex this far beyond a face's border still touches it
FAR = 1e30
ROUND = 1e-9  # m: points with a larger radius also touch edges and corners of a box


def is_plane(touch, k):
    """Return whether the solid of pair k is a plane."""
    return touch.pair[k, PAIR.solid] == PLANE


def is_grid(touch, k):
    """Return whether the solid of pair k is a height field."""
    return touch.pair[k, PAIR.solid] == GRID


def has_faces(touch, k):
    """Return whether the solid of pair k is a box."""
    return touch.pair[k, PAIR.solid] == BOX


def is_mesh(touch, k):
    """Return whether the solid of pair k is a static mesh."""
    return touch.pair[k, PAIR.solid] == MESH


def is_external(touch, k):
    """Return whether the contacts of pair k are external."""
    return touch.pair[k, PAIR.solid] == CONVEX


def groups_of(solid):
    """Return the number of groups of contacts with a solid, by their normals; a mesh may have walls and a ceiling."""
    found = 1
    if solid == GRID:
        found = 3
    if solid == MESH:
        found = 6
    return found


def vector_of(x, k):
    """Return row k of three numbers as a vector."""
    return Vector(x[k, 0], x[k, 1], x[k, 2])


def across(a):
    """Return a unit vector perpendicular to the unit vector a; a deterministic function of a."""
    o = a.x * 0
    other = Vector(o + 1, o, o)
    if absolute(a.x) > 0.9:
        other = Vector(o, o + 1, o)
    t = sub(other, scale(a, dot(a, other)))
    return scale(t, 1 / sqrt(dot(t, t)))


def sign_of(x):
    """Return 1 or -1."""
    found = x * 0 + 1
    if x < 0:
        found = -found
    return found


def from_center(d, radius):
    """Return signed distance and normal of a sphere at the position d relative to its centre."""
    length = sqrt(dot(d, d))
    n = Vector(d.x * 0, d.x * 0, d.x * 0 + 1)
    if length > 0:
        n = scale(d, 1 / length)
    return length - radius, n


def box_face(d, p, face):
    """Return signed distance and normal of a box's face (0 to 5), for a point p; d = |p| - half lengths."""
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
    """Return |p| minus the half lengths of the box of pair k."""
    return Vector(absolute(p.x) - size[k, 0], absolute(p.y) - size[k, 1], absolute(p.z) - size[k, 2])


def from_box(d, p):
    """Return signed distance and normal of a box, rounded at edges and corners, for a point p; d as in `box_face`."""
    out = Vector(maximum(d.x, 0), maximum(d.y, 0), maximum(d.z, 0))
    gap, n = from_center(Vector(sign_of(p.x) * out.x, sign_of(p.y) * out.y, sign_of(p.z) * out.z), 0)
    if gap <= 0:
        gap, n = d.x, Vector(sign_of(p.x), p.x * 0, p.x * 0)
        if d.y > gap:
            gap, n = d.y, Vector(p.x * 0, sign_of(p.y), p.x * 0)
        if d.z > gap:
            gap, n = d.z, Vector(p.x * 0, p.x * 0, sign_of(p.z))
    return gap, n


def next_to_face(d, face):
    """Return how far p is beyond the border of a box's face; d as in `box_face`."""
    found = maximum(d.y, d.z)
    if face % 3 == 1:
        found = maximum(d.x, d.z)
    if face % 3 == 2:
        found = maximum(d.x, d.y)
    return found


def from_grid(touch, k, p):
    """Return signed distance and normal of the height field's triangle below p; FAR outside of the grid.

    The grid's origin is its centre. Each cell is cut along the diagonal from its corner of least x and y.
    """
    nx, ny, start = touch.pair[k, PAIR.nx], touch.pair[k, PAIR.ny], touch.pair[k, PAIR.start]
    dx, dy = touch.size[k, 0], touch.size[k, 1]
    x, y = p.x / dx + (nx - 1) / 2, p.y / dy + (ny - 1) / 2
    gap, n = p.x * 0 + FAR, Vector(p.x * 0, p.x * 0, p.x * 0 + 1)
    if x >= 0 and y >= 0 and x <= nx - 1 and y <= ny - 1:
        i, j = int(minimum(x, nx - 2)), int(minimum(y, ny - 2))
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
    """Return signed distance and normal of the plane, sphere or capsule of pair k, for a point p."""
    solid, size = touch.pair[k, PAIR.solid], touch.size
    gap, n = p.z, Vector(p.x * 0, p.x * 0, p.x * 0 + 1)
    if solid == SPHERE:
        gap, n = from_center(p, size[k, 0])
    if solid == CAPSULE:
        along = minimum(maximum(p.z, -size[k, 1]), size[k, 1])
        gap, n = from_center(Vector(p.x, p.y, p.z - along), size[k, 0])
    return gap, n


def from_outside(touch, k, p):
    """Return a lower bound of the distance of a point p from the solid of pair k, in its axes."""
    solid, size = touch.pair[k, PAIR.solid], touch.size
    gap, _ = from_smooth(touch, k, p)
    if solid == BOX:
        d = box_excess(p, size, k)
        gap = maximum(d.x, maximum(d.y, d.z))
    if solid == GRID:
        gap = p.z - size[k, 2]
    if solid == MESH:
        gap = p.z * 0 - FAR
    if solid == CONVEX:
        gap = p.z * 0 + FAR
    return gap


def from_plane(touch, k, p, radius, face):
    """Return signed distance and normal of a plane; variant of `from_solid`."""
    return p.z - radius, Vector(p.x * 0, p.x * 0, p.x * 0 + 1)


def from_solid(touch, k, p, radius, face):
    """Return signed distance and normal of the solid of pair k, in its axes, for a point p with a radius.

    face: of a box, whose distance is used for points without radius. Not for height fields and meshes.
    """
    gap, n = from_smooth(touch, k, p)
    if has_faces(touch, k):
        d = box_excess(p, touch.size, k)
        if radius > 0:
            gap, n = from_box(d, p)
        else:
            gap, n = box_face(d, p, face)
            if next_to_face(d, face) > EDGE:
                gap = gap * 0 + FAR
    return gap - radius, n
