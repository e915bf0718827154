"""Gradients of weighted sums of the motion in a step with contact: implicit derivatives at the rows that were solved.

Three sets of impulses (`contact_step`) act along rows J at the configuration q. One set changes a velocity w by
y = W J' lambda, W = (M + D)^-1. Then, with T = d(J' lambda)/dq - d((M + D) y)/dq at constant lambda and y,
    dw = dw_free + W (T dq + J' dlambda),
    dsigma = dJ w + J dw + R dlambda + dbias,
and A dlambda = -P (dJ w + J dw_unforced + dbias) (`set_equations`). Rows may depend on each other; then the impulses
are those of least norm, and the motion is unique. With weights o of dw and s of dlambda, gradients are found backward:
    A' eta = J W o + s,  rho = -P' eta (of dsigma),  u = o + J' rho (of dw_free),  z = W u.
That in q, T' z + dJ' rho, is the one of `row_derivatives.configuration_gradient`. With M + D = L' L and Y = J L^-1, the
products with W are J W J' = Y Y', and z = L^-1 (L'^-1 o + Y' rho).
"""

from typing import Any, NamedTuple

from ..algebra.numbers import absolute, maximum, minimum
from ..algebra.pivoted import (
    add_multiple,
    add_product,
    copy,
    factor_from_last,
    solve_lower,
    solve_transposed,
    solve_upper,
)
from ..entries.entry import entry
from .layout import numbered
from .row_derivatives import CONTACT, FRICTION, GAP, IMPULSES, SETS
from .set_equations import (
    ADDED,
    POSITIONS,
    RECOVERY,
    SETTING,
    SIZE,
    SLIDING,
    VELOCITIES,
    Given,
    N,
    added_of,
    factor_set,
    friction_bound,
    length,
    put_joint_rows,
    put_mass,
    put_motion_of_set,
    scratch_for,
    state_of,
)

CLOSED = 1e-9  # m, rad: a gap that is larger than minus this is closed by the step
REPETITIONS, SOLVED = 4, 1e-14  # steps; of the right-hand side


class Results(NamedTuple):
    """Gradients (n,) in the row `gradient` of a weight."""

    q: Any  # of the configuration in added terms
    start: Any  # of the configuration in the gaps of joint limits
    v: Any
    mean: Any  # unconstrained motion
    end: Any
    positions: Any  # J' lambda - (M + D) y of each set, at constant lambda and y
    recovery: Any
    velocities: Any


RESULT = numbered(Results)


def solve_set(n, m):
    """Replace m.eta by a solution of A' eta = m.eta, for a matrix that may be singular, by proximal steps.

    They are the transpose of (A + rho) dx = b - A x.
    """
    largest = m.M[0, 0] * 0
    for a in range(n):
        largest = maximum(largest, absolute(m.eta[a]))
        m.left[a], m.rho[a], m.eta[a] = m.eta[a], -m.eta[a], 0.0
    steps, missed = 0, largest
    while steps < REPETITIONS and missed > SOLVED * largest:
        solve_transposed(m.F, n, m.order, m.left[:n])
        for a in range(n):
            m.eta[a] += m.left[a]
            m.left[a] = m.rho[a]
        add_product(m.A, n, m.eta, m.left[:n])
        missed = missed * 0
        for a in range(n):
            m.left[a] = -m.left[a]
            missed = maximum(missed, absolute(m.left[a]))
        steps += 1


