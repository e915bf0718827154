"""Equations of a step on the active set, and their solution, for one state or for states on SIMD lanes.

All rows are unknowns; rows outside the set, which differs between lanes, are fixed. With B the directions of the
impulses of all unknowns (`active_set`), and C the combinations of rows that are equations, a step is
    B x, (C G B + D) x = -C sigma.
An unknown that is not in the set has a unit row and column, so that it is zero. Pivots are taken in order, since their
choice would differ between lanes. A poor one spoils the step, which `run_active_set` then rejects. Where that stalls,
single states exchange rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import (
    Band,
    end_of_band,
    end_of_rows,
    factor_in_order,
    put_ends,
    solve_general,
    solve_in_order,
    whole_band,
)
from ..algebra.linear import Vector
from ..algebra.numbers import absolute, maximum, select, some, vectorized
from .delassus import put_zeros
from .problem import mobility, put_reach

FEW_ROWS = 48  # of which it does not pay to look for a band
REPETITIONS, ACCURATE = 2, 1e-14  # of a proximal step at most; m/s, rad/s: velocities that need no further one
FIXED, HELD, SLIDES, SMOOTH = 0, 1, 2, 3  # what a row does, or a contact at its first; SMOOTH: touches without friction


class Directions(NamedTuple):
    """Directions of a contact's three unknowns: (x, y, 0), (0, second, 0) and (mu_x, mu_y, 1) third."""

    x: Any
    y: Any
    second: Any
    mu_x: Any
    mu_y: Any
    third: Any


def put_directions(problem, m):
    """Compute the directions of all contacts' unknowns; those that are not in the set are zero.

    m.used: 1 for the rows whose unknown and equation are their own, 0 for others.
    """
    for c in range(problem.contacts):
        r, mu = 3 * c, problem.mu[c]
        does, ex, ey = m.does[r], m.e[0, r], m.e[1, r]
        slides, held = does == SLIDES, select(does == HELD, 1.0, 0.0)
        m.directions[0, r], m.directions[0, r + 1] = select(slides, -ey, held), select(slides, ex, 0)
        m.directions[0, r + 2] = held
        m.directions[1, r], m.directions[1, r + 1] = select(slides, mu * ex, 0), select(slides, mu * ey, 0)
        m.directions[1, r + 2] = select(does == FIXED, 0, 1.0)
        m.used[r], m.used[r + 1], m.used[r + 2] = held, held, m.directions[1, r + 2]
    for r in range(3 * problem.contacts, problem.rows):
        m.used[r] = select(m.does[r] == HELD, 1.0, 0.0)


def directions(m, c):
    """Return the directions of contact c's unknowns, which `put_directions` computed."""
    d, r = m.directions, 3 * c
    return Directions(d[0, r], d[0, r + 1], d[0, r + 2], d[1, r], d[1, r + 1], d[1, r + 2])


def equations_of(G, r, k, row):
    """Return column k of G in the three equations of the contact with first row r, whose directions are `row`."""
    x, y = G[r, k], G[r + 1, k]
    return Vector(row.x * x + row.y * y, row.second * y, row.third * G[r + 2, k])


def put_block(G, A, r, k, row, column):
    """Write the 3x3 block of A at (r, k) for directions of the equations' contact and of the unknowns' contact."""
    x, y, z = equations_of(G, r, k, row), equations_of(G, r, k + 1, row), equations_of(G, r, k + 2, row)
    put_entries(A, r, k, x.x, y.x, z.x, column)
    put_entries(A, r + 1, k, x.y, y.y, z.y, column)
    put_entries(A, r + 2, k, x.z, y.z, z.z, column)


def put_entries(A, i, k, x, y, z, column):
    """Write three entries of row i of A from those of G along a contact's rows."""
    A[i, k], A[i, k + 1] = column.x * x + column.y * y, column.second * y
    A[i, k + 2] = column.mu_x * x + column.mu_y * y + column.third * z


def put_contact_equations(problem, m, c):
    """Write the three equations of contact c, where they are in the set."""
    r, d = 3 * c, directions(m, c)
    if some(d.third != 0):
        for k in range(problem.contacts):
            if some(m.directions[1, 3 * k + 2] != 0):
                put_block(problem.G, m.A, r, 3 * k, d, directions(m, k))
        for k in range(3 * problem.contacts, problem.rows):
            x, y, z, used = problem.G[r, k], problem.G[r + 1, k], problem.G[r + 2, k], m.used[k]
            m.A[r, k], m.A[r + 1, k] = used * (d.x * x + d.y * y), used * d.second * y
            m.A[r + 2, k] = used * d.third * z
        m.A[r, r] += m.s[r]


def put_row_equation(problem, m, r):
    """Write the equation of scalar row r, where it is in the set."""
    used = m.used[r]
    if some(used != 0):
        for k in range(problem.contacts):
            d, j = directions(m, k), 3 * k
            x, y, z = problem.G[r, j], problem.G[r, j + 1], problem.G[r, j + 2]
            m.A[r, j], m.A[r, j + 1] = used * (d.x * x + d.y * y), used * d.second * y
            m.A[r, j + 2] = used * (d.mu_x * x + d.mu_y * y + d.third * z)
        for k in range(3 * problem.contacts, problem.rows):
            m.A[r, k] = m.used[k] * (used * problem.G[r, k])


