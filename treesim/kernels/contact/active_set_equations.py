"""Equations of a step on the active set, and their solution, for one state or for states on SIMD lanes.

All rows are unknowns; rows outside the set, which differs between lanes, are fixed. With B the directions of the
impulses of all unknowns (`active_set`), and C the combinations of rows that are equations, a step is
    B x, (C G B + D) x = -C sigma.
An unknown that is not in the set has a unit row and column, so that it is zero. Pivots are taken in order, since their
choice would differ between lanes. A poor one spoils the step, which `run_active_set` then rejects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import (
    Band,
    FactorFunctions,
    compact,
    end_of_band,
    factor_in_order,
    in_threes,
    lower_of_columns,
    put_ends,
    put_unit_rows,
    solve_in_order,
    store_columns,
    upper_of_columns,
)
from ..algebra.linear import Vector
from ..algebra.numbers import absolute, maximum, select, some, vectorized
from .problem import mobility, put_reach

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


def put_unknowns(problem, impulse, sigma, m):
    """Compute the directions of all contacts' unknowns, and the right-hand sides m.b of all equations.

    Directions of unknowns that are not in the set are zero. m.used: 1 for the rows whose unknown and equation are their
    own, 0 for others.
    """
    for c in range(problem.contacts):
        r, mu = 3 * c, problem.mu[c]
        does, ex, ey = m.does[r], m.e[0, r], m.e[1, r]
        slides, sticks = does == SLIDES, select(does == STICKS, 1.0, 0.0)
        third = select(does == FIXED, 0, 1.0)
        d = Directions(
            select(slides, -ey, sticks), select(slides, ex, 0), sticks, select(slides, mu * ex, 0),
            select(slides, mu * ey, 0), third,
        )  # fmt: skip
        m.directions[0, r], m.directions[0, r + 1], m.directions[0, r + 2] = d.x, d.y, d.second
        m.directions[1, r], m.directions[1, r + 1], m.directions[1, r + 2] = d.mu_x, d.mu_y, d.third
        m.used[r], m.used[r + 1], m.used[r + 2] = sticks, sticks, third
        across = select(slides, d.x * impulse[r] + d.y * impulse[r + 1], 0)
        m.b[r] = -(d.x * sigma[r] + d.y * sigma[r + 1]) - m.s[r] * across
        m.b[r + 1], m.b[r + 2] = -d.second * sigma[r + 1], -d.third * sigma[r + 2]
    for r in range(3 * problem.contacts, problem.rows):
        m.used[r] = select(m.does[r] == STICKS, 1.0, 0.0)
        m.b[r] = -m.used[r] * sigma[r]
    for r in range(problem.rows, m.A.shape[0]):
        m.b[r] = 0.0
    for r in range(problem.rows):
        m.step[r] = m.b[r]


def directions(m, c):
    """Return the directions of contact c's unknowns, which `put_unknowns` computed."""
    d, r = m.directions, 3 * c
    return Directions(d[0, r], d[0, r + 1], d[0, r + 2], d[1, r], d[1, r + 1], d[1, r + 2])


def combined_rows(G, r, k, d):
    """Return column k of G, combined to the equations of the contact with first row r and directions d."""
    x, y = G[r, k], G[r + 1, k]
    return Vector(d.x * x + d.y * y, d.second * y, d.third * G[r + 2, k])


def put_columns(A, r, k, x, y, z, d):
    """Write three entries of row r of A, combined to the unknowns of the contact with directions d."""
    A[r, k], A[r, k + 1], A[r, k + 2] = d.x * x + d.y * y, d.second * y, d.mu_x * x + d.mu_y * y + d.third * z


def put_block(G, A, r, k, row, column):
    """Write the 3x3 block of A = C G B at (r, k), for the directions of its rows' contact and of its columns'."""
    x, y, z = (combined_rows(G, r, k, row), combined_rows(G, r, k + 1, row), combined_rows(G, r, k + 2, row))
    put_columns(A, r, k, x.x, y.x, z.x, column)
    put_columns(A, r + 1, k, x.y, y.y, z.y, column)
    put_columns(A, r + 2, k, x.z, y.z, z.z, column)


