"""Steps with contact of several states at once, as `contact_step` computes them for one.

Rows are those of any of the states. On lanes whose state does not have a row it is inactive: zero velocity and zero
impulse, so the result of a lane does not depend on the others. Sweeps and searches continue until every lane is within
the tolerance; converged lanes do not change. Some states are left unsolved: those that the solver does not solve, those
in which restitution would add energy, and those that have more than `simd_collision.MOST` contacts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.numbers import maximum, minimum, select, some
from ..algebra.tables import with_armature
from ..kinematics.configuration import advance, retrace
from ..stepping.step import resist
from .constraint_rows import (
    MARGIN,
    UNBOUNDED,
    level_points,
    position_problem,
    put_contact,
    put_frictions,
    put_limits,
    put_moved,
    put_speeds,
    velocity_problem,
)
from .contact_step import acts, rates
from .delassus import articulate, assemble_delassus, backward_sweep, compact, move_bodies, place, put_zeros, responses
from .layout import PAIR, SCHEME
from .midpoint_correction import from_midpoint, needs_midpoint_correction, start_gaps, to_midpoint
from .pgs import solve_without_stalls
from .problem import Problem, accepted_by, regularize_immobile_rows, relative_velocities, scale_along_ray
from .recovery import FINER, has_overlaps, recover, recovery_problem
from .restitution import work_of
from .simd_collision import MOST
from .simd_warm_start import clear_where, load_warm_start, store_warm_start
from .work import any_soft, stored_in_springs, taken_by_dampers, work_at, work_of_corrections, work_of_impulses
from .wrenches import put_wrenches

# numbers of a step: residual, FOR_ONE for a state that is not solved, whose other results are invalid, steps of the
# solver, largest overlap, and its body
UNSOLVED, STEPS, OVERLAP, DEEPEST = 1, 2, 3, 4
STEP_INFO = 5
# numbers of all steps so far: overlap before, its largest growth in a step, that step and its body, number of steps,
# and largest residual
BEFORE, GROWTH, GREW_IN, GREW_ON, DONE, WORST = range(STEP_INFO, 11)
SIMD_SOLVER_INFO = 11
FOR_ONE = 1


def find_rows(tree, q, dt, m, lanes):
    """Find the rows of all states; return the numbers of contacts and of rows."""
    place(tree, q, m.rows)
    move_bodies(tree, m.rows, m.mean)
    return put_rows(tree, q, dt, m, lanes)


def put_rows(tree, q, dt, m, lanes):
    """Write the rows of all states, for poses and velocities of bodies in m.rows; returns as `find_rows` does."""
    active = m.active
    nc = m.contacts.find(m.contacts.touch, m.rows, dt, MARGIN, m.contacts, active, lanes.count)
    for c in range(nc):  # no gap or overlap of an inactive contact counts
        m.contacts.gap[c] = select(active[c] > 0, m.contacts.gap[c], 1)
    level_points(m, nc)
    for c in range(nc - 1, -1, -1):
        put_contact(m, c)
        active[3 * c], active[3 * c + 1], active[3 * c + 2] = active[c], active[c], active[c]
    n = put_speeds(m, put_frictions(m, put_limits(m, q, dt, 3 * nc)))
    if n > 0:
        n = put_held_where(tree, m, n, lanes.parts)
    return nc, n


def put_held_where(tree, m, n, parts):
    """Add rows of constrained frames and loops, from row n on; return the number of rows.

    They are active on the lanes of states with other rows. The unconstrained step of the others satisfies them.
    """
    end, used = parts.put_held(tree, m, n), m.active[0]
    for r in range(1, n):
        used = maximum(used, m.active[r])
    for r in range(n, end):
        m.active[r] = used
    return end


def mask_inactive_rows(tree, r, n, active):
    """Set Z of inactive rows to zero."""
    for k in range(tree.nv):
        for row in range(r.first[k], r.last[k]):
            r.Z[k, row] *= active[row]


def mask_inactive(problem, active):
    """Set bounds and g of inactive rows so that their impulses are zero."""
    for c in range(problem.contacts):
        problem.mu[c] = select(active[3 * c] > 0, problem.mu[c], -1)
    for r in range(3 * problem.contacts, problem.rows):
        problem.low[r] *= active[r]
        problem.high[r] *= active[r]
    for r in range(problem.rows):
        problem.g[r] *= active[r]


class Lanes(NamedTuple):
    """States of a group, one per lane; contacts of each state, and the solver's memory.

    states: indices; lanes after the last state repeat it. several: whether there is more than one. most: number of
    iterations. first_solution (4, nv): velocities and their changes by impulses, before the midpoint correction.
    first_wrench: the wrenches then, of the size of the results. parts: `simd_parts.SimdParts`. mimic_constraint: mimic
    joints, 0 without any.
    """

    states: Any
    several: Any
    most: Any
    count: Any
    solver: Any
    first_solution: Any
    first_wrench: Any
    parts: Any
    mimic_constraint: Any


class StepInput(NamedTuple):
    """What contact is added to: the state (q, v), the unconstrained step's end, its applied forces and its work."""

    q: Any
    v: Any
    q_free: Any
    v_free: Any
    force: Any
    work_free: Any


