"""Block Gauss-Seidel on the impulses of contacts, each contact solved exactly, in a fixed order (PGS)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.linear import Vector, sub
from ..algebra.numbers import absolute, maximum
from .active_set import active_set_memory, run_active_set
from .admm import admm_memory, solve_admm
from .cone import block_at, contact_impulse
from .problem import (
    change_contact,
    change_impulse,
    clamped,
    put_triple,
    relative_velocities,
    residual,
    scale_along_ray,
    triple,
)

ROUND = 10  # sweeps between searches of an active set
REGULAR, LEAST = 1e-4, 1e-8  # of a row's mobility: the proximal term of the first search, and the least
SWEEPS = 50  # a warm start takes two or three, a cold one up to thirty, where rows are not nearly dependent


class PgsMemory(NamedTuple):
    """Scratch memory of the methods that help sweeps, which share a matrix."""

    admm: Any
    active: Any


def pgs_memory(rows, q):
    """Scratch memory for at most so many rows, of the numbers in q."""
    admm = admm_memory(rows, q)
    return PgsMemory(admm, active_set_memory(admm.L, q))


def solve_contact(problem, c, impulse, sigma):
    """Contact c by itself; returns by how much that changes its velocities, at most."""
    r = 3 * c
    A, x, s = block_at(problem.G, r), triple(impulse, r), triple(sigma, r)
    b = Vector(
        s.x - A.xx * x.x - A.xy * x.y - A.xz * x.z,
        s.y - A.xy * x.x - A.yy * x.y - A.yz * x.z,
        s.z - A.xz * x.x - A.yz * x.y - A.zz * x.z,
    )
    y = contact_impulse(A, b, problem.mu[c])
    d = sub(y, x)
    change_contact(problem, r, d, sigma)
    put_triple(impulse, r, y)
    return maximum(maximum(A.xx * absolute(d.x), A.yy * absolute(d.y)), A.zz * absolute(d.z))


def solve_row(problem, r, impulse, sigma):
    """Scalar row r by itself; returns by how much that changes its velocity."""
    x = clamped(problem, r, impulse[r] - sigma[r] / problem.G[r, r])
    change = x - impulse[r]
    change_impulse(problem, r, change, sigma)
    impulse[r] = x
    return problem.G[r, r] * absolute(change)


def sweep(problem, impulse, sigma):
    """One sweep over all contacts and rows; returns the largest change of a velocity."""
    largest = sigma[0] * 0
    for c in range(problem.contacts):
        largest = maximum(largest, solve_contact(problem, c, impulse, sigma))
    for r in range(3 * problem.contacts, problem.rows):
        largest = maximum(largest, solve_row(problem, r, impulse, sigma))
    return largest


def run_pgs(problem, impulse, sigma, tolerance, most):
    """Impulses by at most `most` sweeps, from those given on; sigma = G lambda + g. Returns the sweeps taken."""
    relative_velocities(problem, impulse, sigma)
    return sweeps(problem, impulse, sigma, tolerance, most)


def sweeps(problem, impulse, sigma, tolerance, most):
    """At most `most` sweeps, with sigma = G lambda + g before and after. Ends where one changes no velocity by more
    than the tolerance [m/s, rad/s], since impulses need not be unique. Returns the sweeps taken."""
    taken, largest = sigma[0] * 0, tolerance + 1
    while taken < most and largest > tolerance:
        largest = sweep(problem, impulse, sigma)
        taken += 1
    return taken


def from_nothing(problem, impulse):
    """Whether no impulse is known to start from."""
    found = True
    for r in range(problem.rows):
        found = found and impulse[r] == 0
    return found


def search_on(problem, impulse, sigma, tolerance, regular, m):
    """Searches of an active set, two, and more as long as each halves the residual; returns the steps taken, and the
    residual."""
    taken, count, before, left = 0, 0, regular * 0, residual(problem, impulse, sigma)
    while left > tolerance and (count < 2 or left < before / 2):
        before = left
        taken += run_active_set(problem, impulse, sigma, regular, m)
        regular = maximum(0.1 * regular, LEAST)
        left = residual(problem, impulse, sigma)
        count += 1
    return taken, left


def refine(problem, impulse, sigma, tolerance, most, m):
    """Impulses by at most `most` sweeps, each ROUND of which is followed by searches; returns the sweeps and steps
    taken, and the residual."""
    taken, swept, left, regular = 0, 0, tolerance + 1, REGULAR
    while swept < most and left > tolerance:
        taken += run_pgs(problem, impulse, sigma, tolerance, ROUND if most > ROUND else most)
        swept += ROUND
        steps, left = search_on(problem, impulse, sigma, tolerance, regular, m)
        taken += steps
        regular = maximum(0.01 * regular, LEAST)
    return taken, left


def solve_pgs(problem, impulse, sigma, tolerance, most, memory):
    """Impulses by sweeps, and by `active_set` where these do not end soon; where both stall, as in stacks,
    which have nearly dependent rows, by `admm` from there on. From nothing `admm` comes first: it
    treats all contacts alike, so that points which share a load each take their part; the first in order would take
    what it can, and where the parts are not determined sweeps leave it so. Returns the sweeps, steps and iterations
    taken."""
    patience = most if most < SWEEPS else SWEEPS
    first = 0
    if problem.contacts > 1 and from_nothing(problem, impulse):
        first = solve_admm(problem, impulse, sigma, tolerance, most, memory.admm)
        scale_along_ray(problem, impulse, sigma)
    taken, left = refine(problem, impulse, sigma, tolerance, patience, memory.active)
    taken += first
    if left > tolerance:
        taken += solve_admm(problem, impulse, sigma, tolerance, most, memory.admm)
        scale_along_ray(problem, impulse, sigma)
        relative_velocities(problem, impulse, sigma)
        steps, left = search_on(problem, impulse, sigma, tolerance, LEAST, memory.active)
        taken += steps
    if left > tolerance:
        more, _ = refine(problem, impulse, sigma, tolerance, patience, memory.active)
        taken += more
    return taken
