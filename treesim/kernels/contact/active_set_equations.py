"""Equations of a step on the active set, and their solution, for one state or for states on SIMD lanes.

Unknowns are those in the set of some lane. With B the directions of their impulses (`active_set`), and C the
combinations of rows that are equations, a step is
    B x, (C G B + D) x = -C sigma.
An unknown that is not in a lane's set has a unit row and column, so that it is zero, and changes no bit of the others.
Pivots are taken in order, since their choice would differ between lanes. A poor one spoils the step, which
`run_active_set` then rejects.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import (
    Band,
    FactorFunctions,
    compact,
    end_of_band,
    end_of_rows,
    factor_in_order,
    in_threes,
    lower_of_columns,
    put_ends,
    put_unit_rows,
    solve_in_order,
    store_columns,
    upper_of_columns,
    whole_band,
)
from ..algebra.linear import Vector
from ..algebra.numbers import absolute, maximum, select, some, vectorized
from .problem import add_four, change_impulse, mobility, put_reach, relative_velocities

FEW_ROWS = 48  # of which it does not pay to look for a band
REPETITIONS, ACCURATE = 2, 1e-14  # of a proximal step at most; m/s, rad/s: velocities that need no further one
FIXED, STICKS, SLIDES, SMOOTH = 0, 1, 2, 3  # what a row or contact (at its first row) does; SMOOTH: has no friction


class Directions(NamedTuple):
    """Directions of a contact's three unknowns: (x, y, 0), (0, second, 0) and (mu_x, mu_y, 1) third."""

    x: Any
    y: Any
    second: Any
    mu_x: Any
    mu_y: Any
    third: Any


def list_unknowns(problem, m):
    """List in m.rows the rows whose unknown is in the set of some lane, all three of a contact.

    Return their number, and that of the contacts among them. Numbers below that are of unknowns are indices of this
    list.
    """
    n = 0
    for c in range(problem.contacts):
        if some(m.does[3 * c] != FIXED):
            m.rows[n], m.rows[n + 1], m.rows[n + 2] = 3 * c, 3 * c + 1, 3 * c + 2
            n += 3
    contacts = n // 3
    for r in range(3 * problem.contacts, problem.rows):
        if some(m.does[r] == STICKS):
            m.rows[n] = r
            n += 1
    return n, contacts


