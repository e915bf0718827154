"""One step of inverse kinematics: bounded, damped least squares.

A step d minimizes |e - J d|^2 + lambda |d - s|^2 within the bounds; e are the weighted errors of all tasks, -J is their
derivative, and s is a desired step, or zero. Joints that the step would move beyond a bound stop there, and the rest of
the step is computed again; joints that would leave their bound are released (active set, Lawson and Hanson 1974).
"""

from typing import Any, NamedTuple

from ..algebra.cholesky import factor_definite, solve
from ..algebra.numbers import absolute
from ..entries.scratch import scratch_memory
from ..kinematics.bodies import place_bodies
from ..kinematics.configuration import integrate
from ..mimic.mimic import contract_columns, expand_motion
from .inverse_kinematics_tasks import put_errors, put_rates

FREE, AT_LOWER, AT_UPPER = 0, 1, 2  # states of joints in a step
SMALLEST_RELEASE = 1e-9  # rad, m: joints that would move less from their limits stay there
AT_BOUND = 1e-9  # rad, m: closer to a limit counts as being there
LEAST_DAMPING = 1e-14  # of the trace of J J': where targets determine fewer rows, it has no inverse


class Bounds(NamedTuple):
    """Limits of independent joints of one degree of freedom."""

    place: Any  # (w,) of the degree of freedom's coordinate in the spanning tree, -1 without limits
    lower: Any  # (w,)
    upper: Any


# Configurations of the spanning tree: the present one, one that is tried, and that of least cost of all starts before;
# a step of the tree. Poses of the bodies; composite moments and masses. Velocities of a task's frames by degree of
# freedom; rates and Jacobian of all rows; A = J J' + lambda of the free joints. By row: errors, those of the trial, and
# z. By task: errors of the trial. By independent degree of freedom: step d, desired step s, and FREE, AT_LOWER or
# AT_UPPER.
workspace_for = scratch_memory(
    "W 12, moment 3, mass", given="mimic, tasks",
    q="nq", trial="nq", best="nq", whole="nv", first="6, nv", second="6, nv", rates="tasks.rows, nv",
    J="tasks.rows, mimic.nv", A="tasks.rows, tasks.rows", e="tasks.rows", trial_e="tasks.rows", z="tasks.rows",
    trial_errors="tasks.count", d="mimic.nv", desired="mimic.nv", state="mimic.nv | integers",
)  # fmt: skip


def into_bounds(bounds, q):
    """Move the joints beyond their limits to them."""
    for j in range(bounds.place.size):
        k = bounds.place[j]
        if k >= 0:
            q[k] = min(max(q[k], bounds.lower[j]), bounds.upper[j])


def gradient(m, j):
    """J' e of a degree of freedom: positive if moving it forward reduces the cost."""
    total = m.e[0] * 0
    for r in range(m.e.size):
        total = total + m.J[r, j] * m.e[r]
    return total


def blocked(bounds, m, j):
    """Return whether a joint is at a limit, and the gradient moves it beyond."""
    k, slope = bounds.place[j], gradient(m, j)
    if k < 0:
        return False
    at_lower, at_upper = m.q[k] - bounds.lower[j] < AT_BOUND, bounds.upper[j] - m.q[k] < AT_BOUND
    return (at_lower and slope < 0) or (at_upper and slope > 0)


def solve_free(m, damping):
    """Step of the free joints: d = s + J' (J J' + lambda)^-1 (e - J s), where fixed joints have their d for s."""
    rows, n = m.e.size, m.d.size
    for r in range(rows):
        m.z[r] = m.e[r]
        for s in range(r + 1):
            m.A[r, s] = m.e[0] * 0
        m.A[r, r] += damping
    for j in range(n):
        for r in range(rows):
            m.z[r] -= m.J[r, j] * (m.desired[j] if m.state[j] == FREE else m.d[j])
            if m.state[j] == FREE:
                for s in range(r + 1):
                    m.A[r, s] += m.J[r, j] * m.J[s, j]
    trace = m.e[0] * 0
    for r in range(rows):
        trace = trace + m.A[r, r]
    for r in range(rows):
        m.A[r, r] += LEAST_DAMPING * trace
    factor_definite(m.A)
    solve(m.A, m.z)
    for j in range(n):
        if m.state[j] == FREE:
            m.d[j] = m.desired[j]
            for r in range(rows):
                m.d[j] += m.J[r, j] * m.z[r]


