"""Numbers of contacts for derivatives (`row_derivatives`), from the contact points of a step (`contact_points`).

Along a twist of the first body relative to the second, about the contact point, the point and the normal move as where
a vertex or a ball touches a plane or the face of a box: the normal does not move. The point is at a depth below the
center of the ball: its radius, half of the gap between two bodies, and the height by which
`constraint_rows.level_points` moves it.
"""

from typing import Any, NamedTuple

from ..algebra.linear import Vector, add, cross, dot, scale, sub
from ..entries.entry import entry
from .constraint_rows import PARALLEL
from .contact_points import ANGULAR_PUSH, FORCE, LAW, POINT, PUSH, START, TORQUE
from .contact_points import NORMAL as POINT_NORMAL
from .contact_points import POSITION as POINT_POSITION
from .contact_points import RECOVERY as OPENING
from .layout import PAIR, SURFACE
from .row_derivatives import (
    BODY,
    CONTACT,
    FRICTION,
    GAP,
    IMPULSES,
    NORMAL,
    OF_POSITION,
    OTHER,
    POSITION,
    ROLLING,
    TORSIONAL,
    vector_at,
)
from .set_equations import POSITIONS, RECOVERY, VELOCITIES
from .signed_distance import across


class Tables(NamedTuple):
    """Tables of pairs of shapes and solids, and radii of points, as in `tables.Touch`; length of a step."""

    pairs: Any
    surface: Any
    radius: Any
    h: Any


def pair_of_point(tables, point):
    """Return the row of a contact point's pair."""
    return tables.pairs[int(point[LAW])]


def lowest_of(tables, points, count, c):
    """Return the contact to whose height `constraint_rows.level_points` moves the point of contact c."""
    own, n, found = pair_of_point(tables, points[c]), vector_at(points[c], POINT_NORMAL), -1
    for k in range(count):
        other = pair_of_point(tables, points[k])
        if own[PAIR.body] == other[PAIR.body] and own[PAIR.solid_body] == other[PAIR.solid_body]:
            alike = k == c or dot(n, vector_at(points[k], POINT_NORMAL)) > PARALLEL
            if alike and (found < 0 or points[k, START] < points[found, START]):
                found = k
    return found


def put_motion_of_point(depth, part, point, lowest, found):
    """Write the derivative (3, 6) of a contact point that moves a `part` of its way to the height of the lowest one."""
    n, m = vector_at(point, POINT_NORMAL), vector_at(lowest, POINT_NORMAL)
    arm = sub(vector_at(lowest, POINT_POSITION), vector_at(point, POINT_POSITION))
    linear, angular = add(scale(n, 1 - part), scale(sub(n, m), part)), scale(cross(arm, m), -part)
    for i in range(3):
        along = point[POINT_NORMAL + i]
        put_vector(found[i], 0, scale(linear, -along))
        put_vector(found[i], 3, scale(angular, -along))
        found[i, i] += 1
    arm = scale(n, depth)
    found[0, 4], found[0, 5] = found[0, 4] + arm.z, found[0, 5] - arm.y
    found[1, 3], found[1, 5] = found[1, 3] - arm.z, found[1, 5] + arm.x
    found[2, 3], found[2, 4] = found[2, 3] + arm.y, found[2, 4] - arm.x


def put_vector(x, k, a):
    """x[k:] = a."""
    x[k], x[k + 1], x[k + 2] = a.x, a.y, a.z


def along_axes(x, t, n):
    """Return the components of x along the axes of a contact: tangents t and n x t, and normal n."""
    return Vector(dot(x, t), dot(x, cross(n, t)), dot(x, n))


def put_impulses(point, h, contact):
    """Write the impulses of the sets along the axes of a contact."""
    n = vector_at(point, POINT_NORMAL)
    t, k = across(n), IMPULSES + 6 * VELOCITIES
    put_vector(contact, IMPULSES + 6 * POSITIONS, vector_at(point, PUSH))
    put_vector(contact, IMPULSES + 6 * POSITIONS + 3, along_axes(vector_at(point, ANGULAR_PUSH), t, n))
    contact[IMPULSES + 6 * RECOVERY + 2] = point[OPENING]
    put_vector(contact, k, scale(along_axes(vector_at(point, FORCE), t, n), h))
    put_vector(contact, k + 3, scale(along_axes(vector_at(point, TORQUE), t, n), h))


def put_contact(tables, point, lowest, contact):
    """Write the numbers of a contact; lowest: point to whose height it was moved."""
    law, own = int(point[LAW]), pair_of_point(tables, point)
    contact[BODY], contact[OTHER], contact[GAP] = own[PAIR.body], own[PAIR.solid_body], point[START]
    surface = tables.surface[law]
    contact[FRICTION], contact[ROLLING] = surface[SURFACE.friction], surface[SURFACE.rolling_friction]
    contact[TORSIONAL] = surface[SURFACE.torsional_friction]
    put_vector(contact, POSITION, vector_at(point, POINT_POSITION))
    put_vector(contact, NORMAL, vector_at(point, POINT_NORMAL))
    part = 0.5 if own[PAIR.solid_body] > 0 else 1.0
    depth = tables.radius[own[PAIR.first_point]] + (1 - part) * point[START] + part * (point[START] - lowest[START])
    put_motion_of_point(depth, part, point, lowest, contact[OF_POSITION : OF_POSITION + 18].reshape((3, 6)))
    put_impulses(point, tables.h, contact)


def contact_numbers(sizes, pairs, surface, radius, points, number, contacts, lowest):
    """Write the contacts of a state, and for each the one to whose height its point was moved; others are empty.

    sizes: numbers of contacts, and of points, of which the state has `number`. radius: length of a step [s], then radii
    of points.
    """
    P = pairs.size // len(PAIR)
    table = pairs.reshape((P, len(PAIR))), surface.reshape((P, len(SURFACE)))
    tables = Tables(table[0], table[1], radius[1:], radius[0])
    contacts.reshape(contacts.size)[:] = 0
    for c in range(contacts.shape[0]):
        contacts[c, NORMAL + 2], lowest[c] = 1.0, 0.0
        if c < number[0]:
            k = lowest_of(tables, points, int(number[0]), c)
            lowest[c] = k
            put_contact(tables, points[c], points[k], contacts[c])


contact_numbers_states = entry(
    contact_numbers,
    None,
    {"sizes": "TableOfIntegers", "pairs": "TableOfIntegers", "surface": "TableOfReals", "radius": "TableOfReals"},
    {"C": "sizes[0]"},
    points=f"sizes[1], {POINT} | unchecked",
    number="1",
    contacts=f"-> C, {CONTACT}",
    lowest="-> C",
)
