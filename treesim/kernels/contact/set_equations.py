"""Rows of a set of impulses in a step with contact that are not open, and the equations of their derivatives.

See `motion_gradient`, where A dlambda = -P dsigma are used: a row at rest has dsigma = 0. The tangential impulses of a
sliding contact are -mu lambda_n s, s the direction of its velocity sigma_t, so that
    dlambda_t + mu s dlambda_n + k (1 - s s') dsigma_t = 0,  k = mu lambda_n / |sigma_t|.
It is multiplied by a mobility g along s, and by g / (1 + g k) across, so that no number is large at small velocities.
"""

from typing import Any, NamedTuple

from ..algebra.numbers import absolute, maximum, sqrt, vectorized
from ..algebra.pivoted import add_multiple, add_product, copy, factor_pivoted, solve_upper_columns
from ..entries.scratch import scratch_memory
from .layout import numbered
from .rolling_friction import EQUAL
from .row_derivatives import (
    BODY,
    BOTH,
    FRICTION,
    IMPULSES,
    LINEAR,
    NORMAL,
    OTHER,
    ROLLING,
    SETS,
    TORSIONAL,
)

POSITIONS, RECOVERY, VELOCITIES = range(SETS)
STILL = 1e-8  # m/s: of several contacts at one point, some may be at the bound of friction and not slide
AT_BOUND = 1e-9  # of the bound of friction
JOINT_BOUND = 1e-6  # of the bound of joint friction, whose impulse is a difference of larger ones
PROXIMAL = 1e-9  # of the largest element
SEPARATING, STICKING, SLIDING = range(3)
ROUNDING = 1e-11  # of the largest velocity


class Sizes(NamedTuple):
    """Integers in the table `sizes`."""

    contacts: Any
    rows: Any  # of each contact
    n: Any  # degrees of freedom
    weights: Any
    sets: Any  # SETS, or one more
    impacts: Any  # 1 if the last set is that of impacts
    added: Any  # 1 if rows have added terms


class Settings(NamedTuple):
    """Reals in front of the table `settings`; bounds of joint friction follow, -1 without, and 1 for limited joints."""

    h: Any
    theta: Any


class Added(NamedTuple):
    """Numbers of a row of a set: its derivative in q follows."""

    in_start: Any  # bias per velocity along the row under v at the start, and in unconstrained mean and end
    in_mean: Any
    in_end: Any
    in_gap: Any
    soft: Any  # compliance R
    alone: Any  # 1 where recovery does not change the gap that the motion leaves
    held: Any  # impulse of recovery of a joint limit


SIZE, SETTING, ADDED = (numbered(x) for x in (Sizes, Settings, Added))
ALL = f"(sizes[{SIZE.contacts}] * sizes[{SIZE.rows}] + sizes[{SIZE.n}])"  # rows of all contacts and joints
N = f"sizes[{SIZE.n}]"

scratch_for = scratch_memory(
    given="sizes", M=f"{N}, {N}", L=f"{N}, {N}", Lt=f"{N}, {N}", J=f"{ALL}, {N}", Yt=f"{N}, {ALL}",
    G=f"{ALL}, {ALL}", A=f"{ALL}, {ALL}", F=f"{ALL}, {ALL}", own=f"2, {ALL}", P=f"{ALL}, 2",
    row=f"{ALL} | integers", block=f"{ALL} | integers", order=f"{ALL} | integers", known=f"{ALL} + 1 | integers",
    impulse=ALL, sigma=ALL, mobility=ALL, eta=ALL, rho=ALL, left=ALL, slip=ALL, u=N, z=N, force=N, rounding=N,
    through=f"2 * sizes[{SIZE.weights}], {N}", of_impulses=f"2 * sizes[{SIZE.weights}], {ALL}",
    of_gap=f"sizes[{SIZE.weights}], sizes[{SIZE.contacts}]",
)  # fmt: skip


