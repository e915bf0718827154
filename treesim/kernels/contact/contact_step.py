"""One time step with contact: corrects an unconstrained step by impulses of contacts, joint limits and friction.

The unconstrained step goes from (q, v) to its end with a mean velocity v_m and an end velocity v_f, both in the axes at
the start. Three sets of impulses along the same rows at q, with the same G = J (M + D)^-1 J', correct it:

    positions:   q+ = q (+) h (v_m + (M + D)^-1 J' (lambda_p + lambda_r)):  no gap becomes negative, no overlap grows
    velocities:  v+ = v_f + (M + D)^-1 J' lambda:  Signorini's and Coulomb's conditions where the gap is closed
    recovery:    lambda_r reduces overlaps, if there are any (`recovery`)

So gaps do not drift, and the correction of overlaps does not change velocities: position impulses are discarded after
the step, as in the stabilisation of Gear, Gupta and Leimkuhler 1985. Without active rows the step is equal to the
unconstrained one, to the bit. Positions have the order of the integrator while contacts last. Impacts happen within
their step at a constant unconstrained acceleration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.numbers import maximum, minimum
from ..algebra.tables import with_armature
from ..entries.status import FINE
from ..kinematics.configuration import advance, retrace
from ..stepping.step import resist, settings_of
from .collision import MESHES, PLANES, SOLIDS, find_contacts
from .constraint_rows import (
    MARGIN,
    UNBOUNDED,
    blocks_of,
    end_of_contacts,
    level_points,
    limit_slack,
    position_problem,
    put_contact,
    put_frictions,
    put_held,
    put_limits,
    put_moved,
    put_none_held,
    put_speeds,
    velocity_problem,
)
from .contact_points import put_points
from .delassus import (
    articulate,
    assemble_delassus,
    backward_sweep,
    compact,
    move_bodies,
    place,
    put_zeros,
    responses,
    velocities_along,
)
from .layout import SCHEME
from .midpoint_correction import from_midpoint, needs_midpoint_correction, start_gaps, to_midpoint
from .problem import Problem, accepted_by, regularize_immobile_rows, relative_velocities, residual, scale_along_ray
from .recovery import FINER, has_overlaps, recover, recovery_problem
from .restitution import solve_within_energy, work_of
from .rolling_friction import NO_ROLLING, WITH_ROLLING
from .work import (
    any_soft,
    lost_outside,
    stored_in_springs,
    taken_by_dampers,
    work_at,
    work_of_corrections,
    work_of_impulses,
)
from .wrenches import put_wrenches

# diagnostics of a step; RESIDUAL is that of velocities
PENETRATION, RESIDUAL, CERTIFICATE, CONTACTS, ITERATIONS, LEFT_OUT, POSITION_RESIDUAL = range(7)
SOLVER_INFO = 7


def reset_warm_start(after):
    """Set all warm-start impulses to zero."""
    for r in range(after.size):
        after[r] = 0.0


def clear(after, wrench, pairs, solver_info, work, work_free):
    """Set the results to those of the unconstrained step without contact."""
    reset_warm_start(after)
    put_zeros(wrench)
    put_zeros(pairs)
    for k in range(solver_info.size):
        solver_info[k] = 0.0
    work[0], work[1] = work_free[0], work_free[1]


def moves_freely(m, q, q_free):
    """Return whether only joint limits can act and none is near: a quick test for unconstrained motion."""
    only_limits = m.touch.pair.shape[0] == 0 and m.touch.frictions == 0 and m.touch.speeds == 0
    return only_limits and limit_slack(m.touch, q, q_free) >= 0


def store_warm_start(m, nc, n, after):
    """Store impulses by slot, limit and joint for the warm start of the next step."""
    for c in range(nc):
        for j in range(3):
            after[3 * m.contacts.slot[c] + j] = m.impulse[3 * c + j]
    for r in range(end_of_contacts(m, nc), n):
        after[3 * m.touch.slots + m.limit[r]] = m.impulse[r]


def load_warm_start(m, nc, n, share, before):
    """Load impulses of the previous step, times the impulse fraction `share`, into m.push."""
    for c in range(nc):
        for j in range(3):
            m.push[3 * c + j] = share * before[3 * m.contacts.slot[c] + j]
    for r in range(end_of_contacts(m, nc), n):
        m.push[r] = share * before[3 * m.touch.slots + m.limit[r]]


def copy_unconstrained_step(q_free, v_free, q_new, v_new):
    """Copy the end of the unconstrained step to the result."""
    for k in range(q_new.size):
        q_new[k] = q_free[k]
    for k in range(v_new.size):
        v_new[k] = v_free[k]


def acts(impulse, n):
    """Return whether any of the first n impulses is non-zero."""
    found = False
    for r in range(n):
        if impulse[r] != 0:
            found = True
    return found


def deepest(m, nc, dt):
    """Return the largest overlap of a contact at the end of the step, linearized along its row."""
    found = dt * 0
    for c in range(nc):
        r = 3 * c + 2
        found = maximum(found, -(m.contacts.gap[c] + dt * m.moved[r]))
    return found


def find_rows(tree, q, dt, external_contacts, m, parts):
    """Find the rows of the state q that may act in the motion m.mean.

    Returns the numbers of contacts, of rows, and of contacts beyond the capacity.
    """
    place_rows(tree, q, m)
    return put_rows(tree, q, dt, external_contacts, m, parts)


def place_rows(tree, q, m):
    """Write poses of the bodies at q and, where rows need them, velocities under m.mean."""
    place(tree, q, m.rows)
    if m.touch.pair.shape[0] > 0 or m.held.R.shape[0] > 0:
        move_bodies(tree, m.rows, m.mean)


def put_rows(tree, q, dt, external_contacts, m, parts):
    """Write the rows that may act, for poses and velocities of bodies in m.rows; returns as `find_rows` does."""
    found = 0
    if m.touch.pair.shape[0] > 0:
        found = find_contacts(m.touch, m.rows, dt, MARGIN, external_contacts, m.contacts, parts.solids)
    within = found if found < m.touch.capacity else m.touch.capacity
    nc = parts.solids.distinct(m, within)
    level_points(m, nc)
    for c in range(nc):
        put_contact(m, c)
    n = put_limits(m, q, dt, parts.rolling.put_rows(m, nc))
    n = put_speeds(m, put_frictions(m, n))
    if n > 0:
        n = parts.put_held(tree, m, n)
    return nc, n, found - within


def rates(tree, v, m, n, placed=False):
    """Compute velocities along the rows: of the unconstrained mean and end, and at the start.

    m.rows.V must be the bodies' velocities in the mean. placed: whether those at the end and the start are known.
    """
    end, start = m.rows._replace(V=m.rows.V_end), m.rows._replace(V=m.rows.V_start)
    if not placed:
        move_bodies(tree, end, m.end)
        move_bodies(tree, start, v)
    velocities_along(m.rows, n, m.mean, m.mean_rate)
    velocities_along(end, n, m.end, m.end_rate)
    velocities_along(start, n, v, m.start_rate)


class Parts(NamedTuple):
    """Functions that vary between compiled steps.

    solids: of `collision`. put_held: writes rows of constrained frames. rolling: of `rolling_friction`. again: whether
    the midpoint corrector is used (`midpoint_correction`), which supports neither mimic joints nor external contacts.
    placed: whether the kinematics are given (`contact_kinematics`).
    """

    solids: Any
    put_held: Any
    rolling: Any
    again: bool
    placed: bool


def parts_of(on_planes, on_meshes, held, resists, again, placed):
    """Return the functions of a step.

    on_planes: there are planes only. on_meshes: there are static meshes. held: with constrained frames. resists: with
    torsional or rolling friction.
    """
    rows, rolling = put_held if held else put_none_held, WITH_ROLLING if resists else NO_ROLLING
    return Parts(PLANES if on_planes else MESHES if on_meshes else SOLIDS, rows, rolling, again, placed)


class Solving(NamedTuple):
    """Functions that solve the problem of a step.

    solver: kernel of a contact solver. solve: the same with torsional and rolling friction, `rolling`. hold: applies
    the constraints of mimic joints to the rows (`contact_mimic`).
    """

    solver: Any
    solve: Any
    hold: Any
    rolling: Any


def resolve(f, moved, q, v, nc, n, s, scheme, before, solver_info, m, memory, mimic_constraint, placed):
    """Solve for all sets of impulses, their changes of velocity and the diagnostics.

    f: see `Solving`. placed: whether the kinematics are known. Returns the work of the velocity impulses.
    """
    share, tolerance, most = scheme[SCHEME.impulse_fraction], scheme[SCHEME.tolerance], int(scheme[SCHEME.iterations])
    rates(moved, v, m, n, placed)
    if not placed:
        articulate(moved, m.rows)
    backward_sweep(moved, m.rows, n)
    f.hold(moved, q, m.rows, n, mimic_constraint)
    assemble_delassus(moved, m.rows, n)
    accepted = accepted_by(tolerance / share, nc)  # a velocity that lasts is so much faster in the next positions
    exact = scheme[SCHEME.exact]
    problem = Problem(blocks_of(m, nc), n, exact, m.rows.G, m.g, m.mu, m.low, m.high, m.factored, accepted)
    position_problem(m, nc, n, q, s.dt, share)
    f.rolling.put_mobility(m, nc)
    regularize_immobile_rows(problem)
    problem.factored[0] = 0.0
    load_warm_start(m, nc, n, share, before)
    f.rolling.load(m, nc, share, before)
    f.rolling.put_bounds(m, nc, m.push)
    scale_along_ray(problem, m.push, m.sigma)
    taken = f.solve(problem, m.push, m.sigma, tolerance, most, memory, m, nc)
    solver_info[POSITION_RESIDUAL] = residual(problem, m.push, m.sigma)
    put_moved(m, nc, n)
    velocity_problem(m, nc, n, q, s.dt, share)
    problem = problem._replace(accepted=accepted_by(tolerance, nc))
    for r in range(n):
        m.impulse[r] = minimum(maximum(m.push[r] / share, -UNBOUNDED), UNBOUNDED)
    f.rolling.put_bounds(m, nc, m.impulse)
    scale_along_ray(problem, m.impulse, m.sigma)
    taken += solve_within_energy(f, problem, m, nc, n, tolerance, most, memory)
    relative_velocities(problem, m.impulse, m.sigma)
    solver_info[RESIDUAL] = residual(problem, m.impulse, m.sigma)
    solver_info[CERTIFICATE], solver_info[CONTACTS] = work_of(m, m.impulse, n), nc
    work = work_of_impulses(nc, n, s.dt, m) if scheme[SCHEME.work] > 0 else s.dt * 0
    if has_overlaps(m, nc, n, q, s.dt):
        recovery_problem(m, nc, n, q, s.dt)
        problem = problem._replace(accepted=0.0)
        problem.factored[0] = 0.0
        f.rolling.deactivate(m, nc)
        scale_along_ray(problem, m.recovery, m.sigma)
        taken += f.solver(problem, m.recovery, m.sigma, FINER * tolerance, most, memory)
        missed = residual(problem, m.recovery, m.sigma)
        solver_info[POSITION_RESIDUAL] = maximum(solver_info[POSITION_RESIDUAL], missed)
        recover(m, n)
    put_points(m, nc, n, s.dt)
    f.rolling.put_point_torques(m, nc, s.dt)
    solver_info[PENETRATION], solver_info[ITERATIONS] = deepest(m, nc, s.dt), solver_info[ITERATIONS] + taken
    responses(moved, m.rows, blocks_of(m, nc), m.push, m.mean_change, m.impulse, m.end_change)
    return work


def lost_by_springs(tree, q_new, nc, dt, external_contacts, stored, m, parts):
    """Return the energy that the springs of soft surfaces lose in a step to q_new, of the `stored` energy.

    Overwrites the contacts of the step by those at q_new.
    """
    lost = stored
    if any_soft(m.touch):
        lost += lost_outside(m, nc, dt)
        found, _, _ = find_rows(tree, q_new, dt, external_contacts, m, parts)
        lost -= stored_in_springs(m, found, dt)
    return lost


def make_contact_step(solver, with_rotors, hold, parts):
    """Return the kernel of a step with contact by a solver (see `treesim.contact.base`).

    with_rotors: function that returns the tree with distributed rotor inertias. hold: see `Solving`.
    """
    rolling = parts.rolling
    f = Solving(solver, rolling.solver(solver), hold, rolling)

    def contact_step(
        tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, q_new, v_new, after,
        wrench, pairs, solver_info, work, points, room, memory, mimic_constraint,
    ):  # fmt: skip
        """Compute (q, v) at the end of the step, warm-start impulses, wrenches, diagnostics, and work [J].

        The wrenches are those on bodies, and of pairs of bodies. work: of the control, and of damping, friction and
        contact. work_free: that of the unconstrained step. scheme: impulse fraction, tolerance, number of iterations,
        exact, work, midpoint corrector. points: those of contact (`contact_points`).
        """
        s, room = settings_of(tree, settings), room._replace(contacts=room.contacts._replace(before=before))
        if moves_freely(room, q, q_free):
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            clear(after, wrench, pairs, solver_info, work, work_free)
            return FINE
        if not parts.placed:
            retrace(tree, q, q_free, v_free, s.dt, room.mean, room.end)
            place_rows(tree, q, room)
        nc, n, left_out = put_rows(tree, q, s.dt, external_contacts, room, parts)
        stored = stored_in_springs(room, nc, s.dt)
        clear(after, wrench, pairs, solver_info, work, work_free)
        solver_info[LEFT_OUT] = left_out
        if n == 0:
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            return FINE
        m = room._replace(rows=compact(tree, room.rows, n), points=points)
        if not parts.placed:
            resist(tree, s, v, force, m.step)
        moved = with_rotors(with_armature(tree, m.step.diagonal), mimic_constraint)
        done = resolve(f, moved, q, v, nc, n, s, scheme, before, solver_info, m, memory, mimic_constraint, parts.placed)
        store_warm_start(m, nc, n, after)
        rolling.store(m, nc, after)
        if not (acts(m.impulse, n) or acts(m.push, n)):
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            if scheme[SCHEME.work] > 0:
                stored -= taken_by_dampers(m, nc, s.dt)
                work[1] += lost_by_springs(tree, q_new, nc, s.dt, external_contacts, stored, m, parts)
            return FINE
        if parts.again and scheme[SCHEME.impulse_fraction] < 1 and needs_midpoint_correction(tree, m, s.dt):
            to_midpoint(tree, moved, s.dt, q, v, nc, n, m)
            nc, n, left_out = put_rows(tree, q, s.dt, external_contacts, room, parts)
            m = room._replace(rows=compact(tree, room.rows, n), points=points)
            solver_info[LEFT_OUT] = maximum(solver_info[LEFT_OUT], left_out)
            start_gaps(tree, s.dt, m, nc)
            done = resolve(
                f, moved, q, m.again.start, nc, n, s, scheme, after, solver_info, m, memory, mimic_constraint, False
            )
            reset_warm_start(after)
            store_warm_start(m, nc, n, after)
            rolling.store(m, nc, after)
            from_midpoint(tree, s.dt, q, m)
        for k in range(tree.nv):
            m.mean[k] += m.mean_change[k]
            m.end[k] += m.end_change[k]
        advance(tree, q, m.mean, m.end, s.dt, q_new, v_new)
        put_wrenches(m, nc, s.dt, wrench, pairs)
        rolling.put_torques(m, nc, s.dt, wrench, pairs)
        work_at(tree, s, v, force, m, work)
        if scheme[SCHEME.work] > 0:
            work[1] += done + work_of_corrections(tree, q, q_new, s.dt, scheme, m, parts.placed)
            work[1] += lost_by_springs(tree, q_new, nc, s.dt, external_contacts, stored, m, parts)
        return FINE

    return contact_step