class StepOutput(NamedTuple):
    """Results of a step: end (q, v); diagnostics; work [J] of the control, and of damping, friction and contact.

    wrench (N + 1, 6): on the bodies, or (0, 6) if they are not requested.
    """

    q: Any
    v: Any
    solver_info: Any
    work: Any
    wrench: Any


def contact_lanes(tree, s, scheme, x, before, after, R, y, room, lanes):
    """Compute the steps y (`StepOutput`) of several states x (`StepInput`), one per lane, and warm-start impulses.

    Returns False, without results, if several states together have too many contacts.
    """
    q, v, solver_info, active, count = x.q, x.v, y.solver_info, room.active, lanes.count
    room = room._replace(contacts=room.contacts._replace(before=before, size=R, states=lanes.states))
    retrace(tree, q, x.q_free, x.v_free, s.dt, room.mean, room.end)
    nc, n = find_rows(tree, q, s.dt, room, lanes)
    several = lanes.several
    if nc > MOST and several:
        return False
    m, stored = room._replace(rows=compact(tree, room.rows, n)), stored_in_springs(room, nc, s.dt)
    for k in range(STEP_INFO):
        solver_info[k] = 0.0
    solver_info[UNSOLVED] = select(count[0] > MOST, FOR_ONE, 0)
    free = q[0] == q[0]
    put_zeros(y.wrench)
    if n > 0:
        resist(tree, s, v, x.force, m.step)
        moved = lanes.parts.with_rotors(with_armature(tree, m.step.diagonal), lanes.mimic_constraint)
        done = resolve(moved, q, v, nc, n, s, scheme, before, R, solver_info, m, lanes)
        store_warm_start(m, nc, n, after, R, lanes.states, active, q[0] == q[0])
        free = not (acts(m.impulse, n) or acts(m.push, n))
        put_requested_wrenches(m, nc, s.dt, y.wrench)
        if scheme[SCHEME.midpoint_corrector] > 0:
            needed = needs_midpoint_correction(tree, m, s.dt) and solver_info[UNSOLVED] != FOR_ONE
            if some(needed):
                if any_soft(room.touch):
                    solver_info[UNSOLVED] = select(needed, FOR_ONE, solver_info[UNSOLVED])
                else:
                    fits, done = correct(moved, q, v, nc, n, s, scheme, after, R, y, room, lanes, needed, done)
                    if several and not fits:
                        return False
                    if not fits:
                        solver_info[UNSOLVED] = select(needed, FOR_ONE, solver_info[UNSOLVED])
        for k in range(tree.nv):
            m.mean[k] += m.mean_change[k]
            m.end[k] += m.end_change[k]
        advance(tree, q, m.mean, m.end, s.dt, y.q, y.v)
        work_at(tree, s, v, x.force, m, y.work)
        if scheme[SCHEME.work] > 0:
            y.work[1] += done + work_of_corrections(tree, q, y.q, s.dt, scheme, m)
    replace_free(tree, free, x, y)
    if scheme[SCHEME.work] > 0 and any_soft(room.touch):
        y.work[1] -= select(free, taken_by_dampers(m, nc, s.dt), 0)
        found, _ = find_rows(tree, y.q, s.dt, room, lanes)
        y.work[1] += stored - stored_in_springs(room, found, s.dt)
        solver_info[UNSOLVED] = select(count[0] > MOST, FOR_ONE, solver_info[UNSOLVED])
    return True