class Given(NamedTuple):
    """What a step was, and its rows J and mass matrix M (`contact_rows`).

    w, y (SETS or more, n): velocities after each set, and its changes. gaps (2, n): of lower and upper joint limits.
    """

    sizes: Any
    settings: Any
    w: Any
    y: Any
    gaps: Any
    contacts: Any
    J: Any
    M: Any
    added: Any


def length(x, y):
    """Return the length of a vector in a plane."""
    return sqrt(x * x + y * y)


def state_of(given, c, s, sigma):
    """Return whether contact c separates, sticks or slides under set s, at the velocity sigma along its rows."""
    contact = given.contacts[c]
    k = IMPULSES + 6 * s
    mu, pressed = contact[FRICTION] if s != RECOVERY else contact[FRICTION] * 0, contact[k + 2]
    tangential, first = length(contact[k], contact[k + 1]), given.sizes[SIZE.rows] * c
    still = mu > 0 and length(sigma[first], sigma[first + 1]) < STILL
    found = SLIDING
    if still or tangential < (1 - AT_BOUND) * mu * pressed:
        found = STICKING
    if not pressed > 0:
        found = SEPARATING
    return found


def shares(given, a, c, column):
    """Return whether contacts a and c share the bound of rolling or torsional friction."""
    x, own = given.contacts[c], given.contacts[a]
    alike = x[BODY] == own[BODY] and x[OTHER] == own[OTHER]
    alike = alike and x[ROLLING] == own[ROLLING] and x[TORSIONAL] == own[TORSIONAL] and x[column] > 0
    apart = length(x[NORMAL] - own[NORMAL], length(x[NORMAL + 1] - own[NORMAL + 1], x[NORMAL + 2] - own[NORMAL + 2]))
    return alike and apart < EQUAL


def leads(given, c, column, s):
    """Return the sum of normal impulses that bounds rolling or torsional friction in the rows of contact c.

    Contacts of the same bodies with one normal share the rows of the first one; the others have 0.
    """
    total = given.settings[0] * 0
    for k in range(given.sizes[SIZE.contacts]):
        if shares(given, c, k, column):
            if k < c:
                return given.settings[0] * 0
            total += given.contacts[k, IMPULSES + 6 * s + 2]
    return total


def put_row(row, block, given, n, m):
    """Add a row to those of the set; block: first row of the block to which it belongs."""
    m.row[n], m.block[n], m.P[n, 0], m.P[n, 1] = row, block, 1.0, given.settings[0] * 0
    return n + 1


def put_contact_rows(given, s, m):
    """Write the numbers of the rows of contacts that are pressed; return how many they are."""
    n, rows = 0, given.sizes[SIZE.rows]
    for c in range(given.sizes[SIZE.contacts]):
        if given.contacts[c, IMPULSES + 6 * s + 2] > 0:
            for r in range(LINEAR):
                n = put_row(rows * c + r, n, given, n, m)
    if rows == BOTH and s != RECOVERY:
        for c in range(given.sizes[SIZE.contacts]):
            if given.contacts[c, ROLLING] > 0 and leads(given, c, ROLLING, s) > 0:
                for r in range(2):
                    n = put_row(rows * c + LINEAR + r, n, given, n, m)
            if given.contacts[c, TORSIONAL] > 0 and leads(given, c, TORSIONAL, s) > 0:
                n = put_row(rows * c + LINEAR + 2, n, given, n, m)
    return n


def friction_bound(given, s, d):
    """Return the bound of the impulse of joint friction, negative without any."""
    bound = given.settings[len(SETTING) + d] * given.settings[SETTING.h]
    return bound * given.settings[SETTING.theta] if s == POSITIONS else bound


def is_at_rest(given, s, d, force, rounding):
    """Return whether degree of freedom d is at a limit, or held by friction."""
    bound, limited = friction_bound(given, s, d), given.settings[len(SETTING) + given.sizes[SIZE.n] + d] > 0
    if s == RECOVERY:
        return added_of(given, s, given.J.shape[0] + d, ADDED.held) != 0
    if bound >= 0:
        return not (absolute(absolute(force) - bound) <= JOINT_BOUND * bound and absolute(given.w[s, d]) > STILL)
    return limited and absolute(force) > rounding


