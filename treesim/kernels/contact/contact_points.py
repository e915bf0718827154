"""Contact points of a step: place, gap, force and velocity of each contact, for reports."""

from ..algebra.linear import add, cross, scale
from .constraint_rows import surface_of
from .layout import PAIR
from .signed_distance import across, vector_of

# numbers of a point: that of its pair, and the gap at the end of the step [m]; then, along the world's axes
# and of the first body, three each: position, normal, force [N], velocity [m/s], and torque of rolling friction [N m];
# then for derivatives: gap at the start [m], slot, position impulses along the rows without recovery, that of it, and
# angular position impulses along the world's axes
LAW, GAP, POSITION, NORMAL, FORCE, VELOCITY, TORQUE, START, SLOT, PUSH, RECOVERY, ANGULAR_PUSH, POINT = (
    0, 1, 2, 5, 8, 11, 14, 17, 18, 19, 22, 23, 26
)  # fmt: skip


def along_axes(n, x, y, z):
    """Return the vector with components x, y along the tangents of the normal n, and z along n."""
    t = across(n)
    return add(scale(t, x), add(scale(cross(n, t), y), scale(n, z)))


def end_velocity(m, r, n):
    """Return the velocity along row r of n at the end of the step, J v+."""
    rate = m.end_rate[r] - m.soft[r] * m.impulse[r]  # G contains the compliance of soft surfaces
    for s in range(n):
        rate += m.rows.G[r, s] * m.impulse[s]
    return rate


def put_points(m, nc, n, dt, is_active):
    """Write the nc contacts to m.points, if they are requested; n: number of rows.

    is_active (m, r): where row r is active; others are not written.
    """
    if m.touch.reports_points == 1:
        for c in range(nc):
            if is_active(m, 3 * c):
                put_point(m, c, n, dt, m.points[c])


def put_point(m, c, n, dt, point):
    """Write contact c of a problem with n rows."""
    x = vector_of(m.contacts.normal, c)
    point[LAW] = m.touch.pair[surface_of(m, c), PAIR.number] + dt * 0
    point[GAP] = m.contacts.gap[c] + dt * m.moved[3 * c + 2]
    speeds = end_velocity(m, 3 * c, n), end_velocity(m, 3 * c + 1, n), end_velocity(m, 3 * c + 2, n)
    put_vector(point, POSITION, vector_of(m.contacts.point, c))
    put_vector(point, NORMAL, x)
    force = along_axes(x, m.impulse[3 * c], m.impulse[3 * c + 1], m.impulse[3 * c + 2])
    put_vector(point, FORCE, scale(force, 1 / dt))
    put_vector(point, VELOCITY, along_axes(x, speeds[0], speeds[1], speeds[2]))
    put_vector(point, TORQUE, scale(x, 0))
    put_vector(point, ANGULAR_PUSH, scale(x, 0))
    point[START], point[SLOT] = m.contacts.gap[c], m.contacts.slot[c] + dt * 0
    point[RECOVERY] = m.recovery[3 * c + 2]
    for k in range(3):
        point[PUSH + k] = m.push[3 * c + k] - m.recovery[3 * c + k]


def put_vector(point, k, a):
    """point[k:] = a."""
    point[k], point[k + 1], point[k + 2] = a.x, a.y, a.z