def stop_at_bounds(bounds, m):
    """Fix the free joints that the step moves beyond a limit at this limit; return their number."""
    count = 0
    for j in range(m.d.size):
        k = bounds.place[j]
        if k >= 0 and m.state[j] == FREE:
            room = min(max(m.d[j], bounds.lower[j] - m.q[k]), bounds.upper[j] - m.q[k])
            if room != m.d[j]:
                m.state[j] = AT_LOWER if room > m.d[j] else AT_UPPER
                m.d[j] = room
                count += 1
    return count


def release(m):
    """Release the fixed joint that would move farthest into the bounds; return the number of joints that would.

    Without its limit, a joint would move by s + J' z, with the z of the other joints' step.
    """
    count, first, farthest = 0, 0, m.e[0] * 0
    for j in range(m.d.size):
        if m.state[j] != FREE:
            inward = m.desired[j] - m.d[j]
            for r in range(m.e.size):
                inward = inward + m.J[r, j] * m.z[r]
            inward = inward if m.state[j] == AT_LOWER else -inward
            if inward > SMALLEST_RELEASE:
                count += 1
            if inward > farthest:
                first, farthest = j, inward
    if count > 0:
        m.state[first] = FREE
    return count


def bounded_step(bounds, m, damping):
    """Compute the step d within the bounds, by an active set; returns its largest element.

    The step is the minimum if joints are released a few times; it is within the bounds in any case.
    """
    for j in range(m.d.size):
        m.state[j] = FREE
        m.d[j] = m.e[0] * 0
    released, ended = 0, 0
    while ended == 0:
        solve_free(m, damping)
        if stop_at_bounds(bounds, m) == 0:
            released += 1
            ended = 1 if released > m.d.size or release(m) == 0 else 0
    largest = m.e[0] * 0
    for j in range(m.d.size):
        largest = max(largest, absolute(m.d[j]))
    return largest


def largest_of(errors):
    """Return the largest element, or NaN if there is one."""
    largest = errors[0]
    for t in range(1, errors.size):
        if not errors[t] <= largest:
            largest = errors[t]
    return largest


def start(tree, tasks, targets, bounds, m, error):
    """Return the cost at m.q, moved into the bounds; writes poses and errors."""
    into_bounds(bounds, m.q)
    place_bodies(tree, m.q, m.W)
    return put_errors(tree, tasks, targets, m.W, m.e, error)


def put_derivatives(tree, mimic, tasks, targets, m):
    """Write minus the derivatives of the errors at the poses W to m.J."""
    put_rates(tree, tasks, targets, m.W, m.rates, m)
    contract_columns(mimic, m.rates, m.J)


def try_step(tree, mimic, tasks, targets, bounds, m):
    """Return the cost at the configuration m.trial, after the step m.d; writes its poses and errors."""
    expand_motion(mimic, m.d, m.whole)
    integrate(tree, m.q, m.whole, m.trial)
    into_bounds(bounds, m.trial)
    place_bodies(tree, m.trial, m.W)
    return put_errors(tree, tasks, targets, m.W, m.trial_e, m.trial_errors)


def accept(m, error):
    """Copy the trial to m.q, and its errors."""
    copy(m.trial, m.q)
    copy(m.trial_e, m.e)
    copy(m.trial_errors, error)


def copy(a, b):
    """Copy the elements of a to b."""
    for k in range(a.size):
        b[k] = a[k]
