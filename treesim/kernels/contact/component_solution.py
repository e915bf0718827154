"""Solution of a component: the impulses of its contacts, joint limits and friction (see `contact_step`)."""

from ..algebra.numbers import maximum
from .constraint_rows import (
    blocks_of,
    level_points,
    position_problem,
    put_contact,
    put_frictions,
    put_limits,
    put_moved,
    put_speeds,
    velocity_problem,
)
from .delassus import assemble_delassus, backward_sweep, responses, velocities_along
from .layout import INFO, SCHEME
from .problem import Problem, accepted_by, residual, scale_along_ray
from .recovery import FINER, has_overlaps, recover, recovery_problem
from .restitution import solve_within_energy, work_of
from .warm_start import load
from .work import work_of_impulses


def put_rows(tree, q, dt, m, nc, f):
    """Write the rows of a component that may act, for poses and velocities in m.rows; return their number.

    nc: number of its contacts.
    """
    level_points(m.contacts, m.touch, m.sigma, nc)
    for c in range(nc):
        put_contact(m, c)
    n = put_limits(m, q, dt, f.rolling.put_rows(m, nc))
    n = put_speeds(m, put_frictions(m, n))
    if n > 0:
        n = f.put_constrained(tree, m, n)
    return n


def rates(v, m, n):
    """Compute velocities along the rows: of the unconstrained mean and end, and at the start."""
    velocities_along(m.rows, n, m.mean, m.mean_rate)
    velocities_along(m.rows._replace(V=m.rows.V_end), n, m.end, m.end_rate)
    velocities_along(m.rows._replace(V=m.rows.V_start), n, v, m.start_rate)


def overlap_of(m, c, dt):
    """Return the overlap of contact c at the end of the step, linearized along its row."""
    return -(m.contacts.gap[c] + dt * m.moved[3 * c + 2])


def solve_positions(problem, x, m, nc, method):
    """Solve for the position impulses m.push, and for the motion m.moved along the rows."""
    f, options, n, dt = method.functions, method.options, problem.rows, method.settings.dt
    theta, tolerance = options[SCHEME.impulse_fraction], options[SCHEME.tolerance]
    # a velocity that lasts is so much faster in the next positions
    problem = problem._replace(accepted=accepted_by(tolerance / theta, m.count[0], f.components.few))
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
    """Solve for the velocity impulses m.impulse, from the position impulses as initial values; return their work."""
    f, options, n, dt = method.functions, method.options, problem.rows, method.settings.dt
    theta, tolerance = options[SCHEME.impulse_fraction], options[SCHEME.tolerance]
    problem = problem._replace(accepted=accepted_by(tolerance, m.count[0], f.components.few))
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


def resolve(tree, x, m, nc, n, method):
    """Solve for all sets of impulses of a component, their changes of velocity and the diagnostics.

    x: with the velocity at the start of the motion, and impulses for the warm start. Returns the work of the velocity
    impulses.
    """
    f, dt = method.functions, method.settings.dt
    rates(x.v, m, n)
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