def added_of(given, s, row, column):
    """Return an added number of a row of set s, 0 without any."""
    found = given.settings[0] * 0
    if given.sizes[SIZE.added] > 0:
        found = given.added[s * (given.J.shape[0] + given.sizes[SIZE.n]) + row, column]
    return found


def put_motion_of_set(given, s, m):
    """Write the impulses of the contacts, the velocities along all rows, and the forces (M + D) y - J' lambda."""
    count, n, R = given.sizes[SIZE.contacts], given.sizes[SIZE.n], given.J.shape[0]
    rows = given.sizes[SIZE.rows]
    for c in range(count):
        for r in range(rows):
            m.impulse[rows * c + r] = given.contacts[c, IMPULSES + 6 * s + r]
    for i in range(n):
        m.force[i], m.sigma[R + i] = given.settings[0] * 0, given.w[s, i]
    add_product(m.M, n, given.y[s], m.force)
    for r in range(0, R, LINEAR):
        put_products(given.J[r : r + LINEAR], given.w[s], m.sigma[r : r + LINEAR])
        for k in range(r, r + LINEAR):
            if m.impulse[k] != 0:
                add_multiple(-m.impulse[k], given.J[k], m.force)


def put_products(J, w, found):
    """Write the velocities under a motion w along three rows; their sums are computed at the same time."""
    x, y, z = w[0] * 0, w[0] * 0, w[0] * 0
    for i in range(w.size):
        x, y, z = x + J[0, i] * w[i], y + J[1, i] * w[i], z + J[2, i] * w[i]
    found[0], found[1], found[2] = x, y, z


def put_joint_rows(given, s, state, n, m):
    """Add the rows of joints at limits or held by friction, from row n on; return how many rows there are."""
    R = given.J.shape[0]
    for d in range(given.sizes[SIZE.n]):
        m.impulse[R + d] = given.settings[0] * 0
        if is_at_rest(given, s, d, m.force[d], m.rounding[d] + state[1]):
            m.impulse[R + d] = m.force[d]
            n = put_row(R + d, n, given, n, m)
    return n


def put_jacobian(given, n, m):
    """Gather the n rows J, and compute Y' = (J L^-1)' and G = Y Y', unless the set before has the same rows."""
    R, nv = given.J.shape[0], given.sizes[SIZE.n]
    if m.known[0] == n and is_equal(m.row, m.known[1:], n):
        return
    m.known[0] = n
    for a in range(n):
        row = m.row[a]
        m.known[1 + a], m.G[a, :n] = row, 0
        for i in range(nv):
            x = given.settings[0] * 0
            if row < R:
                x = given.J[row, i]
            elif row - R == i:
                x = x + 1
            m.J[a, i] = m.Yt[i, a] = x
    solve_upper_columns(m.L, m.Yt, n)
    for i in range(nv):
        for a in range(n):
            if m.Yt[i, a] != 0:
                add_multiple(m.Yt[i, a], m.Yt[i, :n], m.G[a, :n])


def is_equal(x, y, n):
    """Return whether the first n integers of two arrays are equal."""
    found = True
    for k in range(n):
        found = found and x[k] == y[k]
    return found