def put_equations(problem, regular, slipping, m):
    """Write the matrix of all equations, with the proximal term. slipping: whether any contact slips."""
    n, G = problem.rows, problem.G
    if some(slipping):
        put_zeros(m.A)
        for c in range(problem.contacts):
            put_contact_equations(problem, m, c)
        for r in range(3 * problem.contacts, n):
            put_row_equation(problem, m, r)
    else:
        for r in range(n):
            for k in vectorized(range(n)):
                m.A[r, k] = m.used[k] * (m.used[r] * G[r, k])
    for r in range(n):
        m.rho[r] = select(m.A[r, r] == 0, 0, regular * mobility(problem, r))
        m.A[r, r] = select(m.A[r, r] == 0, 1.0, m.A[r, r] + m.rho[r])


def put_right_sides(problem, impulse, sigma, m):
    """Write the right-hand sides of all equations to m.b."""
    for c in range(problem.contacts):
        r, d = 3 * c, directions(m, c)
        across = select(m.does[r] == SLIDES, d.x * impulse[r] + d.y * impulse[r + 1], 0)
        m.b[r] = -(d.x * sigma[r] + d.y * sigma[r + 1]) - m.s[r] * across
        m.b[r + 1], m.b[r + 2] = -d.second * sigma[r + 1], -d.third * sigma[r + 2]
    for r in range(3 * problem.contacts, problem.rows):
        m.b[r] = select(m.does[r] == HELD, -sigma[r], 0)


def has_slip(problem, m):
    """Return whether any contact slips: the equations then are not symmetric, and change with its direction."""
    found = False
    for c in range(problem.contacts):
        found = found or m.does[3 * c] == SLIDES
    return found


def is_single(problem, m):
    """Return whether all unknowns are those of one contact, or of one scalar row.

    They do not depend on each other, so that a step without proximal term is exact.
    """
    count = problem.g[0] * 0
    for c in range(problem.contacts):
        count += select(m.does[3 * c] == FIXED, 0, 1)
    for r in range(3 * problem.contacts, problem.rows):
        count += select(m.does[r] == HELD and problem.low[r] < problem.high[r], 1, 0)
    return count <= 1


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


class Elimination(NamedTuple):
    """Functions that differ between one state and SIMD lanes, whose bands and exchanges of rows would differ.

    find_band, end_of: of `elimination.Band`. factor (slipping, m): factorizes m.A. solve (slipping, m): m.b <- m.A^-1
    m.b.
    """

    find_band: Any
    end_of: Any
    factor: Any
    solve: Any


def band_memory(rows, by):
    """Memory of the band of a matrix of at most `rows` rows, for one state or for SIMD lanes."""
    k = np.zeros((2, rows), np.int64)
    return Band(k[0], k[1], by.find_band, by.end_of)


def find_band(problem, band):
    """Determine the band of G: all rows where they are few."""
    if problem.rows > FEW_ROWS:
        put_reach(problem, band.begin)
        put_ends(band, problem.rows)
    else:
        for r in range(problem.rows):
            band.begin[r], band.end[r] = 0, problem.rows


def factor_lanes(slipping, m):
    """Factorize m.A, with pivots in order."""
    factor_in_order(m.A, m.L, m.band)


def solve_lanes(slipping, m):
    """m.b <- m.A^-1 m.b, for the factors of `factor_lanes`."""
    solve_in_order(m.A, m.L, m.b[: m.A.shape[0]], m.band)


def factor_one(slipping, m):
    """Factorize m.A, with pivots in order, unless `solve_one` exchanges rows."""
    if not (slipping and m.exchanges[0] > 0):
        factor_lanes(slipping, m)


def solve_one(slipping, m):
    """m.b <- m.A^-1 m.b; equations with slip are solved with exchanges of rows where m.exchanges says so."""
    n = m.A.shape[0]
    if slipping and m.exchanges[0] > 0:
        solve_general(m.A, m.b[:n], m.band.begin, m.band.end)
    else:
        solve_lanes(slipping, m)


ON_LANES = Elimination(whole_band, end_of_rows, factor_lanes, solve_lanes)
ONE_STATE = Elimination(find_band, end_of_band, factor_one, solve_one)


def compact(A, n):
    """Return the memory of a matrix as a contiguous one of n rows."""
    return A.reshape(A.size)[: n * n].reshape((n, n))


def solve_unknowns(problem, impulse, sigma, regular, memory):
    """Compute the step memory.step of all impulses on the active sets."""
    n = problem.rows
    m = memory._replace(A=compact(memory.A, n), L=compact(memory.L, n))
    slipping, proximal = has_slip(problem, m), select(is_single(problem, m), 0, regular)
    factored = is_factored(problem, proximal, m)
    put_directions(problem, m)
    put_right_sides(problem, impulse, sigma, m)
    if some(slipping or not factored):
        m.band.find(problem, m.band)
        put_equations(problem, proximal, slipping, m)
        m.by.factor(slipping, m)
    for r in range(n):
        m.step[r] = m.b[r]
    m.by.solve(slipping, m)
    repeat_proximal(slipping, m)
    put_step(problem, m)


def repeat_proximal(slipping, m):
    """Solve again for right-hand sides plus rho x, x from the solution before, where nothing slips.

    The velocity that a step leaves is the change of rho x. Each repetition multiplies it by the ratio of rho to the
    mobility of rows together, which is small unless they hardly move.
    """
    n, taken, going = m.A.shape[0], 0, not slipping
    while taken < REPETITIONS and some(going):
        for r in range(n):
            m.first[r] = m.b[r]
            m.b[r] = m.step[r] + m.rho[r] * m.b[r]
        solve_lanes(slipping, m)
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
