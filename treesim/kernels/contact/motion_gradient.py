"""Gradients of weighted sums of the motion in a step with contact: implicit derivatives at the rows that were solved.

Three sets of impulses (`contact_step`) act along rows J at the configuration q. One set changes a velocity w by
y = W J' lambda, W = (M + D)^-1. Then, with T = d(J' lambda)/dq - d((M + D) y)/dq at constant lambda and y,
    dw = dw_free + W (T dq + J' dlambda),
    dsigma = dJ w + J dw + R dlambda + dbias,
and A dlambda = -P (dJ w + J dw_unforced + dbias) (`set_equations`). Rows may depend on each other; then the impulses
are those of least norm, and the motion is unique. With weights o of dw and s of dlambda, gradients are found backward:
    A' eta = J W o + s,  rho = -P' eta (of dsigma),  u = o + J' rho (of dw_free),  z = W u.
That in q, T' z + dJ' rho, is the one of `row_derivatives.configuration_gradient`. With M + D = L' L and Y = J L^-1, the
products with W are J W J' = Y Y', and z = L^-1 L'^-1 u.
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
from .row_derivatives import CONTACT, FRICTION, GAP, IMPACTS, IMPULSES, LINEAR, SETS
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
    put_products,
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
    gap: Any  # of the configuration in the gaps of contacts


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


def pull_set(given, k, s, n, gradient, z, rho, of_friction, m):
    """Replace the weights m.u of the velocities after a set by those before it; add to the gradients of weight k.

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
    copy(m.u, m.z)
    solve_upper(m.L, m.z)
    solve_lower(m.Lt, m.z)
    copy(m.z, z[s])
    for a in range(n):
        rho[s, m.row[a]] += m.rho[a]
        pull_row(given, s, m.row[a], m.rho[a], gradient, rho, m.of_gap[k], m)


def pull_row(given, s, row, weight, gradient, rho, of_gap, m):
    """Add the gradient of the bias of a row with a weight."""
    R, nv, h = given.J.shape[0], given.sizes[SIZE.n], given.settings[SETTING.h]
    if row < R:
        c = row // given.sizes[SIZE.rows]
        of_gap[c] += weight * added_of(given, s, row, ADDED.in_gap)
        closing = s == POSITIONS and given.contacts[c, GAP] > -CLOSED
        if closing and row - c * given.sizes[SIZE.rows] == 2:
            of_gap[c] += weight / h
    else:
        d = row - R
        side, bound = m.impulse[row], friction_bound(given, s, d)
        gap = given.gaps[0, d] if side > 0 else given.gaps[1, d]
        if s == POSITIONS and absolute(side) > maximum(bound, 0) and gap > -CLOSED:
            gradient[RESULT.start, d] += weight / h
    if given.sizes[SIZE.added] > 0:
        own = given.added[s * (R + nv) + row]
        add_multiple(weight, own[len(ADDED) :], gradient[RESULT.q])
        if row < R:
            add_multiple(weight * own[ADDED.in_start], given.J[row], gradient[RESULT.v])
            add_multiple(weight * own[ADDED.in_mean], given.J[row], gradient[RESULT.mean])
            add_multiple(weight * own[ADDED.in_end], given.J[row], gradient[RESULT.end])
            if own[ADDED.alone] > 0:  # recovery does not change the velocity before it
                add_multiple(-weight, given.J[row], m.u)
                rho[POSITIONS, row] -= weight
        else:
            gradient[RESULT.start, row - R] += weight * own[ADDED.in_gap]
            if own[ADDED.alone] > 0:
                m.u[row - R] -= weight


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
    sizes, settings, state, w, y, armature, gaps, contacts, J, M, added, forces, weights, gradient, z, rho, of_friction,
    shown, m: Any,
):  # fmt: skip
    """Write the gradients (`Results`) of weighted sums of the motion in a step, and what acts.

    weights: of mean and end velocity, then of the motion of impacts, if there are any (`impacts`), with the impulses
    `forces` of joints. state: rounding of velocities, and of the impulses of recovery. z, rho, of_friction: gradients
    in J' lambda - (M + D) y, and in the velocities along the rows, of each set, and in the friction of contacts. Under
    a further set without impacts, contacts move to their gaps in half a step.
    """
    given = Given(sizes, settings, w, y, gaps, contacts, J, M, added)
    nv, K = sizes[SIZE.n], sizes[SIZE.weights]
    put_mass(given, armature, state, m)
    factor_from_last(m.M, m.L, m.Lt)
    gradient.reshape(gradient.size)[:] = 0
    z.reshape(z.size)[:] = 0
    rho.reshape(rho.size)[:] = 0
    of_friction.reshape(of_friction.size)[:] = 0
    m.of_gap.reshape(m.of_gap.size)[:] = 0
    m.of_impulses.reshape(m.of_impulses.size)[:] = 0
    for k in range(K):
        copy(weights[k, :nv], m.through[2 * k])
        copy(weights[k, nv : 2 * nv], m.through[2 * k + 1])
        if sizes[SIZE.impacts] > 0:
            pull_impacts(given, forces, weights[k, 2 * nv :], z[k, IMPACTS], m.of_impulses[2 * k : 2 * k + 2], m)
    for s in range(VELOCITIES, -1, -1):
        if s != RECOVERY or changes(y[RECOVERY]):
            n, place = factor_set(given, s, state, m), s // VELOCITIES
            if s != RECOVERY:
                put_shown(given, s, n, shown[place], m)
            for k in range(K):
                copy(m.through[2 * k + place], m.u)
                for a in range(n):
                    m.eta[a] = m.of_impulses[2 * k + place, m.row[a]] if s != RECOVERY else settings[0] * 0
                pull_set(given, k, s, n, gradient[k], z[k], rho[k], of_friction[k], m)
                copy(m.u, m.through[2 * k + place])
    for k in range(K):
        for place in range(2):
            add_multiple(1, m.through[2 * k + place], gradient[k, RESULT.mean + place])
        pull_gaps(given, m.of_gap[k], gradient[k, RESULT.gap], rho[k])