def combine(problem, m):
    """m.A = C G B + D; D is s across the direction of slip."""
    n, scalar, G, A = problem.rows, 3 * problem.contacts, problem.G, m.A
    for c in range(problem.contacts):
        r, d = 3 * c, directions(m, c)
        for k in range(problem.contacts):
            put_block(G, A, r, 3 * k, d, directions(m, k))
        A[r, r] += m.s[r]
        for k in range(scalar, n):
            x, used = combined_rows(G, r, k, d), m.used[k]
            A[r, k], A[r + 1, k], A[r + 2, k] = used * x.x, used * x.y, used * x.z
    for r in range(scalar, n):
        for c in range(problem.contacts):
            k, used = 3 * c, m.used[r]
            put_columns(A, r, k, used * G[r, k], used * G[r, k + 1], used * G[r, k + 2], directions(m, c))
        for k in range(scalar, n):
            A[r, k] = m.used[k] * (m.used[r] * G[r, k])


def put_equations(problem, regular, slipping, m):
    """Write the matrix of all equations, C G B + D, with the proximal term. slipping: whether any contact slips."""
    n, G = problem.rows, problem.G
    if some(slipping):
        combine(problem, m)
    else:
        for r in range(n):
            for k in vectorized(range(n)):
                m.A[r, k] = m.used[k] * (m.used[r] * G[r, k])
    put_unit_rows(m.A, n)
    for r in range(n):
        m.rho[r] = select(m.A[r, r] == 0, 0, regular * mobility(problem, r))
        m.A[r, r] = select(m.A[r, r] == 0, 1.0, m.A[r, r] + m.rho[r])


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
    """Memory of the band of a matrix of at most `rows` rows; by: `elimination.FactorFunctions`."""
    k = np.zeros((2, in_threes(rows)), np.int64)
    return Band(k[0], k[1], by)


def find_band(problem, band):
    """Determine the band of G: all rows where they are few."""
    if problem.rows > FEW_ROWS:
        put_reach(problem, band.begin)
    else:
        for r in range(problem.rows):
            band.begin[r] = 0
    put_ends(band, problem.rows)


ONE_STATE = FactorFunctions(find_band, end_of_band, store_columns, lower_of_columns, upper_of_columns)


def solve_unknowns(problem, impulse, sigma, regular, memory):
    """Compute the step memory.step of all impulses on the active sets."""
    n = problem.rows
    m = memory._replace(A=compact(memory.A, n), L=compact(memory.L, n))
    slipping, single = slip_and_single(problem, m)
    proximal = select(single, 0, regular)
    factored = is_factored(problem, proximal, m)
    put_unknowns(problem, impulse, sigma, m)
    if some(slipping or not factored):
        m.band.by.find(problem, m.band)
        put_equations(problem, proximal, slipping, m)
        factor_in_order(m.A, m.L, m.band)
    solve_in_order(m.A, m.L, m.b, m.band)
    repeat_proximal(problem, slipping, m)
    put_step(problem, m)


def repeat_proximal(problem, slipping, m):
    """Solve again for right-hand sides plus rho x, x from the solution before, where nothing slips.

    The velocity that a step leaves is the change of rho x. Each repetition multiplies it by the ratio of rho to the
    mobility of rows together, which is small unless they hardly move.
    """
    n, taken, going = problem.rows, 0, not slipping
    while taken < REPETITIONS and some(going):
        for r in range(n):
            m.first[r] = m.b[r]
            m.b[r] = m.step[r] + m.rho[r] * m.b[r]
        solve_in_order(m.A, m.L, m.b, m.band)
        left = m.b[0] * 0
        for r in range(n):
            m.b[r] = select(going, m.b[r], m.first[r])
            left = maximum(left, m.rho[r] * absolute(m.b[r] - m.first[r]))
        going = going and left > ACCURATE
        taken += 1


def put_step(problem, m):
    """Compute the step of all impulses from the changes m.b of the unknowns."""
    for c in range(problem.contacts):
        d, r = directions(m, c), 3 * c
        m.step[r] = d.x * m.b[r] + d.mu_x * m.b[r + 2]
        m.step[r + 1] = d.y * m.b[r] + d.second * m.b[r + 1] + d.mu_y * m.b[r + 2]
        m.step[r + 2] = d.third * m.b[r + 2]
    for r in range(3 * problem.contacts, problem.rows):
        m.step[r] = m.b[r]