def resolve(moved, q, v, nc, n, s, scheme, before, R, solver_info, m, lanes):
    """Solve for all sets of impulses, their changes of velocity and the diagnostics.

    Returns the work of the velocity impulses.
    """
    rates(moved, v, m, n)
    articulate(moved, m.rows)
    backward_sweep(moved, m.rows, n)
    mask_inactive_rows(moved, m.rows, n, m.active)
    lanes.parts.hold(moved, q, m.rows, n, lanes.mimic_constraint)
    assemble_delassus(moved, m.rows, n)
    accepted = accepted_by(scheme[SCHEME.tolerance] / scheme[SCHEME.impulse_fraction], lanes.count[0])
    problem = Problem(nc, n, scheme[SCHEME.exact], m.rows.G, m.g, m.mu, m.low, m.high, m.factored, accepted)
    work = solve(problem, m, nc, n, q, s.dt, scheme, before, R, solver_info, lanes.solver, lanes)
    responses(moved, m.rows, nc, m.push, m.mean_change, m.impulse, m.end_change)
    return work


def put_requested_wrenches(m, nc, dt, wrench):
    """Write the wrenches on the bodies, if they are requested."""
    if wrench.shape[0] > 0:
        put_wrenches(m, nc, dt, wrench, wrench)


def correct(moved, q, v, nc, n, s, scheme, after, R, y, room, lanes, needed, done):
    """Repeat the solve at the corrected midpoint (`midpoint_correction`); the solution changes where that is `needed`.

    Returns False, without results, if there are too many contacts, and the work of the velocity impulses.
    """
    x, m, solver_info = lanes.first_solution, room._replace(rows=compact(moved, room.rows, n)), y.solver_info
    for k in range(moved.nv):
        x[0, k], x[1, k], x[2, k], x[3, k] = m.mean[k], m.end[k], m.mean_change[k], m.end_change[k]
    to_midpoint(moved, moved, s.dt, q, v, nc, n, m)
    nc, n = put_rows(moved, q, s.dt, room, lanes)
    fits = nc <= MOST
    if fits:
        m = room._replace(rows=compact(moved, room.rows, n))
        start_gaps(moved, s.dt, m, nc)
        for r in range(n):
            m.active[r] = select(needed, m.active[r], 0)
        missed, unsolved = solver_info[0], solver_info[UNSOLVED]
        overlap, deepest = solver_info[OVERLAP], solver_info[DEEPEST]
        again = resolve(moved, q, m.again.start, nc, n, s, scheme, after, R, solver_info, m, lanes)
        clear_where(m, after, R, lanes.states, needed)
        store_warm_start(m, nc, n, after, R, lanes.states, m.active, needed)
        select_wrenches(m, nc, s.dt, y.wrench, lanes.first_wrench, needed)
        from_midpoint(moved, s.dt, q, m)
        done, solver_info[0] = select(needed, again, done), select(needed, solver_info[0], missed)
        solver_info[UNSOLVED] = select(needed, select(lanes.count[0] > MOST, FOR_ONE, solver_info[UNSOLVED]), unsolved)
        solver_info[OVERLAP] = select(needed, solver_info[OVERLAP], overlap)
        solver_info[DEEPEST] = select(needed, solver_info[DEEPEST], deepest)
        for k in range(moved.nv):
            m.mean[k], m.end[k] = select(needed, m.mean[k], x[0, k]), select(needed, m.end[k], x[1, k])
            m.mean_change[k] = select(needed, m.mean_change[k], x[2, k])
            m.end_change[k] = select(needed, m.end_change[k], x[3, k])
    return fits, done


def select_wrenches(m, nc, dt, wrench, first, needed):
    """Write the wrenches on the lanes that `needed` a midpoint correction; the others keep theirs. first: scratch."""
    for i in range(wrench.shape[0]):
        for j in range(6):
            first[i, j], wrench[i, j] = wrench[i, j], 0.0
    put_requested_wrenches(m, nc, dt, wrench)
    for i in range(wrench.shape[0]):
        for j in range(6):
            wrench[i, j] = select(needed, wrench[i, j], first[i, j])


def solve_some(problem, impulse, sigma, tolerance, solver_info, memory, lanes, left):
    """Solve on the lanes that are not `left` unsolved; return these and more lanes, and the residual. Counts steps."""
    relative_velocities(problem, impulse, sigma)
    steps, found = solve_without_stalls(problem, impulse, sigma, tolerance, lanes.most, not left, memory)
    solver_info[STEPS] += steps
    return left or not found <= tolerance, found


