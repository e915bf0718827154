"""Rows of torsional and rolling friction of contacts, whose bounds are proportional to the normal impulses.

With the angular velocity w of body a relative to body b, and the normal impulse lambda_n, a contact has
    torsion, along its normal:    sigma = n . w,          |lambda| <= mu_t lambda_n
    rolling, along two tangents:  sigma = (t1 . w, t2 . w), |lambda| <= rho, rho = mu_r lambda_n
both with sigma = 0 below the bound, and sigma against lambda at the bound. For a given rho, rolling is a disk (Tresca's
friction). It is a contact of the problem, with mu = 1 and a third row that no other row depends on:
    sigma_3 = W (lambda_3 - rho),  W the mean mobility of the two tangents.
Signorini's condition is sigma_3 = 0, hence lambda_3 = rho, and Coulomb's condition is that of the disk. So solvers and
residual need no other cases. The third row is a compliance without motion, and has no energy.

The bounds depend on the solution. The problem is solved with the bounds of the last normal impulses, and again with its
own, until the residual of the solution with its own bounds is within the tolerance (a fixed-point iteration, as
Haslinger's for Coulomb friction). It contracts by about mu_r, or mu_t, over the lever arm of the contact forces.

These rows do not depend on the contact's point. So contacts of the same bodies with one normal and the same
coefficients are a group with one set of rows, and with the sum of their normal impulses. The sum of their disks is the
disk of the sum. Rows of groups stand behind those of the contacts, rolling first. On SIMD lanes the groups differ: a
group is that of one contact, on the lanes on which this contact is the first of its kind.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import cross, dot, scale, sub
from ..algebra.numbers import absolute, maximum, minimum, select, some, sqrt
from .constraint_rows import blocks_of, end_of_contacts, same_bodies, surface_of
from .contact_points import ANGULAR_PUSH, TORQUE
from .delassus import put_turn
from .layout import PAIR, SURFACE
from .problem import relative_velocities, residual
from .signed_distance import across, vector_of
from .wrenches import add_to_body

REPETITIONS = 50  # solutions with other bounds at most
EQUAL = 1e-9  # distance of two normals that are one
NONE = -1  # a contact without torsional and rolling friction
DRIFTS, AT_REST = 3, 1e-6  # solutions before bounds are tightened; m/s, rad/s
TRIALS, SLOWEST = 10, 0.9  # so many without progress, then each must reduce the residual to this part


class RollingMemory(NamedTuple):
    """Groups of contacts with torsional or rolling friction.

    count: (3,) numbers of groups with rolling, with torsional, and with any of both. rolling, torsional: these groups.
    first: first contact of each group. owns: 1 for groups of a state, 0 on the SIMD lanes of states without. group: of
    each contact, or NONE. size: number of contacts of each group. normal, before: normal impulse whose bounds are those
    of the next solution, and of the last. begin: first group of each list of groups of the same bodies; following: the
    next group of the list of each.
    """

    count: Any
    rolling: Any
    torsional: Any
    first: Any
    owns: Any
    group: Any
    size: Any
    normal: Any
    before: Any
    begin: Any
    following: Any


def rolling_memory(capacity, q):
    """Memory for `capacity` contacts with torsional or rolling friction, with the dtype of q."""
    count, k, x = np.empty(3, np.int64), np.empty((5, capacity), np.int64), np.empty((5, capacity), q.dtype)
    count[0], count[1], count[2] = 0, 0, 0
    return RollingMemory(count, k[0], k[1], k[2], x[0], x[1], x[2], x[3], x[4], k[3], k[4])


class RollingFriction(NamedTuple):
    """Functions that vary between steps with and without torsional and rolling friction.

    solver: returns the function that solves a problem with it, from one that solves a problem.
    """

    put_rows: Any
    put_mobility: Any
    put_bounds: Any
    deactivate: Any
    without_third: Any
    solver: Any
    store: Any
    load: Any
    put_torques: Any
    put_point_torques: Any


def put_rows(m, nc):
    """Write the rows of torsional and rolling friction; return the number of rows up to these."""
    x, groups, rolling, torsional = m.rolling, put_groups(m, nc), 0, 0
    for g in range(groups):
        if m.touch.surface[surface_of(m, x.first[g]), SURFACE.rolling_friction] > 0:
            put_rolling(m, 3 * (nc + rolling), x.first[g], x.owns[g])
            x.rolling[rolling] = g
            rolling += 1
    n = 3 * (nc + rolling)
    for g in range(groups):
        c = x.first[g]
        if m.touch.surface[surface_of(m, c), SURFACE.torsional_friction] > 0:
            put_angular(m, n + torsional, c, vector_of(m.contacts.normal, c), x.owns[g])
            x.torsional[torsional] = g
            torsional += 1
    x.count[0], x.count[1], x.count[2] = rolling, torsional, groups
    return n + torsional


def put_groups(m, nc):
    """Determine the groups of contacts; return their number.

    Groups of the same bodies are in one list: O(nc) for contacts of many bodies.
    """
    x, groups = m.rolling, 0
    for c in range(nc):
        x.begin[c] = NONE
    for c in range(nc):
        k, alone = surface_of(m, c), m.active[3 * c] > 0
        x.group[c] = NONE
        if m.touch.surface[k, SURFACE.torsional_friction] > 0 or m.touch.surface[k, SURFACE.rolling_friction] > 0:
            at, last = m.touch.pair[k, PAIR.group] % nc, NONE
            g = x.begin[at]
            while g != NONE:
                if are_alike(m, x.first[g], c):
                    same = alone and x.owns[g] > 0 and have_one_normal(m, x.first[g], c)
                    x.group[c] = select(same, g, x.group[c])
                    x.size[g] += select(same, 1, 0)
                    alone = alone and not same
                last, g = g, x.following[g]
            if some(alone):
                x.following[groups] = NONE
                if last == NONE:
                    x.begin[at] = groups
                else:
                    x.following[last] = groups
                x.first[groups] = c
                x.owns[groups], x.size[groups] = select(alone, 1, 0), select(alone, 1, 0)
                x.group[c] = select(alone, groups, x.group[c])
                groups += 1
    return groups


def are_alike(m, c, other):
    """Return whether two contacts are of the same bodies, with the same coefficients."""
    k, j = surface_of(m, c), surface_of(m, other)
    same = same_bodies(m.contacts, m.touch, c, other) and m.touch.pair[k, PAIR.group] == m.touch.pair[j, PAIR.group]
    for column in range(SURFACE.torsional_friction, SURFACE.rolling_friction + 1):
        same = same and m.touch.surface[k, column] == m.touch.surface[j, column]
    return same


def have_one_normal(m, c, other):
    """Return whether two contacts have the same normal."""
    d = sub(vector_of(m.contacts.normal, c), vector_of(m.contacts.normal, other))
    return dot(d, d) < EQUAL * EQUAL


def put_rolling(m, r, c, active):
    """Write the three rows of rolling friction of contact c and its group."""
    n = vector_of(m.contacts.normal, c)
    t = across(n)
    put_angular(m, r, c, t, active)
    put_angular(m, r + 1, c, cross(n, t), active)
    put_angular(m, r + 2, c, scale(n, 0), active)


def put_angular(m, r, c, direction, active):
    """Write a row: the relative angular velocity of the bodies of contact c along a direction."""
    k = surface_of(m, c)
    put_turn(m.rows, r, m.touch.pair[k, PAIR.body], m.touch.pair[k, PAIR.solid_body], direction)
    m.active[r] = active


def put_mobility(m, nc):
    """Complete the position problem: mobility of the third rows, and mu = 1 of rolling friction."""
    for j in range(m.rolling.count[0]):
        r = 3 * (nc + j)
        m.mu[nc + j], m.rebound[nc + j] = 1.0, 0.0
        m.soft[r + 2] = (m.rows.G[r, r] + m.rows.G[r + 1, r + 1]) / 2
        m.rows.G[r + 2, r + 2] += m.soft[r + 2]


def put_normals(m, nc, impulse, where):
    """Determine the normal impulse of each group."""
    x = m.rolling
    for g in range(x.count[2]):
        total = impulse[0] * 0
        for c in range(x.first[g], nc):
            total += select(x.group[c] == g and m.mu[c] >= 0, maximum(impulse[3 * c + 2], 0), 0)
        x.normal[g] = select(where, total, x.normal[g])


def bound_of(m, g, column):
    """Return the largest angular impulse of group g, by the coefficient in a column of its surface."""
    return m.touch.surface[surface_of(m, m.rolling.first[g]), column] * m.rolling.normal[g]


def put_bounds(m, nc, impulse, where):
    """Write the bounds that belong to the normal impulses, and clamp the angular impulses to them; `where`: lanes."""
    put_normals(m, nc, impulse, where)
    clamp_angular(m, nc, impulse, where)


def clamp_angular(m, nc, impulse, where):
    """Write the bounds that belong to the normal impulses of groups, and clamp the angular impulses to them."""
    x, first = m.rolling, 3 * blocks_of(m, nc)
    for j in range(x.count[0]):
        r, rho = 3 * (nc + j), bound_of(m, x.rolling[j], SURFACE.rolling_friction)
        rho = select(m.mu[nc + j] < 0, 0, rho)  # nothing rolls
        length, part = sqrt(impulse[r] * impulse[r] + impulse[r + 1] * impulse[r + 1]), rho * 0 + 1
        if length > rho:
            part = rho / length
        impulse[r] = select(where, part * impulse[r], impulse[r])
        impulse[r + 1] = select(where, part * impulse[r + 1], impulse[r + 1])
        impulse[r + 2] = select(where, rho, impulse[r + 2])
        m.bias[r + 2] = select(where, -m.soft[r + 2] * rho, m.bias[r + 2])
        m.g[r + 2] = select(where, m.bias[r + 2], m.g[r + 2])
    for j in range(x.count[1]):
        r, most = first + j, bound_of(m, x.torsional[j], SURFACE.torsional_friction)
        m.low[r], m.high[r] = select(where, -most, m.low[r]), select(where, most, m.high[r])
        impulse[r] = minimum(maximum(impulse[r], m.low[r]), m.high[r])


def is_at_rest(m, nc, g, sigma):
    """Return whether the bodies of group g neither roll nor spin."""
    x, fastest, first = m.rolling, sigma[0] * 0, 3 * blocks_of(m, nc)
    for j in range(x.count[0]):
        if x.rolling[j] == g:
            r = 3 * (nc + j)
            fastest = maximum(fastest, maximum(absolute(sigma[r]), absolute(sigma[r + 1])))
    for j in range(x.count[1]):
        if x.torsional[j] == g:
            fastest = maximum(fastest, absolute(sigma[first + j]))
    return fastest < AT_REST


def tighten(m, nc, part, impulse, sigma, where):
    """Write bounds of the next solution that are `part` of the last change below those of the impulses.

    Where torques are not determined, solutions drift along with their bounds. At rest any torques below the bounds are
    a solution, so that tighter bounds of groups at rest whose bounds decreased end the drift.
    """
    x = m.rolling
    for g in range(x.count[2]):
        drifts = where and x.normal[g] < x.before[g] and is_at_rest(m, nc, g, sigma)
        tighter = maximum(x.normal[g] - part * (x.before[g] - x.normal[g]), 0)
        x.normal[g] = select(drifts, tighter, x.normal[g])
    clamp_angular(m, nc, impulse, where)


def deactivate(m, nc):
    """Complete the recovery problem: no torsional and rolling friction."""
    for j in range(m.rolling.count[0]):
        m.mu[nc + j] = -1.0
    first = 3 * blocks_of(m, nc)
    for j in range(m.rolling.count[1]):
        m.low[first + j], m.high[first + j] = 0.0, 0.0


def without_third(m, nc, impulse, where):
    """Set impulses of third rows, which have no energy, to zero."""
    for j in range(m.rolling.count[0]):
        impulse[3 * (nc + j) + 2] = select(where, 0, impulse[3 * (nc + j) + 2])


def repeated(solver):
    """Return the function that solves a problem repeatedly, until bounds and normal impulses agree."""

    def solve_repeatedly(problem, impulse, sigma, tolerance, wanted, m, nc, method):
        """Solve with the bounds in the problem, and repeatedly with the solution's.

        It ends where other bounds do not increase the residual of the solver by more than the tolerance.
        """
        x, count, left, going = m.rolling, 0, sigma[0] * 0, sigma[0] == sigma[0] and wanted
        part = left + 1
        while some(going):
            if count >= DRIFTS:
                tighten(m, nc, part, impulse, sigma, going)
                part *= 2
            for g in range(x.count[2]):
                x.before[g] = select(going, x.normal[g], x.before[g])
            solver(problem, impulse, sigma, tolerance, going, m, nc, method)
            own = residual(problem, impulse, sigma)
            put_bounds(m, nc, impulse, going)
            relative_velocities(problem, impulse, sigma)
            found = residual(problem, impulse, sigma)
            count += 1
            slow = count >= TRIALS and not found < SLOWEST * left
            going = going and found > own + tolerance and count < REPETITIONS and not slow
            left = found

    return solve_repeatedly


def store(m, nc, after, where, impulses):
    """Store angular impulses of contacts, a part for each contact of a group, for the warm start of the next step.

    impulses: `warm_start.ImpulseAccess`.
    """
    x, first = m.rolling, 3 * blocks_of(m, nc)
    for c in range(nc):
        entry = impulses.entry(m, c)
        for j in range(x.count[0]):
            own, r, size = where and x.group[c] == x.rolling[j], 3 * (nc + j), maximum(x.size[x.rolling[j]], 1)
            impulses.write(m, after, entry, 3, m.impulse[r] / size, own)
            impulses.write(m, after, entry, 4, m.impulse[r + 1] / size, own)
        for j in range(x.count[1]):
            own, size = where and x.group[c] == x.torsional[j], maximum(x.size[x.torsional[j]], 1)
            impulses.write(m, after, entry, 5, m.impulse[first + j] / size, own)


def load(m, nc, theta, before, impulses):
    """Load angular impulses of the previous step, times the impulse fraction theta, into m.push."""
    x, first, end = m.rolling, 3 * blocks_of(m, nc), 0
    for r in range(3 * nc, end_of_contacts(m, nc)):
        m.push[r] = 0.0
    for c in range(nc):
        end = impulses.find(m, before, m.contacts.slot[c], end)
        for j in range(x.count[0]):
            own, r = x.group[c] == x.rolling[j], 3 * (nc + j)
            m.push[r] += select(own, theta * impulses.read(m, before, end, m.contacts.slot[c], 3), 0)
            m.push[r + 1] += select(own, theta * impulses.read(m, before, end, m.contacts.slot[c], 4), 0)
        for j in range(x.count[1]):
            own = x.group[c] == x.torsional[j]
            m.push[first + j] += select(own, theta * impulses.read(m, before, end, m.contacts.slot[c], 5), 0)


def put_torque(m, c, direction, torque, wrench, pairs):
    """Add the torque of contact c about a direction to the wrenches of its bodies."""
    k, none = surface_of(m, c), scale(direction, 0)
    for side in range(2):
        add_to_body(m, k, side, none, scale(direction, (1 - 2 * side) * torque), wrench, pairs)


def put_point_torque(m, c, direction, torque, points, column):
    """Add the torque of contact c about a direction to its point, from a column on, if points are requested."""
    if m.touch.reports_points == 1:
        points[c, column] += direction.x * torque
        points[c, column + 1] += direction.y * torque
        points[c, column + 2] += direction.z * torque


def put_point_torques(m, nc, dt):
    """Add the torques of torsional and rolling friction to the contact points of `put_points`."""
    put_each(m, nc, put_point_torque, m.impulse, 1 / dt, m.points, TORQUE)
    put_each(m, nc, put_point_torque, m.push, dt * 0 + 1, m.points, ANGULAR_PUSH)


def put_torques(m, nc, dt, wrench, pairs):
    """Add the mean torques of torsional and rolling friction to the wrenches of `put_wrenches`."""
    put_each(m, nc, put_torque, m.impulse, 1 / dt, wrench, pairs)


def put_each(m, nc, put, impulse, factor, total, place):
    """Add each angular impulse, times a factor, by put(m, contact, direction, torque, total, place)."""
    x, first = m.rolling, 3 * blocks_of(m, nc)
    for j in range(x.count[0]):
        c, r = x.first[x.rolling[j]], 3 * (nc + j)
        n = vector_of(m.contacts.normal, c)
        t = across(n)
        put(m, c, t, factor * impulse[r], total, place)
        put(m, c, cross(n, t), factor * impulse[r + 1], total, place)
    for j in range(x.count[1]):
        c = x.first[x.torsional[j]]
        put(m, c, vector_of(m.contacts.normal, c), factor * impulse[first + j], total, place)


def no_rows(m, nc):
    """Return the number of rows of the contacts; variant of `put_rows` without torsional and rolling friction."""
    return 3 * nc


def nothing(m, nc):
    """Do nothing: without torsional and rolling friction."""


def nothing_of(m, nc, impulse, where):
    """Do nothing with impulses: without torsional and rolling friction."""


def once(solver):
    """Return the solver, which solves a problem once; variant of `repeated`."""
    return solver


def store_nothing(m, nc, after, where, impulses):
    """Do nothing; variant of `store`."""


def load_nothing(m, nc, theta, before, impulses):
    """Do nothing; variant of `load`."""


def no_torques(m, nc, dt, wrench, pairs):
    """Do nothing; variant of `put_torques`."""


def no_point_torques(m, nc, dt):
    """Do nothing; variant of `put_point_torques`."""


WITH_ROLLING = RollingFriction(
    put_rows,
    put_mobility,
    put_bounds,
    deactivate,
    without_third,
    repeated,
    store,
    load,
    put_torques,
    put_point_torques,
)
NO_ROLLING = RollingFriction(
    no_rows,
    nothing,
    nothing_of,
    nothing,
    nothing_of,
    once,
    store_nothing,
    load_nothing,
    no_torques,
    no_point_torques,
)