def put_unknowns(problem, impulse, sigma, m, n, contacts):
    """Compute the directions of all contacts' unknowns, and the right-hand sides m.b of all equations.

    Directions of unknowns that are not in the set are zero. m.used: 1 for the unknowns in the set whose equation is
    that of their row, 0 for others.
    """
    for i in range(0, 3 * contacts, 3):
        r = m.rows[i]
        mu, does, ex, ey = problem.mu[r // 3], m.does[r], m.e[0, r], m.e[1, r]
        slides, sticks = does == SLIDES, select(does == STICKS, 1.0, 0.0)
        third = select(does == FIXED, 0, 1.0)
        d = Directions(
            select(slides, -ey, sticks), select(slides, ex, 0), sticks, select(slides, mu * ex, 0),
            select(slides, mu * ey, 0), third,
        )  # fmt: skip
        m.directions[0, i], m.directions[0, i + 1], m.directions[0, i + 2] = d.x, d.y, d.second
        m.directions[1, i], m.directions[1, i + 1], m.directions[1, i + 2] = d.mu_x, d.mu_y, d.third
        m.used[i], m.used[i + 1], m.used[i + 2] = sticks, sticks, third
        across = select(slides, d.x * impulse[r] + d.y * impulse[r + 1], 0)
        m.b[i] = -(d.x * sigma[r] + d.y * sigma[r + 1]) - m.s[r] * across
        m.b[i + 1], m.b[i + 2] = -d.second * sigma[r + 1], -d.third * sigma[r + 2]
    for i in range(3 * contacts, n):
        m.used[i] = select(m.does[m.rows[i]] == STICKS, 1.0, 0.0)
        m.b[i] = -m.used[i] * sigma[m.rows[i]]
    for i in range(n, m.A.shape[0]):
        m.b[i] = 0.0


def directions(m, i):
    """Return the directions of the unknowns i, i + 1 and i + 2 of a contact, which `put_unknowns` computed."""
    d = m.directions
    return Directions(d[0, i], d[0, i + 1], d[0, i + 2], d[1, i], d[1, i + 1], d[1, i + 2])


def combined_rows(G, r, k, d):
    """Return column k of G, combined to the equations of the contact with first row r and directions d."""
    x, y = G[r, k], G[r + 1, k]
    return Vector(d.x * x + d.y * y, d.second * y, d.third * G[r + 2, k])


def put_columns(A, i, j, x, y, z, d):
    """Write three entries of row i of A, combined to the unknowns of the contact with directions d."""
    A[i, j], A[i, j + 1], A[i, j + 2] = d.x * x + d.y * y, d.second * y, d.mu_x * x + d.mu_y * y + d.third * z


def put_block(G, m, i, j):
    """Write the 3x3 block of C G B at the unknowns i and j of two contacts."""
    r, k, row, column = m.rows[i], m.rows[j], directions(m, i), directions(m, j)
    x, y, z = combined_rows(G, r, k, row), combined_rows(G, r, k + 1, row), combined_rows(G, r, k + 2, row)
    put_columns(m.A, i, j, x.x, y.x, z.x, column)
    put_columns(m.A, i + 1, j, x.y, y.y, z.y, column)
    put_columns(m.A, i + 2, j, x.z, y.z, z.z, column)


def combine(G, m, n, contacts):
    """m.A = C G B + D; D is s across the direction of slip. Blocks of contacts are written within the band."""
    A, scalar = m.A, 3 * contacts
    for i in range(0, scalar, 3):
        for j in range(m.band.begin[i], min(m.band.by.end_of(m.band, i, n), scalar), 3):
            put_block(G, m, i, j)
        A[i, i] += m.s[m.rows[i]]
        for j in range(scalar, n):
            x, used = combined_rows(G, m.rows[i], m.rows[j], directions(m, i)), m.used[j]
            A[i, j], A[i + 1, j], A[i + 2, j] = used * x.x, used * x.y, used * x.z
    for i in range(scalar, n):
        r, used = m.rows[i], m.used[i]
        for j in range(0, scalar, 3):
            k = m.rows[j]
            put_columns(A, i, j, used * G[r, k], used * G[r, k + 1], used * G[r, k + 2], directions(m, j))
        for j in range(scalar, n):
            A[i, j] = m.used[j] * (used * G[r, m.rows[j]])


def put_equations(problem, regular, slipping, m, n, contacts):
    """Write the matrix of all equations, C G B + D, with the proximal term. slipping: whether any contact slips."""
    G = problem.G
    if some(slipping):
        combine(G, m, n, contacts)
    else:
        for i in range(n):
            for j in vectorized(range(m.band.begin[i], min(m.band.by.end_of(m.band, i, n), n))):
                m.A[i, j] = m.used[j] * (m.used[i] * G[m.rows[i], m.rows[j]])
    put_unit_rows(m.A, n)
    for i in range(n):
        m.rho[i] = select(m.A[i, i] == 0, 0, regular * mobility(problem, m.rows[i]))
        m.A[i, i] = select(m.A[i, i] == 0, 1.0, m.A[i, i] + m.rho[i])


def slip_and_single(problem, m):
    """Return whether any contact slips, and whether all unknowns are those of one contact, or of one scalar row.

    Equations with slip are not symmetric, and change with its direction. Unknowns of one contact do not depend on each
    other, so that a step without proximal term is exact.
    """
    slipping, count = False, problem.g[0] * 0
    for c in range(problem.contacts):
        slipping = slipping or m.does[3 * c] == SLIDES
        count += select(m.does[3 * c] == FIXED, 0, 1)
    for r in range(3 * problem.contacts, problem.rows):
        count += select(m.does[r] == STICKS and problem.low[r] < problem.high[r], 1, 0)
    return slipping, count <= 1


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


def band_memory(rows, by):
    """Memory of the band of a matrix of at most `rows` rows, of all at first; by: `elimination.FactorFunctions`."""
    size = in_threes(rows)
    k = np.zeros((2, size), np.int64)
    for r in range(size):
        k[1, r] = size
    return Band(k[0], k[1], by)


def find_band(problem, band):
    """Determine the band of G: all rows where they are few."""
    if problem.rows > FEW_ROWS:
        put_reach(problem, band.begin)
    else:
        for r in range(problem.rows):
            band.begin[r] = 0
    put_ends(band, problem.rows)


class BandFunctions(NamedTuple):
    """What differs between a matrix G with a band and one without.

    find (problem, whole): determines the band `whole` of G if G is new. narrow (whole, band, rows, n): determines the
    band of n rows. velocities (problem, impulse, sigma, whole): computes sigma = G lambda + g.
    """

    find: Any
    narrow: Any
    velocities: Any


def update_band(problem, whole):
    """Determine the band of G if G is new."""
    if some(problem.factored[0] == 0):
        whole.by.find(problem, whole)
        problem.factored[0] = -1.0


def narrow(whole, band, rows, n):
    """Determine the band of n rows of a matrix whose band is `whole`, in whole threes."""
    k = 0
    for i in range(0, n, 3):
        while k < i and rows[k + 2] < whole.begin[rows[i]]:
            k += 3
        band.begin[i], band.begin[i + 1], band.begin[i + 2] = k, k, k
    put_ends(band, n)


def velocities_within(problem, impulse, sigma, whole):
    """sigma = G lambda + g, as `problem.relative_velocities`, from the band of G."""
    n, G, columns = problem.rows, problem.G, problem.G.shape[1]
    for r in vectorized(range(columns)):
        sigma[r] = problem.g[r]
    fours = n - n % 4
    for s in range(0, fours, 4):
        add_four(G, s, whole.begin[s], min(whole.by.end_of(whole, s + 3, columns), columns), impulse, sigma)
    for s in range(fours, n):
        change_impulse(problem, s, impulse[s], sigma)


def update_nothing(problem, whole):
    """Do nothing: there is no band."""


def narrow_nothing(whole, band, rows, n):
    """Leave a band of all rows, as its memory is made."""


def velocities_of_all(problem, impulse, sigma, whole):
    """sigma = G lambda + g."""
    relative_velocities(problem, impulse, sigma)


WITH_BAND = BandFunctions(update_band, narrow, velocities_within)
WITHOUT_BAND = BandFunctions(update_nothing, narrow_nothing, velocities_of_all)
ONE_STATE = FactorFunctions(find_band, end_of_band, store_columns, lower_of_columns, upper_of_columns)
ONE_SUBTREE = ONE_STATE._replace(find=whole_band, end_of=end_of_rows)  # whose rows mostly depend on each other


def solve_unknowns(problem, impulse, sigma, regular, memory):
    """Compute the step memory.step of all impulses on the active sets."""
    n, contacts = list_unknowns(problem, memory)
    m = memory._replace(A=compact(memory.A, n), L=compact(memory.L, n))
    slipping, single = slip_and_single(problem, m)
    proximal = select(single, 0, regular)
    factored = is_factored(problem, proximal, m)
    put_unknowns(problem, impulse, sigma, m, n, contacts)
    for i in range(n):
        m.step[i] = m.b[i]
    if some(slipping or not factored):
        m.within.narrow(m.whole, m.band, m.rows, n)
        put_equations(problem, proximal, slipping, m, n, contacts)
        factor_in_order(m.A, m.L, m.band)
        for i in range(n):
            m.spent[0] += (i - m.band.begin[i]) * (i - m.band.begin[i])
    m.spent[0] += n * n  # of solutions, and of products with G
    solve_in_order(m.A, m.L, m.b, m.band)
    repeat_proximal(slipping, m, n)
    put_step(problem, m, n, contacts)


def repeat_proximal(slipping, m, n):
    """Solve again for right-hand sides plus rho x, x from the solution before, where nothing slips.

    The velocity that a step leaves is the change of rho x. Each repetition multiplies it by the ratio of rho to the
    mobility of rows together, which is small unless they hardly move.
    """
    taken, going = 0, not slipping
    while taken < REPETITIONS and some(going):
        for i in range(n):
            m.first[i] = m.b[i]
            m.b[i] = m.step[i] + m.rho[i] * m.b[i]
        solve_in_order(m.A, m.L, m.b, m.band)
        left = m.regular[0] * 0
        for i in range(n):
            m.b[i] = select(going, m.b[i], m.first[i])
            left = maximum(left, m.rho[i] * absolute(m.b[i] - m.first[i]))
        going = going and left > ACCURATE
        taken += 1


def put_step(problem, m, n, contacts):
    """Compute the step of all impulses from the changes m.b of the unknowns."""
    for r in range(problem.rows):
        m.step[r] = problem.g[0] * 0
    for i in range(0, 3 * contacts, 3):
        d, r = directions(m, i), m.rows[i]
        m.step[r] = d.x * m.b[i] + d.mu_x * m.b[i + 2]
        m.step[r + 1] = d.y * m.b[i] + d.second * m.b[i + 1] + d.mu_y * m.b[i + 2]
        m.step[r + 2] = d.third * m.b[i + 2]
    for i in range(3 * contacts, n):
        m.step[m.rows[i]] = m.b[i]
