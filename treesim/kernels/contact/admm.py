"""Alternating direction method of multipliers for contact impulses, for stacks and large mass ratios.

Each iteration solves (G + (rho + eta) 1) x = -(g + s) + rho y + z + eta x. The shift s = (0, 0, mu |z_t|) of De Saxcé
makes the cone's conditions those of Signorini and Coulomb. Then y = P(x - z / rho) is projected, and the multipliers z
change by -rho (x - y). rho is adapted to the ratio of the two residuals (Acary, Cadoux, Lemaréchal, Malick 2011;
Carpentier, Le Lidec, Montaut 2024). Without the shift the problem is the convex relaxation, whose solution is unique.
Rows are first scaled to mobility 1, G -> s G s, lambda -> lambda / s, since mobilities of joint friction and feet
differ by a factor of a thousand. The three rows of a contact have one s, which does not change their cone.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import Band, compact, factor_in_order, in_threes, put_unit_rows, solve_in_order
from ..algebra.numbers import absolute, maximum, sqrt
from .active_set_equations import ONE_STATE, ONE_SUBTREE, band_memory
from .problem import mobility, project, relative_velocities

EVERY = 10  # iterations rho is looked at
FAR = 10.0  # ratio of the residuals from which it changes
STRIDE = 5.0  # by this factor


class AdmmMemory(NamedTuple):
    """Scratch memory: matrix and factor (M, M), and the vectors s, 1 / s, x, y, z and right-hand side, (M,) each.

    x, y and z are scaled. band: of G.
    """

    A: Any
    L: Any
    s: Any
    root: Any
    x: Any
    y: Any
    z: Any
    rhs: Any
    band: Band


def admm_memory(rows, q, by=ONE_STATE):
    """Scratch memory for at most `rows` rows, with the dtype of q."""
    size = in_threes(rows)
    vectors, matrices = np.empty((6, size), q.dtype), np.empty((2, size, size), q.dtype)
    return AdmmMemory(
        matrices[0], matrices[1], vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5],
        band_memory(rows, by),
    )  # fmt: skip


def admm_memory_of_subtree(rows, q):
    """Scratch memory for worlds with one subtree, as `admm_memory`."""
    return admm_memory(rows, q, ONE_SUBTREE)


def scale_rows(problem, s, root):
    """s = 1 / sqrt(mobility) of every row, root = 1 / s; return the largest scaled mobility."""
    largest = problem.g[0] * 0
    for r in range(problem.rows):
        w = mobility(problem, r)
        root[r] = sqrt(w)
        s[r] = 1 / root[r]
        largest = maximum(largest, problem.G[r, r] / w)
    return largest


def factor_shifted(problem, shift, memory):
    """Factorize s G s + shift 1."""
    n, s, A = problem.rows, memory.s, memory.A
    for i in range(n):
        for j in range(n):
            A[i, j] = s[i] * problem.G[i, j] * s[j]
        A[i, i] += shift
    put_unit_rows(A, n)
    for r in range(n, A.shape[0]):
        memory.rhs[r] = 0.0
    factor_in_order(A, memory.L, memory.band)


def shifted(problem, z, r):
    """Return the shift of De Saxcé for row r: mu |z_t| for a contact's normal, 0 otherwise and in the relaxation."""
    found = z[r] * 0
    if r < 3 * problem.contacts and r % 3 == 2:
        found = problem.exact * maximum(problem.mu[r // 3], 0) * sqrt(z[r - 2] * z[r - 2] + z[r - 1] * z[r - 1])
    return found


def iterate(problem, rho, eta, impulse, memory):
    """Run one iteration; return the distance of x and y, and the change of y, both scaled."""
    x, y, z, n, per_rho = memory.x, memory.y, memory.z, problem.rows, 1 / rho
    for r in range(n):
        memory.rhs[r] = rho * y[r] + z[r] + eta * x[r] - memory.s[r] * problem.g[r] - shifted(problem, z, r)
    solve_in_order(memory.A, memory.L, memory.rhs, memory.band)
    for r in range(n):
        x[r] = memory.rhs[r]
        impulse[r] = memory.s[r] * (x[r] - z[r] * per_rho)
    project(problem, impulse)
    apart, moved = x[0] * 0, x[0] * 0
    for r in range(n):
        before, y[r] = y[r], impulse[r] * memory.root[r]
        z[r] -= rho * (x[r] - y[r])
        apart, moved = maximum(apart, absolute(x[r] - y[r])), maximum(moved, absolute(y[r] - before))
    return apart, moved


def solve_admm(problem, impulse, sigma, tolerance, most, memory):
    """Improve impulses by at most `most` iterations, with sigma = G lambda + g; return the number of iterations."""
    n = problem.rows
    m = memory._replace(A=compact(memory.A, n), L=compact(memory.L, n))
    m.band.by.find(problem, m.band)
    problem.factored[0] = 0.0
    largest = scale_rows(problem, m.s, m.root)
    rho, eta = 0.1 * largest, 1e-6 * largest
    relative_velocities(problem, impulse, sigma)
    for r in range(n):
        m.x[r] = impulse[r] * m.root[r]
        m.y[r] = m.x[r]
        m.z[r] = m.s[r] * (sigma[r] + shifted(problem, sigma, r))
    factor_shifted(problem, rho + eta, m)
    taken, since, close = sigma[0] * 0, sigma[0] * 0, False
    while taken < most and not close:
        apart, moved = iterate(problem, rho, eta, impulse, m)
        taken += 1
        since += 1
        close = largest * apart < tolerance and rho * moved < tolerance
        if not close and since == EVERY:
            since = since * 0
            primal, dual = largest * apart, rho * moved
            changed = rho
            if primal > FAR * dual:
                changed = rho * STRIDE
            if dual > FAR * primal:
                changed = rho / STRIDE
            if changed != rho:
                rho = changed
                factor_shifted(problem, rho + eta, m)
    relative_velocities(problem, impulse, sigma)
    return taken
