"""Restitution that adds no energy, and the energy that impulses add to a step."""

from ..algebra.numbers import maximum, minimum, select, some, sqrt
from .problem import copy, relative_velocities
from .work import any_soft


def solve_within_energy(problem, tolerance, m, nc, method):
    """Solve for the velocity impulses; scale restitution where it would add energy.

    sigma = G lambda + g after. Newton's restitution may add energy in the presence of friction. Then the impulses are
    on the line from those without restitution, as far as no energy is added. method: `step_records.StepMethod`.
    """
    f, n = method.functions, problem.rows
    f.solve(problem, m.impulse, m.sigma, tolerance, True, m, nc, method)
    relative_velocities(problem, m.impulse, m.sigma)
    gains = bounces(problem, m.rebound) and work_of(m, m.impulse, n) > 0
    if some(gains):
        copy(m.impulse, m.inelastic)
        copy(m.g, m.bounce)
        remove_restitution(problem, m.rebound, gains)
        f.solve(problem, m.inelastic, m.sigma, tolerance, gains, m, nc, method)
        copy(m.bounce, m.g)
        f.rolling.without_third(m, nc, m.impulse, gains)
        f.rolling.without_third(m, nc, m.inelastic, gains)
        scale_restitution(problem, gains, m, n)
        f.rolling.put_bounds(m, nc, m.impulse, gains)
        relative_velocities(problem, m.impulse, m.sigma)


def bounces(problem, rebound):
    """Return whether any contact has restitution; rebound: their velocity biases."""
    found = problem.g[0] != problem.g[0]
    for c in range(problem.contacts):
        found = found or (rebound[c] > 0 and problem.mu[c] >= 0)
    return found


def remove_restitution(problem, rebound, where):
    """Remove restitution from the problem `where` it is to be without."""
    for c in range(problem.contacts):
        problem.g[3 * c + 2] += select(where, rebound[c], 0)


def scale_restitution(problem, gains, m, n):
    """impulse <- inelastic + s (impulse - inelastic) with the largest s in [0, 1] that adds no energy."""
    linear, square, start = m.g[0] * 0, m.g[0] * 0, work_of_impulse(problem, m, m.inelastic, n)
    for r in range(n):
        m.bounce[r] = m.impulse[r] - m.inelastic[r]
    relative_velocities(problem, m.bounce, m.sigma)
    for r in range(n):
        square += m.bounce[r] * (m.sigma[r] - m.g[r]) / 2
        linear += m.inelastic[r] * (m.sigma[r] - m.g[r]) + m.bounce[r] * m.end_rate[r]
    root = sqrt(maximum(linear * linear - 4 * square * start, 0))
    part = m.g[0] * 0
    if square > 0:
        part = minimum(maximum((root - linear) / (2 * square), 0), 1)
    for r in range(n):
        m.impulse[r] = select(gains, m.inelastic[r] + part * m.bounce[r], m.impulse[r])


def work_of(m, impulse, n):
    """Return the energy change T(v+) - T(v_f) = lambda' (sigma+ + sigma_f) / 2 of velocities without bias.

    v_f includes the impulses of soft surfaces' springs, which are conservative.
    """
    total, of_springs = impulse[0] * 0, any_soft(m.touch)
    for r in range(n):
        total += impulse[r] * (m.sigma[r] - m.bias[r] + m.end_rate[r]) / 2
    for s in range(n if of_springs else 0):
        if some(m.soft[s] > 0):
            total -= impulse[s] * (m.sigma[s] - m.bias[s] + m.end_rate[s]) / 2
            for r in range(n):
                total += select(m.soft[r] > 0, 0, impulse[r] * m.rows.G[r, s] * impulse[s] / 2)
    return total


def work_of_impulse(problem, m, impulse, n):
    """Return lambda' G lambda / 2 + lambda' sigma_f; m.sigma is scratch memory."""
    relative_velocities(problem, impulse, m.sigma)
    total = impulse[0] * 0
    for r in range(n):
        total += impulse[r] * ((m.sigma[r] - m.g[r]) / 2 + m.end_rate[r])
    return total