def solve(problem, m, nc, n, q, dt, scheme, before, R, solver_info, memory, lanes):
    """Solve for all sets of impulses, m.push and m.impulse, and write the diagnostics `solver_info`.

    Returns the work of the velocity impulses.
    """
    share, tolerance, active = scheme[SCHEME.impulse_fraction], scheme[SCHEME.tolerance], m.active
    position_problem(m, nc, n, q, dt, share)
    mask_inactive(problem, active)
    regularize_immobile_rows(problem)
    for r in range(n):
        m.rows.G[r, r] = select(active[r] > 0, m.rows.G[r, r], 1)
    problem.factored[0] = 0.0
    load_warm_start(m, nc, n, share, before, R, lanes.states, active)
    scale_along_ray(problem, m.push, m.sigma)
    left = lanes.count[0] > MOST
    left, worst = solve_some(problem, m.push, m.sigma, tolerance, solver_info, memory, lanes, left)
    put_moved(m, nc, n)
    velocity_problem(m, nc, n, q, dt, share)
    problem = problem._replace(accepted=accepted_by(tolerance, lanes.count[0]))
    mask_inactive(problem, active)
    for r in range(n):
        m.impulse[r] = minimum(maximum(m.push[r] / share, -UNBOUNDED), UNBOUNDED)
    scale_along_ray(problem, m.impulse, m.sigma)
    left, found = solve_some(problem, m.impulse, m.sigma, tolerance, solver_info, memory, lanes, left)
    relative_velocities(problem, m.impulse, m.sigma)
    worst = maximum(worst, found)
    for c in range(nc):
        left = left or (m.rebound[c] > 0 and active[3 * c] > 0 and work_of(m, m.impulse, n) > 0)
    solver_info[0] = worst
    work = dt * 0
    if scheme[SCHEME.work] > 0:
        work = work_of_impulses(nc, n, dt, m)
    if has_overlaps(m, nc, n, q, dt):
        recovery_problem(m, nc, n, q, dt)
        problem = problem._replace(accepted=accepted_by(0, lanes.count[0]))
        problem.factored[0] = 0.0
        mask_inactive(problem, active)
        scale_along_ray(problem, m.recovery, m.sigma)
        left, found = solve_some(problem, m.recovery, m.sigma, FINER * tolerance, solver_info, memory, lanes, left)
        solver_info[0] = maximum(worst, found)
        recover(m, n)
    solver_info[UNSOLVED] = select(left, FOR_ONE, 0)
    put_overlap(m, nc, dt, solver_info)
    return work


def put_overlap(m, nc, dt, solver_info):
    """Write the largest overlap at the end of the step, as `contact_step.deepest`, and its body."""
    solver_info[OVERLAP], solver_info[DEEPEST] = 0.0, 0.0
    for c in range(nc):
        overlap = -(m.contacts.gap[c] + dt * m.moved[3 * c + 2])
        larger, body = overlap > solver_info[OVERLAP], m.touch.pair[m.contacts.pair[c], PAIR.body]
        solver_info[OVERLAP] = select(larger, overlap, solver_info[OVERLAP])
        solver_info[DEEPEST] = select(larger, body, solver_info[DEEPEST])


def put_history(solver_info, state):
    """Update the numbers of all steps of a state by those of its step."""
    at = SIMD_SOLVER_INFO * state
    overlap = solver_info[at + OVERLAP]
    if overlap - solver_info[at + BEFORE] > solver_info[at + GROWTH]:
        solver_info[at + GROWTH] = overlap - solver_info[at + BEFORE]
        solver_info[at + GREW_IN], solver_info[at + GREW_ON] = solver_info[at + DONE], solver_info[at + DEEPEST]
    solver_info[at + BEFORE] = overlap
    solver_info[at + DONE] += 1
    solver_info[at + WORST] = maximum(solver_info[at + WORST], solver_info[at])


def replace_free(tree, free, x, y):
    """Replace results y by those of the unconstrained step on `free` lanes, where no row acts."""
    for k in range(tree.nq):
        y.q[k] = select(free, x.q_free[k], y.q[k])
    for k in range(tree.nv):
        y.v[k] = select(free, x.v_free[k], y.v[k])
    for k in range(2):
        y.work[k] = select(free, x.work_free[k], y.work[k])
