"""An active-set method for contact impulses, also between Gauss-Seidel sweeps (after Moré and Toraldo 1991).

x = lambda - (sigma + shift) / w of the natural map determines the state of every row. A contact is open where P(x) = 0,
sticks where P(x) = x, and slips otherwise. A scalar row is at the bound that x exceeds, or free between its bounds. On
that set, with the direction e = x_t / |x_t| of friction, the complementarity conditions are linear in the impulses of
the next Newton step:
    free, sticking:  sigma = 0
    slipping:        lambda = lambda_n (n + mu e) + lambda_w w,  w across e:  sigma_n = 0,  sigma_w + s lambda_w = 0,
                     s = w (|x_t| - mu P_n) / (mu P_n), at a solution |sigma_t| / |lambda_t|
The step ends where the first row reaches its bound, or the first contact its cone. That one leaves the set, or slips,
and a step on the smaller set follows, until a full step is possible. Rows may depend on each other, such as those of
feet on the ground between joints at their limits; their velocities need not agree to the last bit. A proximal term, a
small part of each row's mobility, keeps their impulses close to the previous ones. It decreases from one search to the
next. On SIMD lanes (`state_lanes`) every lane has its own sets. Loops run until no lane continues; the results of the
others do not change by a bit.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import Band
from ..algebra.linear import Vector
from ..algebra.numbers import maximum, minimum, select, some, sqrt
from .active_set_equations import (
    FIXED,
    SLIDES,
    SMOOTH,
    STICKS,
    WITH_BAND,
    BandFunctions,
    band_memory,
    solve_unknowns,
)
from .cone import cone_projection
from .problem import (
    clamped,
    mobility,
    project,
    put_triple,
    residual,
    restore_unless,
    store,
    triple,
)

STEPS = 20  # of one search at most
BUDGET = 5e9  # multiplications of the linear equations of one problem; two to five seconds


class ActiveSetMemory(NamedTuple):
    """Scratch memory of the active-set method.

    A, L (M, M), M in whole threes: matrix of the unknowns, and its factor. b: right-hand side. first: their solution
    before. rho: the proximal term of each. does: state of each row. e, s: direction and parameter of friction. step:
    change of the impulses. before: previous impulses and velocities. rows, directions, used: see
    `active_set_equations.list_unknowns` and `put_unknowns`. band, whole: bands of the equations and of G. noted,
    regular: states of the rows of the last factor in A, and its proximal term relative to mobilities.
    within: functions of these bands; without them, whole is 0. spent: multiplications of this problem so far.
    """

    A: Any
    L: Any
    b: Any
    first: Any
    rho: Any
    does: Any
    e: Any  # (2, M)
    s: Any
    step: Any
    before: Any  # (2, M)
    rows: Any
    directions: Any  # (2, M)
    used: Any
    band: Band
    whole: Any
    noted: Any
    regular: Any  # (1,)
    within: BandFunctions
    spent: Any  # (1,)


def active_set_memory(A, L, q, by):
    """Scratch memory with the matrices A and L (M, M), and the dtype of q; by: for one state or for SIMD lanes."""
    M = A.shape[0]
    x, few = np.empty((14, M), q.dtype), np.empty(2, q.dtype)
    few[1] = 0.0
    return ActiveSetMemory(
        A, L, x[0], x[1], x[2], x[3], x[4:6], x[6], x[7], x[8:10], np.empty(M, np.int64), x[10:12], x[12],
        band_memory(M, by), band_memory(M, by), x[13], few[0:1], WITH_BAND, few[1:2],
    )  # fmt: skip


def identify_contact(problem, c, impulse, sigma, m):
    """Determine the state of contact c, and project its impulse accordingly."""
    r, mu = 3 * c, problem.mu[c]
    y, v, w = triple(impulse, r), triple(sigma, r), mobility(problem, r)
    shift, per_w = problem.exact * mu * sqrt(v.x * v.x + v.y * v.y), 1 / w
    x = Vector(y.x - v.x * per_w, y.y - v.y * per_w, y.z - (v.z + shift) * per_w)
    P, length = cone_projection(x, mu), sqrt(x.x * x.x + x.y * x.y)
    m.s[r] = w * 0
    if P.z <= 0:
        m.does[r] = FIXED
        put_triple(impulse, r, Vector(w * 0, w * 0, w * 0))
    elif mu == 0:
        m.does[r] = SMOOTH
        put_triple(impulse, r, Vector(w * 0, w * 0, y.z))
    elif length <= mu * x.z:
        m.does[r] = STICKS
    else:
        m.does[r], m.s[r] = SLIDES, w * (length - mu * P.z) / (mu * P.z)
        m.e[0, r], m.e[1, r] = x.x * (1 / length), x.y * (1 / length)
        put_triple(impulse, r, on_ray(mu, m.e[0, r], m.e[1, r], y))


def on_ray(mu, ex, ey, y):
    """Return y with its tangential component along e replaced by mu y_n; the component across e does not change."""
    across = ex * y.y - ey * y.x
    return Vector(mu * y.z * ex - across * ey, mu * y.z * ey + across * ex, y.z)


def identify(problem, impulse, sigma, m):
    """Determine the states of all rows, and project the impulses accordingly."""
    for c in range(problem.contacts):
        identify_contact(problem, c, impulse, sigma, m)
    for r in range(3 * problem.contacts, problem.rows):
        x = impulse[r] - sigma[r] / problem.G[r, r]
        inside = clamped(problem, r, x)
        m.s[r] = x * 0
        if inside == x:
            m.does[r] = STICKS
        else:
            m.does[r], impulse[r] = FIXED, inside


def part_to_cone(mu, x, d):
    """Return the part t of a step d from x, in the cone, to its boundary: |x_t + t d_t| = mu (x_n + t d_n)."""
    a = d.x * d.x + d.y * d.y - mu * mu * d.z * d.z
    b = x.x * d.x + x.y * d.y - mu * mu * x.z * d.z
    c = minimum(x.x * x.x + x.y * x.y - mu * mu * x.z * x.z, 0)
    root = sqrt(maximum(b * b - a * c, 0))
    part = x.x * 0 + 1
    if b > 0:
        part = -c / (b + root)
    elif a > 0:
        part = (root - b) / a
    return part


def part_of_contact(problem, c, impulse, m):
    """Return the part of the step after which contact c changes its state; 1 if it does not."""
    r, mu = 3 * c, problem.mu[c]
    x, d = triple(impulse, r), triple(m.step, r)
    part, z = x.x * 0 + 1, x.z + d.z
    if m.does[r] == STICKS:
        tx, ty = x.x + d.x, x.y + d.y
        if z < 0 or tx * tx + ty * ty > mu * mu * z * z:
            part = part_to_cone(mu, x, d)
    elif m.does[r] != FIXED and z < 0:
        part = x.z / (x.z - z)
    return part


def part_of_row(problem, r, impulse, m):
    """Return the part of the step after which scalar row r reaches its bound; 1 if it does not."""
    x = impulse[r] + m.step[r]
    inside, part = clamped(problem, r, x), x * 0 + 1
    if m.does[r] == STICKS and inside != x:
        part = (inside - impulse[r]) / m.step[r]
    return part


def first_change(problem, impulse, m):
    """Return the part of the step after which the first row changes its state, and that row; (1, -1) if none does."""
    part, row = impulse[0] * 0 + 1, impulse[0] * 0 - 1
    for c in range(problem.contacts):
        own = part_of_contact(problem, c, impulse, m)
        if own < part:
            part, row = own, 3 * c
    for r in range(3 * problem.contacts, problem.rows):
        own = part_of_row(problem, r, impulse, m)
        if own < part:
            part, row = own, r
    return maximum(part, 0), row


def leave_contact(c, impulse, m):
    """Remove contact c from the active set; a sticking contact may slip."""
    r = 3 * c
    x = triple(impulse, r)
    length = sqrt(x.x * x.x + x.y * x.y)
    if m.does[r] == STICKS and x.z > 0 and length > 0:
        m.does[r] = SLIDES
        m.e[0, r], m.e[1, r] = x.x / length, x.y / length
    else:
        m.does[r] = FIXED
        put_triple(impulse, r, Vector(x.x * 0, x.x * 0, x.x * 0))


def leave(problem, row, impulse, m):
    """Remove `row`, of a contact its first, from the active set; scalar rows are then at their bound."""
    for c in range(problem.contacts):
        if row == 3 * c:
            leave_contact(c, impulse, m)
    for r in range(3 * problem.contacts, problem.rows):
        if row == r:
            m.does[r] = FIXED
            impulse[r] = problem.high[r] if m.step[r] > 0 else problem.low[r]


def search(problem, impulse, sigma, regular, wanted, m):
    """Take steps on a shrinking active set; sigma = G lambda + g before and after. Return the number of steps.

    wanted: mask of the lanes that take steps. Impulses of the others change. No step is taken beyond the BUDGET.
    """
    m.within.find(problem, m.whole)
    identify(problem, impulse, sigma, m)
    m.within.velocities(problem, impulse, sigma, m.whole)
    count, taken, going = 0, impulse[0] * 0, wanted and m.spent[0] < BUDGET
    while count < STEPS and some(going):
        solve_unknowns(problem, impulse, sigma, regular, m)
        part, row = first_change(problem, impulse, m)
        for r in range(problem.rows):
            impulse[r] = select(going, impulse[r] + part * m.step[r], impulse[r])
        if going and row >= 0:
            leave(problem, row, impulse, m)
        elif going:
            project(problem, impulse)
        m.within.velocities(problem, impulse, sigma, m.whole)
        taken += select(going, 1, 0)
        going = going and row >= 0 and m.spent[0] < BUDGET
        count += 1
    return taken


def energy(problem, impulse, sigma):
    """Return lambda' G lambda / 2 + lambda' g = lambda' (sigma + g) / 2."""
    total = impulse[0] * 0
    for r in range(problem.rows):
        total += impulse[r] * (sigma[r] + problem.g[r]) / 2
    return total


def run_active_set(problem, impulse, sigma, regular, wanted, begun, m):
    """Improve impulses by one search; sigma = G lambda + g before and after. Return the number of steps, and residual.

    The result is accepted if it decreases the energy, or if it decreases the residual and adds no energy to the
    unconstrained motion. wanted: mask of the lanes that are improved. begun: the residual before.
    """
    store(problem, impulse, sigma, m.before)
    before = energy(problem, impulse, sigma)
    taken = search(problem, impulse, sigma, regular, wanted, m)
    after, left = energy(problem, impulse, sigma), residual(problem, impulse, sigma)
    better = wanted and (after <= before or (after <= 0 and left < begun))
    restore_unless(better, problem, impulse, sigma, m.before)
    return taken, select(better, left, begun)
