"""Steps on active sets that differ between SIMD lanes: all rows are unknowns, and rows outside the set are fixed.

With B the directions of the impulses of all unknowns (`active_set`), and C the combinations of rows that are equations,
a step is B x, (C G B + D) x = -C sigma. An unknown that a lane does not have has a unit row and column, so that it is
zero. Pivots are taken in order, since their choice would differ between lanes. A poor one spoils the step, which
`run_active_set` then rejects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.elimination import factor_in_order, solve_in_order
from ..algebra.linear import Vector
from ..algebra.numbers import absolute, maximum, select, some
from .active_set_equations import ACCURATE, FIXED, HELD, REPETITIONS, SLIDES, is_factored
from .problem import mobility


class Directions(NamedTuple):
    """Directions of a contact's three unknowns: (x, y, 0), (0, second, 0) and (mu_x, mu_y, 1) third."""

    x: Any
    y: Any
    second: Any
    mu_x: Any
    mu_y: Any
    third: Any


def put_directions(problem, m):
    """Compute the directions of all contacts' unknowns; those that a lane does not have are zero."""
    for c in range(problem.contacts):
        r, mu = 3 * c, problem.mu[c]
        does, ex, ey = m.does[r], m.e[0, r], m.e[1, r]
        slides, held = does == SLIDES, select(does == HELD, 1.0, 0.0)
        m.directions[0, r], m.directions[0, r + 1] = select(slides, -ey, held), select(slides, ex, 0)
        m.directions[0, r + 2] = held
        m.directions[1, r], m.directions[1, r + 1] = select(slides, mu * ex, 0), select(slides, mu * ey, 0)
        m.directions[1, r + 2] = select(does == FIXED, 0, 1.0)


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
    """Write the three equations of contact c."""
    r, d = 3 * c, directions(m, c)
    for k in range(problem.contacts):
        put_block(problem.G, m.A, r, 3 * k, d, directions(m, k))
    for k in range(3 * problem.contacts, problem.rows):
        x, y, z, used = problem.G[r, k], problem.G[r + 1, k], problem.G[r + 2, k], select(m.does[k] == HELD, 1.0, 0.0)
        m.A[r, k], m.A[r + 1, k], m.A[r + 2, k] = used * (d.x * x + d.y * y), used * d.second * y, used * d.third * z
    m.A[r, r] += m.s[r]


def put_row_equation(problem, m, r):
    """Write the equation of scalar row r."""
    used = select(m.does[r] == HELD, 1.0, 0.0)
    for k in range(problem.contacts):
        d, j = directions(m, k), 3 * k
        x, y, z = problem.G[r, j], problem.G[r, j + 1], problem.G[r, j + 2]
        m.A[r, j], m.A[r, j + 1] = used * (d.x * x + d.y * y), used * d.second * y
        m.A[r, j + 2] = used * (d.mu_x * x + d.mu_y * y + d.third * z)
    for k in range(3 * problem.contacts, problem.rows):
        m.A[r, k] = select(m.does[k] == HELD, used * problem.G[r, k], 0)


def factor_equations(problem, regular, m):
    """Factorize the matrix of all equations."""
    n = problem.rows
    for c in range(problem.contacts):
        put_contact_equations(problem, m, c)
    for r in range(3 * problem.contacts, n):
        put_row_equation(problem, m, r)
    for r in range(n):
        m.rho[r] = select(m.A[r, r] == 0, 0, regular * mobility(problem, r))
        m.A[r, r] = select(m.A[r, r] == 0, 1.0, m.A[r, r] + m.rho[r])
    factor_in_order(m.A[:n, :n])


def put_right_sides(problem, impulse, sigma, m):
    """Write the right-hand sides of all equations to m.b."""
    for c in range(problem.contacts):
        r, d = 3 * c, directions(m, c)
        across = select(m.does[r] == SLIDES, d.x * impulse[r] + d.y * impulse[r + 1], 0)
        m.b[r] = -(d.x * sigma[r] + d.y * sigma[r + 1]) - m.s[r] * across
        m.b[r + 1], m.b[r + 2] = -d.second * sigma[r + 1], -d.third * sigma[r + 2]
    for r in range(3 * problem.contacts, problem.rows):
        m.b[r] = select(m.does[r] == HELD, -sigma[r], 0)


def slides(problem, m):
    """Return a mask of the lanes with a contact that slips, whose equations change with its direction."""
    found = False
    for c in range(problem.contacts):
        found = found or m.does[3 * c] == SLIDES
    return found


def solve_lanes(problem, impulse, sigma, regular, m):
    """Compute the step m.step of all impulses on the active sets of all lanes, as `active_set.solve_unknowns` does."""
    n, slipping, factored = problem.rows, slides(problem, m), is_factored(problem, regular, m)
    put_directions(problem, m)
    if some(slipping or not factored):
        factor_equations(problem, regular, m)
    put_right_sides(problem, impulse, sigma, m)
    for r in range(n):
        m.step[r] = m.b[r]
    solve_in_order(m.A[:n, :n], m.b[:n])
    taken, going = 0, not slipping
    while taken < REPETITIONS and some(going):  # as `active_set.repeat_proximal`
        for r in range(n):
            m.first[r] = m.b[r]
            m.b[r] = m.step[r] + m.rho[r] * m.b[r]
        solve_in_order(m.A[:n, :n], m.b[:n])
        left = sigma[0] * 0
        for r in range(n):
            m.b[r] = select(going, m.b[r], m.first[r])
            left = maximum(left, m.rho[r] * absolute(m.b[r] - m.first[r]))
        going = going and left > ACCURATE
        taken += 1
    for c in range(problem.contacts):
        d, r = directions(m, c), 3 * c
        m.step[r] = d.x * m.b[r] + d.mu_x * m.b[r + 2]
        m.step[r + 1] = d.y * m.b[r] + d.second * m.b[r + 1] + d.mu_y * m.b[r + 2]
        m.step[r + 2] = d.third * m.b[r + 2]
    for r in range(3 * problem.contacts, n):
        m.step[r] = m.b[r]
