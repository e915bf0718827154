"""Equations of a step on the active set, and their solution for one state.

Unknowns are the impulses of free rows and of contacts that stick, and lambda_n and lambda_w of contacts that slip (see
`active_set`). Without slip the matrix is symmetric; its factor serves later steps with the same states of rows.
"""

from __future__ import annotations

from ..algebra.cholesky import factor_banded, solve_banded
from ..algebra.elimination import solve_general
from ..algebra.numbers import absolute, maximum, vectorized
from .problem import first_of, mobility, put_reach

REPETITIONS, ACCURATE = 2, 1e-14  # of a proximal step at most; m/s, rad/s: velocities that need no further one
FIXED, HELD, SLIDES, SMOOTH = 0, 1, 2, 3  # what a row does, or a contact at its first; SMOOTH: touches without friction
UNIT, PUSH, ACROSS = 0, 1, 2  # an unknown: the impulse of a row, or lambda_n or lambda_w of a contact that slips


def solve_unknowns(problem, impulse, sigma, regular, m):
    """Compute the step m.step of all impulses on the active set."""
    count = put_unknowns(problem, m)
    matrix = m.A.reshape(m.A.size)[: count * count].reshape((count, count))
    if count > 0 and first_of(problem, m.row[0]) == first_of(problem, m.row[count - 1]):
        regular = 0.0  # unknowns of one contact do not depend on each other: the step is exact
    if has_slip(m, count):
        put_reach(problem, m.reach)
        put_band(problem, m, count)
        for i in range(count):
            put_equation(problem, impulse, sigma, regular, m._replace(A=matrix), i, count)
        solve_general(matrix, m.b[:count], m.begin, m.end)
        problem.factored[0] = 0.0
    else:
        if not is_factored(problem, regular, m):
            put_reach(problem, m.reach)
            put_band(problem, m, count)
            put_symmetric(problem, regular, m._replace(A=matrix), count)
            factor_banded(matrix, m.begin)
        repeat_proximal(sigma, matrix, m, count)
    put_step(problem, m, count)


def put_unknowns(problem, m):
    """Add all unknowns of the active set; return their number."""
    j = 0
    for c in range(problem.contacts):
        r = 3 * c
        m.place[r] = j
        if m.does[r] == HELD:
            for k in range(3):
                j = put_unknown(m, j, r + k, UNIT)
        elif m.does[r] == SMOOTH:
            j = put_unknown(m, j, r + 2, UNIT)
        elif m.does[r] == SLIDES:
            j = put_unknown(m, put_unknown(m, j, r, PUSH), r, ACROSS)
    for r in range(3 * problem.contacts, problem.rows):
        m.place[r] = j
        if m.does[r] == HELD:
            j = put_unknown(m, j, r, UNIT)
    return j


def put_unknown(m, j, row, kind):
    """Add unknown j; return the number of unknowns."""
    m.row[j], m.kind[j] = row, kind
    return j + 1


def put_band(problem, m, count):
    """Determine which unknowns are in each equation, from `put_reach` and the pattern's symmetry."""
    for i in range(count):
        m.begin[i] = m.place[m.reach[first_of(problem, m.row[i])]]
    end = 0
    for i in range(count):
        while end < count and m.begin[end] <= i:
            end += 1
        m.end[i] = end


def has_slip(m, count):
    """Return whether any unknown is that of a slipping contact, so that the equations are not symmetric."""
    found = False
    for j in range(count):
        found = found or m.kind[j] != UNIT
    return found


def put_equation(problem, impulse, sigma, regular, m, i, count):
    """Write equation i of the changes of the unknowns."""
    k = m.row[i]
    for j in range(count):
        m.A[i, j] = impulse[0] * 0
    if m.kind[i] == ACROSS:
        ex, ey = m.e[0, k], m.e[1, k]
        for j in range(m.begin[i], m.end[i]):
            m.A[i, j] = ex * response_of(problem, m, k + 1, j) - ey * response_of(problem, m, k, j)
        m.A[i, i] += m.s[k]
        m.b[i] = ey * sigma[k] - ex * sigma[k + 1] - m.s[k] * (ex * impulse[k + 1] - ey * impulse[k])
    else:
        r = k + 2 if m.kind[i] == PUSH else k
        for j in range(m.begin[i], m.end[i]):
            m.A[i, j] = response_of(problem, m, r, j)
        m.b[i] = -sigma[r]
    m.A[i, i] += regular * mobility(problem, k)


def response_of(problem, m, r, j):
    """Return the change of row r's velocity per unit of unknown j."""
    k, G = m.row[j], problem.G
    if m.kind[j] == UNIT:
        found = G[k, r]
    elif m.kind[j] == PUSH:
        found = G[k + 2, r] + problem.mu[k // 3] * (m.e[0, k] * G[k, r] + m.e[1, k] * G[k + 1, r])
    else:
        found = m.e[0, k] * G[k + 1, r] - m.e[1, k] * G[k, r]
    return found


def put_symmetric(problem, regular, m, count):
    """Write the matrix of equations without slip, on and above the diagonal."""
    for i in range(count):
        r = m.row[i]
        if count == problem.rows:  # all rows in order
            for j in vectorized(range(i, m.end[i])):
                m.A[i, j] = problem.G[i, j]
        else:
            for j in range(i, m.end[i]):
                m.A[i, j] = problem.G[r, m.row[j]]
        m.rho[i] = regular * mobility(problem, r)
        m.A[i, i] += m.rho[i]


def is_factored(problem, regular, m):
    """Return whether the matrix is the factor for these states of all rows, which are then those of the next factor."""
    same = problem.factored[0] == 1 and m.regular[0] == regular
    for c in range(problem.contacts):
        same = same and m.noted[3 * c] == m.does[3 * c]
        m.noted[3 * c] = m.does[3 * c]
    for r in range(3 * problem.contacts, problem.rows):
        same = same and m.noted[r] == m.does[r]
        m.noted[r] = m.does[r]
    problem.factored[0], m.regular[0] = 1.0, regular
    return same


def repeat_proximal(sigma, factor, m, count):
    """Solve for m.b with right-hand sides -sigma, and again with -sigma + rho x, x from the solution before.

    The velocity that a step leaves is the change of rho x. Each repetition multiplies it by the ratio of rho to the
    mobility of rows together, which is small unless they hardly move.
    """
    for i in range(count):
        m.b[i] = -sigma[m.row[i]]
    solve_banded(factor, m.b[:count], m.begin)
    taken, left = 0, sigma[0] * 0 + ACCURATE + 1
    while taken < REPETITIONS and left > ACCURATE:
        for i in range(count):
            m.first[i] = m.b[i]
            m.b[i] = m.rho[i] * m.b[i] - sigma[m.row[i]]
        solve_banded(factor, m.b[:count], m.begin)
        left = sigma[0] * 0
        for i in range(count):
            left = maximum(left, m.rho[i] * absolute(m.b[i] - m.first[i]))
        taken += 1


def put_step(problem, m, count):
    """Compute the step of all impulses from the changes m.b of the unknowns."""
    for r in range(problem.rows):
        m.step[r] = m.b[0] * 0
    for j in range(count):
        k, change = m.row[j], m.b[j]
        if m.kind[j] == UNIT:
            m.step[k] += change
        elif m.kind[j] == PUSH:
            mu = problem.mu[k // 3]
            m.step[k] += mu * m.e[0, k] * change
            m.step[k + 1] += mu * m.e[1, k] * change
            m.step[k + 2] += change
        else:
            m.step[k] -= m.e[1, k] * change
            m.step[k + 1] += m.e[0, k] * change
