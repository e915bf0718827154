"""Contact problems made by hand: random ones, and those of stacks of boxes, which touch each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from treesim.kernels.contact.problem import Problem, residual


class Solved(NamedTuple):
    """Impulses, sigma, iterations, and by how much a law is missed."""

    impulse: np.ndarray
    sigma: np.ndarray
    taken: int
    residual: float


def random_problem(seed, contacts=4, exact=1, limits=1, frictions=1, held=1, freedom=12, friction=None):
    """A problem of a body of `freedom` coordinates: contacts, then limits, joints with friction, and held rows."""
    rng = np.random.default_rng(seed)
    scalars = limits + frictions + held
    rows = 3 * contacts + scalars
    J = rng.normal(size=(rows, freedom))
    low = np.r_[np.zeros(3 * contacts + limits), np.full(frictions, -0.1), np.full(held, -np.inf)]
    high = np.r_[np.zeros(3 * contacts), np.full(limits, np.inf), np.full(frictions, 0.1), np.full(held, np.inf)]
    mu = rng.uniform(0, 2, contacts) if friction is None else np.full(contacts, friction)
    return Problem(
        contacts, rows, exact, J @ J.T + 1e-6 * np.eye(rows), J @ rng.normal(size=freedom), mu, low, high, np.zeros(1)
    )


def stack(masses, mu=0.5, dt=1e-3, length=0.1, push=0.0):
    """Cubes on one another on the ground, the lowest first, four contacts between two; the problem of a step from rest
    under gravity, in which the uppermost is pushed sideways with this velocity."""
    half, blocks = length / 2, []
    for k in range(len(masses)):
        for x, y in ((-half, -half), (-half, half), (half, half), (half, -half)):
            J = np.zeros((3, 6 * len(masses)))
            for cube, z, sign in ((k, -half, 1), (k - 1, half, -1)):
                if cube >= 0:
                    J[:, 6 * cube : 6 * cube + 6] = sign * np.hstack([np.eye(3), -crossing([x, y, z])])
            blocks.append(J)
    J = np.vstack(blocks)
    inertia = np.concatenate([np.r_[np.full(3, m), np.full(3, m * length**2 / 6)] for m in masses])
    v = np.tile([0, 0, -9.81 * dt, 0, 0, 0], len(masses))
    v[-6] = push
    rows, none = len(J), np.zeros(len(J))
    return Problem(len(J) // 3, rows, 1, J / inertia @ J.T, J @ v, np.full(rows // 3, mu), none, none, np.zeros(1))


def crossing(r):
    """The matrix of r x."""
    x, y, z = r
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], float)


def solved(solver, problem, memory=None, tolerance=1e-9, most=1000, start=None):
    """What a solver makes of a problem from impulses `start`, by default none."""
    impulse = np.zeros(problem.rows) if start is None else np.array(start, float)
    sigma = np.zeros(problem.rows)
    made = None if memory is None else memory(problem.rows, impulse)
    taken = solver(problem, impulse, sigma, tolerance, most, *(() if memory is None else (made,)))
    np.testing.assert_allclose(
        sigma, problem.G @ impulse + problem.g, rtol=0, atol=1e-8 * (1 + np.abs(problem.G).max())
    )
    return Solved(impulse, sigma, taken, residual(problem, impulse, problem.G @ impulse + problem.g))


def energy_of(problem, impulse):
    """By how much impulses change the kinetic energy: lambda G lambda / 2 + g lambda."""
    return impulse @ problem.G @ impulse / 2 + problem.g @ impulse


def broken_laws(problem, found):
    """How far impulses and velocities are from every law, each looked at by itself: cones, bounds, complementarity."""
    worst = [0.0]
    for c in range(problem.contacts):
        impulse, sigma = found.impulse[3 * c : 3 * c + 3], found.sigma[3 * c : 3 * c + 3]
        friction, slide = np.hypot(*impulse[:2]), np.hypot(*sigma[:2])
        worst += [-impulse[2], friction - problem.mu[c] * impulse[2], -sigma[2]]
        worst += [abs(impulse[2] * sigma[2]), slide * (problem.mu[c] * impulse[2] - friction)]
        worst.append(abs(impulse[:2] @ sigma[:2] + friction * slide))
    for r in range(3 * problem.contacts, problem.rows):
        x, s = found.impulse[r], found.sigma[r]
        worst += [problem.low[r] - x, x - problem.high[r]]
        worst.append(max(s, 0) * min(x - problem.low[r], 1) + max(-s, 0) * min(problem.high[r] - x, 1))
    return max(worst)