def pull_set(given, s, n, gradient, of_gap, of_rows, of_friction, m):
    """Replace the weights m.u of the velocities after a set by those before it; add to the gradients.

    m.eta: weights of the impulses of its n rows.
    """
    nv, R = given.sizes[SIZE.n], given.J.shape[0]
    if not (changes(m.u) or changes(m.eta[:n])):
        return
    copy(m.u, m.z)
    solve_upper(m.L, m.z)
    add_product(m.Yt, nv, m.z, m.eta[:n])
    solve_set(n, m)
    for a in range(n):
        if s != RECOVERY and m.row[a] < R:
            of_friction[m.row[a] // given.sizes[SIZE.rows]] -= m.eta[a] * m.slip[a]
        b = m.block[a]
        m.rho[a] = -m.P[a, 0] * m.eta[b]
        if b + 1 < n:
            m.rho[a] -= m.P[a, 1] * m.eta[b + 1]
    add_product(m.J, n, m.rho, m.u)
    add_product(m.Y, n, m.rho, m.z)
    solve_lower(m.Lt, m.z)
    copy(m.z, gradient[RESULT.positions + s])
    for a in range(n):
        of_rows[s, m.row[a]] = m.rho[a]
        pull_row(given, s, m.row[a], m.rho[a], gradient, of_gap, m)


def pull_row(given, s, row, rho, gradient, of_gap, m):
    """Add the gradient of the bias of a row; rho: its weight."""
    R, nv, h = given.J.shape[0], given.sizes[SIZE.n], given.settings[SETTING.h]
    if row < R:
        c = row // given.sizes[SIZE.rows]
        of_gap[c] += rho * added_of(given, s, row, ADDED.in_gap)
        closing = s == POSITIONS and given.contacts[c, GAP] > -CLOSED
        if closing and row - c * given.sizes[SIZE.rows] == 2:
            of_gap[c] += rho / h
    else:
        d = row - R
        side, bound = m.impulse[row], friction_bound(given, s, d)
        gap = given.gaps[0, d] if side > 0 else given.gaps[1, d]
        if s == POSITIONS and absolute(side) > maximum(bound, 0) and gap > -CLOSED:
            gradient[RESULT.start, d] += rho / h
    if given.sizes[SIZE.added] > 0:
        own = given.added[s * (R + nv) + row]
        add_multiple(rho, own[len(ADDED) :], gradient[RESULT.q])
        if row < R:
            add_multiple(rho * own[ADDED.in_start], given.J[row], gradient[RESULT.v])
            add_multiple(rho * own[ADDED.in_mean], given.J[row], gradient[RESULT.mean])
            add_multiple(rho * own[ADDED.in_end], given.J[row], gradient[RESULT.end])
            if own[ADDED.alone] > 0:
                add_multiple(-rho, given.J[row], m.u)
        else:
            gradient[RESULT.start, row - R] += rho * own[ADDED.in_gap]
            if own[ADDED.alone] > 0:
                m.u[row - R] -= rho


def put_weights(given, k, s, n, of_impulses, m):
    """Write the weights of the impulses of the n rows."""
    for a in range(n):
        m.eta[a] = 0.0
        if given.sizes[SIZE.of_impulses] > 0:
            m.eta[a] = of_impulses[k, s, m.row[a]]


def put_shown(given, s, n, shown, m):
    """Write state, margin [m/s] and normal velocity of contacts; impulse, whether at rest, and mobility of joints."""
    count, nv, rows, R = given.sizes[SIZE.contacts], given.sizes[SIZE.n], given.sizes[SIZE.rows], given.J.shape[0]
    for c in range(count):
        state, first = state_of(given, c, s, m.sigma), rows * c
        shown[c, 0], shown[c, 1], shown[c, 2] = state, absolute(m.sigma[first + 2]), m.sigma[first + 2]
    for d in range(nv):
        shown[count + d, 0], shown[count + d, 1], shown[count + d, 2] = m.impulse[R + d], 0.0, 0.0
    for a in range(n):
        row = m.row[a]
        if row >= R:
            shown[count + row - R, 1], shown[count + row - R, 2] = 1.0, m.mobility[a]
        elif row % rows == 2:
            c = row // rows
            shown[c, 1] = margin_of(given, c, s, a - 2, m)


def margin_of(given, c, s, a, m):
    """Return how far the velocities of a contact that is pressed are from another state; a: its first row."""
    mobility, contact, k = m.mobility[a], given.contacts[c], IMPULSES + 6 * s
    slack = contact[FRICTION] * contact[k + 2] - length(contact[k], contact[k + 1])
    found = mobility * slack
    if state_of(given, c, s, m.sigma) == SLIDING and contact[FRICTION] > 0:
        found = length(m.sigma[m.row[a]], m.sigma[m.row[a + 1]])
    return minimum(mobility * contact[k + 2], found)


def changes(y):
    """Return whether any number is not zero."""
    found = False
    for k in range(y.size):
        found = found or y[k] != 0
    return found


def motion_gradient(
    sizes, settings, state, w, y, armature, gaps, contacts, J, M, added, weights, of_impulses, gradient, of_gap,
    of_rows, of_friction, shown, m: Any,
):  # fmt: skip
    """Write the gradients (`Results`) of weighted sums of the motion in a step, and what acts.

    weights: of mean and end velocity. state: rounding of velocities, and of the impulses of recovery. of_gap, of_rows,
    of_friction: gradients in the gaps, in the velocities along the rows of each set, and in the friction of contacts.
    """
    given = Given(sizes, settings, w, y, gaps, contacts, J, M, added)
    nv = sizes[SIZE.n]
    put_mass(given, armature, state, m)
    factor_from_last(m.M, m.L, m.Lt)
    gradient.reshape(gradient.size)[:] = 0
    of_gap.reshape(of_gap.size)[:] = 0
    of_rows.reshape(of_rows.size)[:] = 0
    of_friction.reshape(of_friction.size)[:] = 0
    for i in range(sizes[SIZE.weights]):
        for j in range(nv):
            m.through[i, j] = weights[i, j]
    n = factor_set(given, VELOCITIES, state, m)
    put_shown(given, VELOCITIES, n, shown[1], m)
    for k in range(sizes[SIZE.weights]):
        copy(weights[k, nv:], m.u)
        put_weights(given, k, 1, n, of_impulses, m)
        pull_set(given, VELOCITIES, n, gradient[k], of_gap[k], of_rows[k], of_friction[k], m)
        add_multiple(1, m.u, gradient[k, RESULT.end])
    if changes(y[RECOVERY]):
        n = factor_set(given, RECOVERY, state, m)
        for k in range(sizes[SIZE.weights]):
            copy(m.through[k], m.u)
            m.eta[:] = 0
            pull_set(given, RECOVERY, n, gradient[k], of_gap[k], of_rows[k], of_friction[k], m)
            copy(m.u, m.through[k])
    n = factor_set(given, POSITIONS, state, m)
    put_shown(given, POSITIONS, n, shown[0], m)
    for k in range(sizes[SIZE.weights]):
        copy(m.through[k], m.u)
        put_weights(given, k, 0, n, of_impulses, m)
        pull_set(given, POSITIONS, n, gradient[k], of_gap[k], of_rows[k], of_friction[k], m)
        add_multiple(1, m.u, gradient[k, RESULT.mean])


def joint_impulses(sizes, settings, state, w, y, armature, gaps, contacts, J, M, added, impulses, m: Any):
    """Write the position and velocity impulses (2, n) of joints at limits or held by friction, 0 of others."""
    given = Given(sizes, settings, w, y, gaps, contacts, J, M, added)
    put_mass(given, armature, state, m)
    for k in range(2):
        s = POSITIONS if k == 0 else VELOCITIES
        put_motion_of_set(given, s, m)
        put_joint_rows(given, s, state, 0, m)
        copy(m.impulse[J.shape[0] : J.shape[0] + sizes[SIZE.n]], impulses[k])


def solve_mass(sizes, armature, M, force, y, m: Any):
    """y = (M + D)^-1 force, of several forces (K, n)."""
    for i in range(sizes[SIZE.n]):
        copy(M[i], m.M[i])
        m.M[i, i] += armature[i]
    factor_from_last(m.M, m.L, m.Lt)
    for k in range(sizes[SIZE.weights]):
        copy(force[k], y[k])
        solve_upper(m.L, y[k])
        solve_lower(m.Lt, y[k])


TABLES = {"sizes": "TableOfIntegers", "settings": "TableOfReals"}
SIZES = {
    "n": N, "C": f"sizes[{SIZE.contacts}]", "R": f"sizes[{SIZE.contacts}] * sizes[{SIZE.rows}]",
    "K": f"sizes[{SIZE.weights}]",
}  # fmt: skip
GIVEN = {
    "state": "2", "w": f"{SETS}, n", "y": f"{SETS}, n", "armature": "n", "gaps": "2, n",
    "contacts": f"C, {CONTACT} | unchecked", "J": "R, n", "M": "n, n",
    "added": f"{SETS} * (R + n) * sizes[{SIZE.added}], n + {len(ADDED)}",
}  # fmt: skip

joint_impulses_states = entry(joint_impulses, (scratch_for,), TABLES, SIZES, **GIVEN, impulses="-> 2, n")
solve_mass_states = entry(
    solve_mass, (scratch_for,), {"sizes": TABLES["sizes"]}, SIZES, armature="n", M="n, n", force="K, n", y="-> K, n"
)
motion_gradient_states = entry(
    motion_gradient,
    (scratch_for,),
    TABLES,
    SIZES,
    **GIVEN,
    weights="K, 2 * n",
    of_impulses=f"K * sizes[{SIZE.of_impulses}], 2, R + n",
    gradient=f"-> K, {len(RESULT)}, n",
    of_gap="-> K, C",
    of_rows=f"-> K, {SETS}, R + n",
    of_friction="-> K, C",
    shown="-> 2, C + n, 3 | unchecked",
)  # fmt: skip