def put_friction(given, s, a, count, mu, total, column, m, n):
    """Write the equations of `count` rows from a on whose impulse is at the bound mu times the normal impulse `total`.

    column: coefficient in the contacts that share the bound; -1 for the normal row behind the rows.
    """
    rows, R = given.sizes[SIZE.rows], given.J.shape[0]
    mobility = (m.A[a, a] + m.A[a + count - 1, a + count - 1]) / 2
    x, y = m.sigma[m.row[a]], given.settings[0] * 0
    if count == 2:
        y = m.sigma[m.row[a + 1]]
    speed = length(x, y)
    slides = mu >= 0 and speed > 0
    if slides:
        x, y = x / speed, y / speed
    part = x * 0
    if slides:
        part = mobility * mu * total / (speed + mobility * mu * total)
    for t in range(count):
        for b in range(n):
            m.own[t, b] = m.A[a + t, b]
    for t in range(count):
        along = x if t == 0 else y
        m.block[a + t] = a
        if slides and column < 0:
            m.slip[a + t] = mobility * total * along
        m.P[a + t, 0], m.P[a + t, 1] = -part * along * x, -part * along * y
        m.P[a + t, t] += part
        for b in range(n):
            m.A[a + t, b] = m.P[a + t, 0] * m.own[0, b]
            if count == 2:
                m.A[a + t, b] += m.P[a + t, 1] * m.own[1, b]
            c = m.row[b] // rows
            normal = m.row[b] < R and m.row[b] - rows * c == 2
            if slides and normal and (b == a + 2 if column < 0 else shares(given, m.row[a] // rows, c, column)):
                m.A[a + t, b] += mobility * mu * along
        m.A[a + t, a + t] += mobility
        for k in range(count):
            m.A[a + t, a + k] -= mobility * m.P[a + t, k]


def put_equations(given, s, n, m):
    """Write A and P of the n rows, from G = J W J', and mobilities: of joints, and means of contacts."""
    rows, R, a, count = given.sizes[SIZE.rows], given.J.shape[0], 0, 0
    for b in range(n):
        copy(m.G[b, :n], m.A[b, :n])
        m.mobility[b] = m.G[b, b]
        if b + 2 < n and m.row[b + 2] < R:
            m.mobility[b] = (m.G[b, b] + m.G[b + 1, b + 1] + m.G[b + 2, b + 2]) / 3
    for b in range(n):
        m.slip[b] = 0.0
        m.A[b, b] += added_of(given, s, m.row[b], ADDED.soft)
    while a < n and m.row[a] < R:
        c = m.row[a] // rows
        local = m.row[a] - rows * c
        if local == 0:
            if state_of(given, c, s, m.sigma) == SLIDING:
                contact = given.contacts[c]
                mu = contact[FRICTION] if s != RECOVERY else contact[FRICTION] * 0
                put_friction(given, s, a, 2, mu, contact[IMPULSES + 6 * s + 2], -1, m, n)
            count = LINEAR
        else:
            column, count = TORSIONAL, 1
            if local == LINEAR:
                column, count = ROLLING, 2
            mu, total = given.contacts[c, column], leads(given, c, column, s)
            torque, turning = absolute(m.impulse[m.row[a]]), absolute(m.sigma[m.row[a]])
            if count == 2:
                torque, turning = length(torque, m.impulse[m.row[a + 1]]), length(turning, m.sigma[m.row[a + 1]])
            if not (torque < (1 - AT_BOUND) * mu * total or turning < STILL):
                put_friction(given, s, a, count, mu, total, column, m, n)
        a += count


def factor_set(given, s, state, m):
    """Write the rows of a set and the factors of their equations; return their number."""
    put_motion_of_set(given, s, m)
    n = put_joint_rows(given, s, state, put_contact_rows(given, s, m), m)
    put_jacobian(given, n, m)
    put_equations(given, s, n, m)
    put_factor(n, m)
    return n


def put_factor(n, m):
    """Factorize A + rho."""
    largest = m.M[0, 0] * 0
    for a in range(n):
        for b in range(n):
            m.F[a, b] = m.A[a, b]
            largest = maximum(largest, absolute(m.A[a, b]))
    for a in range(n):
        m.F[a, a] += PROXIMAL * largest
    factor_pivoted(m.F, n, m.order)


def put_mass(given, armature, state, m):
    """Write M + D, and the rounding of forces; no rows are known."""
    n, m.known[0] = given.sizes[SIZE.n], -1
    for i in range(n):
        copy(given.M[i], m.M[i])
        m.M[i, i] += armature[i]
        m.rounding[i] = armature[i] * 0
    for i in range(n):
        largest = absolute(given.w[0, i])
        for s in range(SETS):
            largest = maximum(largest, maximum(absolute(given.w[s, i]), absolute(given.y[s, i])))
        row, moved = m.M[i], ROUNDING * largest + state[0]
        for d in vectorized(range(n)):
            m.rounding[d] += absolute(row[d]) * moved