def pull_gaps(given, of_gap, gradient, rho):
    """Add the gradient in the gaps of contacts; under a further set without impacts, they also change by its motion."""
    for c in range(of_gap.size):
        normal = given.sizes[SIZE.rows] * c + 2
        add_multiple(of_gap[c], given.J[normal], gradient)
        if given.sizes[SIZE.sets] > SETS and given.sizes[SIZE.impacts] == 0:
            rho[SETS, normal] = -given.settings[SETTING.h] / 2 * of_gap[c]


# ---- impacts of a step that is solved twice (`midpoint_correction.motion_of_impacts`)


def acting_part(contact):
    """Return the part of a contact's position impulse that moves positions as velocity impulses do."""
    push, impulse = contact[IMPULSES + 2], contact[IMPULSES + 6 * VELOCITIES + 2]
    return impulse / push if push > impulse else push * 0 + 1


def impacts(sizes, settings, state, w, y, armature, gaps, contacts, J, M, added, forces, acting, motion, m: Any):
    """Write position and velocity impulses of joints, 0 of free ones, and the impulses that act, and their motion."""
    given, rows = Given(sizes, settings, w, y, gaps, contacts, J, M, added), sizes[SIZE.rows]
    put_mass(given, armature, state, m)
    factor_from_last(m.M, m.L, m.Lt)
    for k in range(2):
        s = POSITIONS if k == 0 else VELOCITIES
        put_motion_of_set(given, s, m)
        put_joint_rows(given, s, state, 0, m)
        copy(m.impulse[J.shape[0] :], forces[k])
    for d in range(motion.size):
        motion[d] = minimum(maximum(forces[0, d], minimum(forces[1, d], 0)), maximum(forces[1, d], 0))
    for c in range(contacts.shape[0]):
        part = acting_part(contacts[c])
        for r in range(LINEAR):
            acting[c, r] = part * contacts[c, IMPULSES + r]
            add_multiple(acting[c, r], J[rows * c + r], motion)
    solve_upper(m.L, motion)
    solve_lower(m.Lt, motion)


def pull_impacts(given, forces, weights, z, of_impulses, m):
    """Write z = W weights of the motion of impacts, and the weights of position and velocity impulses (2, R + n)."""
    R = given.J.shape[0]
    copy(weights, z)
    solve_upper(m.L, z)
    solve_lower(m.Lt, z)
    for r in range(0, R, LINEAR):
        put_products(given.J[r : r + LINEAR], z, of_impulses[0, r : r + LINEAR])
    for c in range(given.contacts.shape[0]):
        contact, first, of_part = given.contacts[c], given.sizes[SIZE.rows] * c, z[0] * 0
        part = acting_part(contact)
        for r in range(LINEAR):
            of_part += of_impulses[0, first + r] * contact[IMPULSES + r]
            of_impulses[0, first + r] *= part
        if part < 1:
            of_impulses[1, first + 2] = of_part / contact[IMPULSES + 2]
            of_impulses[0, first + 2] -= part * of_impulses[1, first + 2]
    for d in range(z.size):
        push, impulse = forces[0, d], forces[1, d]
        if minimum(impulse, 0) <= push and push <= maximum(impulse, 0):
            of_impulses[0, R + d] = z[d]
        elif push * impulse > 0:
            of_impulses[1, R + d] = z[d]


TABLES = {"sizes": "TableOfIntegers", "settings": "TableOfReals"}
SIZES = {
    "n": N, "C": f"sizes[{SIZE.contacts}]", "R": f"sizes[{SIZE.contacts}] * sizes[{SIZE.rows}]",
    "K": f"sizes[{SIZE.weights}]",
}  # fmt: skip
GIVEN = {
    "state": "2", "w": f"sizes[{SIZE.sets}], n", "y": f"sizes[{SIZE.sets}], n", "armature": "n", "gaps": "2, n",
    "contacts": f"C, {CONTACT} | unchecked", "J": "R, n | unchecked", "M": "n, n | unchecked",
    "added": f"{SETS} * (R + n) * sizes[{SIZE.added}], n + {len(ADDED)}",
}  # fmt: skip

impacts_states = entry(
    impacts, (scratch_for,), TABLES, SIZES, **GIVEN, forces="-> 2, n", acting=f"-> C, {LINEAR}", motion="-> n"
)
motion_gradient_states = entry(
    motion_gradient,
    (scratch_for,),
    TABLES,
    SIZES,
    **GIVEN,
    forces=f"2 * sizes[{SIZE.impacts}], n",
    weights=f"K, (2 + sizes[{SIZE.impacts}]) * n",
    gradient=f"-> K, {len(RESULT)}, n",
    z=f"-> K, sizes[{SIZE.sets}], n",
    rho=f"-> K, sizes[{SIZE.sets}], R + n",
    of_friction="-> K, C",
    shown="-> 2, C + n, 3 | unchecked",
)  # fmt: skip
