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

The same source steps one state, and several states at once, one per SIMD lane (`state_lanes`). Rows are then those of
any of the states. On lanes whose state does not have a row it is inactive: zero velocity and zero impulse, so that the
result of a lane does not depend on the others, and is that of its state alone, to the bit. Functions that differ are
those of `one_state` and of `simd_functions`.
"""

from ..algebra.numbers import maximum, select, some
from ..algebra.tables import with_armature
from ..kinematics.configuration import advance, retrace
from ..stepping.step import resist
from .constraint_rows import (
    blocks_of,
    level_points,
    limit_slack,
    position_problem,
    put_contact,
    put_frictions,
    put_limits,
    put_moved,
    put_speeds,
    velocity_problem,
)
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
from .layout import INFO, SCHEME
from .midpoint_correction import from_midpoint, needs_midpoint_correction, start_gaps, to_midpoint
from .problem import Problem, accepted_by, copy, residual, scale_along_ray
from .recovery import FINER, has_overlaps, recover, recovery_problem
from .restitution import solve_within_energy, work_of
from .warm_start import load, put_order, store
from .work import (
    any_soft,
    lost_outside,
    put_lift,
    stored_in_springs,
    taken_by_dampers,
    work_at,
    work_of_corrections,
    work_of_impulses,
)
from .wrenches import put_wrenches


def moves_freely(m, q, q_free):
    """Return whether only joint limits can act and none is near: a quick test for unconstrained motion."""
    only_limits = m.touch.pair.shape[0] == 0 and m.touch.frictions == 0 and m.touch.speeds == 0
    return only_limits and not some(not limit_slack(m.touch, q, q_free) >= 0)


def acts(impulse, n):
    """Return whether any of the first n impulses is non-zero."""
    found = False
    for r in range(n):
        if impulse[r] != 0:
            found = True
    return found


def place_rows(tree, q, m):
    """Write poses of the bodies at q and, where rows need them, velocities under m.mean."""
    place(tree, q, m.rows)
    if m.touch.pair.shape[0] > 0 or m.held.R.shape[0] > 0:
        move_bodies(tree, m.rows, m.mean)


def put_rows(tree, q, dt, m, f):
    """Write the rows that may act, for poses and velocities in m.rows; return the numbers of contacts and of rows."""
    nc = f.find(m, dt)
    level_points(m.contacts, m.touch, m.sigma, nc)
    for c in range(nc):
        put_contact(m, c)
    f.activate(m, nc)
    put_order(m, nc, f.impulses)
    n = put_limits(m, q, dt, f.rolling.put_rows(m, nc))
    n = put_speeds(m, put_frictions(m, n))
    if n > 0:
        n = f.put_constrained(tree, m, n)
    return nc, n


def rates(tree, v, m, n, with_kinematics):
    """Compute velocities along the rows: of the unconstrained mean and end, and at the start.

    m.rows.V must be the bodies' velocities in the mean. with_kinematics: those at the end and the start are known.
    """
    end, start = m.rows._replace(V=m.rows.V_end), m.rows._replace(V=m.rows.V_start)
    if not with_kinematics:
        move_bodies(tree, end, m.end)
        move_bodies(tree, start, v)
    velocities_along(m.rows, n, m.mean, m.mean_rate)
    velocities_along(end, n, m.end, m.end_rate)
    velocities_along(start, n, v, m.start_rate)


def overlap_of(m, c, dt):
    """Return the overlap of contact c at the end of the step, linearized along its row."""
    return -(m.contacts.gap[c] + dt * m.moved[3 * c + 2])


def solve_positions(problem, x, m, nc, method):
    """Solve for the position impulses m.push, and for the motion m.moved along the rows."""
    f, options, n, dt = method.functions, method.options, problem.rows, method.settings.dt
    theta, tolerance = options[SCHEME.impulse_fraction], options[SCHEME.tolerance]
    # a velocity that lasts is so much faster in the next positions
    problem = problem._replace(accepted=accepted_by(tolerance / theta, m.count[0]))
    position_problem(m, nc, n, x.q, dt, theta)
    f.rolling.put_mobility(m, nc)
    f.mask(problem, m.active)
    f.regularize(problem, m.active)
    problem.factored[0] = 0.0
    load(m, nc, n, theta, x.warm_start, f)
    f.rolling.put_bounds(m, nc, m.push, True)
    scale_along_ray(problem, m.push, m.sigma)
    f.solve(problem, m.push, m.sigma, tolerance, True, m, nc, method)
    m.info[INFO.position_residual] = residual(problem, m.push, m.sigma)
    put_moved(m, nc, n, theta)


def solve_velocities(problem, x, m, nc, method):
    """Solve for the velocity impulses m.impulse, from those of positions; return their work."""
    f, options, n, dt = method.functions, method.options, problem.rows, method.settings.dt
    theta, tolerance = options[SCHEME.impulse_fraction], options[SCHEME.tolerance]
    problem = problem._replace(accepted=accepted_by(tolerance, m.count[0]))
    velocity_problem(m, nc, n, x.q, dt, theta)
    f.mask(problem, m.active)
    f.rolling.put_bounds(m, nc, m.impulse, True)
    scale_along_ray(problem, m.impulse, m.sigma)
    solve_within_energy(problem, tolerance, m, nc, method)
    m.info[INFO.residual] = residual(problem, m.impulse, m.sigma)
    m.info[INFO.certificate], m.info[INFO.contacts] = work_of(m, m.impulse, n), m.count[0]
    return work_of_impulses(nc, n, dt, m) if options[SCHEME.work] > 0 else dt * 0


def solve_recovery(problem, x, m, nc, method):
    """Add the impulses that recover overlaps to the position impulses."""
    f, n = method.functions, problem.rows
    recovery_problem(m, nc, n, x.q, method.settings.dt)
    problem.factored[0] = 0.0
    f.rolling.deactivate(m, nc)
    f.mask(problem, m.active)
    scale_along_ray(problem, m.recovery, m.sigma)
    tolerance = FINER * method.options[SCHEME.tolerance]
    f.solve_once(problem, m.recovery, m.sigma, tolerance, True, m, nc, method)
    missed = residual(problem, m.recovery, m.sigma)
    m.info[INFO.position_residual] = maximum(m.info[INFO.position_residual], missed)
    recover(m, n)


def resolve(tree, x, m, nc, n, method, with_kinematics):
    """Solve for all sets of impulses, their changes of velocity and the diagnostics.

    x: with the velocity at the start of the motion, and impulses for the warm start. Kinematics are known if
    with_kinematics. Returns the work of the velocity impulses.
    """
    f, dt = method.functions, method.settings.dt
    rates(tree, x.v, m, n, with_kinematics)
    if not with_kinematics:
        articulate(tree, m.rows)
    backward_sweep(tree, m.rows, n)
    f.mask_rows(tree, m.rows, n, m.active)
    f.hold(tree, x.q, m.rows, n, method.mimic_constraint)
    assemble_delassus(tree, m.rows, n)
    exact = method.options[SCHEME.exact]
    problem = Problem(blocks_of(m, nc), n, exact, m.rows.G, m.g, m.mu, m.low, m.high, m.factored, 0.0)
    solve_positions(problem, x, m, nc, method)
    work = solve_velocities(problem, x, m, nc, method)
    if has_overlaps(m, nc, n, x.q, dt):
        solve_recovery(problem, x, m, nc, method)
    m.info[INFO.penetration] = dt * 0
    for c in range(nc):
        m.info[INFO.penetration] = maximum(m.info[INFO.penetration], overlap_of(m, c, dt))
    f.report(m, nc, n, dt)
    responses(tree, m.rows, blocks_of(m, nc), m.push, m.mean_change, m.impulse, m.end_change)
    return work


def put_requested_wrenches(m, nc, dt, y, f):
    """Add the wrenches on bodies, and of pairs of bodies, if they are requested."""
    if y.wrench.shape[0] > 0:
        put_wrenches(m, nc, dt, y.wrench, y.pairs)
        f.rolling.put_torques(m, nc, dt, y.wrench, y.pairs)


def correct(tree, moved, x, y, room, nc, n, method, needed):
    """Repeat the solve at the corrected midpoint (`midpoint_correction`); the solution changes where that is `needed`.

    moved: the tree whose rotor inertias include those of implicit forces.
    Returns whether there is room for the contacts, and the work of the velocity impulses.
    """
    s, f, g, m = method.settings, method.functions, room.again, room._replace(rows=compact(tree, room.rows, n))
    copy(m.mean_change, g.mean_change)
    copy(m.end_change, g.end_change)
    copy(m.info, g.info)
    to_midpoint(tree, moved, s.dt, x.q, x.v, nc, n, m)
    nc, n = put_rows(tree, x.q, s.dt, room, f)
    fits, work = not f.is_full(nc, method.several), s.dt * 0
    if fits:
        m = room._replace(rows=compact(tree, room.rows, n))
        start_gaps(tree, s.dt, m, nc)
        f.limit_to(m, n, needed)
        work += resolve(moved, x._replace(v=g.start, warm_start=y.warm_start), m, nc, n, method, False)
        f.impulses.begin(m, nc, y.warm_start, needed)
        store(m, nc, n, y.warm_start, needed, f)
        f.put_wrenches_where(m, nc, y, method, needed)
        from_midpoint(tree, s.dt, x.q, m)
        restore_unless(needed, m.mean_change, g.mean_change)
        restore_unless(needed, m.end_change, g.end_change)
        restore_unless(needed, m.info, g.info)
    return fits, work


def restore_unless(changed, x, first):
    """Restore what `copy` copied where it is not `changed`."""
    for k in range(x.size):
        x[k] = select(changed, x[k], first[k])


def corrects(options):
    """Return whether the rule evaluates the step at its midpoint, and the midpoint corrector is used."""
    return options[SCHEME.midpoint_corrector] > 0 and options[SCHEME.impulse_fraction] < 1


def replace_free(tree, free, x, y):
    """Replace results y by those of the unconstrained step where it is `free`: no row acts."""
    for k in range(tree.nq):
        y.q[k] = select(free, x.q_free[k], y.q[k])
    for k in range(tree.nv):
        y.v[k] = select(free, x.v_free[k], y.v[k])
    for k in range(2):
        y.work[k] = select(free, x.work_free[k], y.work[k])


def clear(y):
    """Set results that are sums, and diagnostics, to zero."""
    put_zeros(y.wrench)
    put_zeros(y.pairs)
    for k in range(y.solver_info.size):
        y.solver_info[k] = 0.0


def lost_by_springs(tree, q_new, nc, stored, m, method):
    """Return the energy that the springs of soft surfaces lose in a step to q_new, of the `stored` energy.

    Overwrites the contacts of the step by those at q_new.
    """
    dt = method.settings.dt
    lost = stored + lost_outside(m, nc, dt)
    place_rows(tree, q_new, m)
    found, _ = put_rows(tree, q_new, dt, m, method.functions)
    return lost - stored_in_springs(m, found, dt)


def contact_step(tree, x, y, memory, method):
    """Compute the step y (`StepOutput`) with contact from the unconstrained step x (`StepInput`).

    memory: `workspace.ContactMemory`. method: `StepMethod`. Returns False, without results, if there are too many
    contacts for several states together.
    """
    s, f, with_work, nc, n = method.settings, method.functions, method.options[SCHEME.work] > 0, 0, 0
    contacts = memory.contacts._replace(before=x.warm_start, external=x.external_contacts)
    room = memory._replace(points=y.points, info=y.solver_info, contacts=contacts)
    clear(y)
    if not moves_freely(room, x.q, x.q_free):
        if not f.with_kinematics:
            retrace(tree, x.q, x.q_free, x.v_free, s.dt, room.mean, room.end)
            place_rows(tree, x.q, room)
        nc, n = put_rows(tree, x.q, s.dt, room, f)
    if f.is_full(nc, method.several):
        return False
    stored, taken = stored_in_springs(room, nc, s.dt), s.dt * 0
    free = y.solver_info[INFO.penetration] == 0  # on all lanes
    f.impulses.begin(room, nc, y.warm_start, free)
    if n > 0:
        m = room._replace(rows=compact(tree, room.rows, n))
        if not f.with_kinematics:
            resist(tree, s, x.v, x.force, m.step)
        moved = f.with_rotors(with_armature(tree, m.step.diagonal), method.mimic_constraint)
        done = resolve(moved, x, m, nc, n, method, f.with_kinematics)
        store(m, nc, n, y.warm_start, free, f)
        free = not (acts(m.impulse, n) or acts(m.push, n))
        if with_work and any_soft(m.touch):
            taken += taken_by_dampers(m, nc, s.dt)
        if some(not free):
            put_requested_wrenches(m, nc, s.dt, y, f)
            if with_work and not f.with_kinematics:
                put_lift(tree, m.rows, m.W[0], m.lift)
            if f.again and corrects(method.options):
                needed = needs_midpoint_correction(tree, m, s.dt)
                if some(needed):
                    fits, again = correct(tree, moved, x, y, room, nc, n, method, needed)
                    if not fits:
                        return False
                    done = select(needed, again, done)
            for k in range(tree.nv):
                m.mean[k] += m.mean_change[k]
                m.end[k] += m.end_change[k]
            advance(tree, x.q, m.mean, m.end, s.dt, y.q, y.v)
            work_at(tree, s, x.v, x.force, m, y.work)
            if with_work:
                y.work[1] += done + work_of_corrections(tree, x.q, y.q, s.dt, method.options, m)
    replace_free(tree, free, x, y)
    if n > 0 and with_work and any_soft(room.touch):
        y.work[1] += lost_by_springs(tree, y.q, nc, stored - select(free, taken, 0), room, method)
    return True
