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

from typing import Any, NamedTuple

from ..algebra.numbers import select, some
from ..algebra.tables import with_armature
from ..kinematics.configuration import advance, retrace
from ..stepping.step import resist
from .component_solution import put_rows, resolve
from .components import put_members
from .constraint_rows import limit_slack
from .delassus import articulate, compact, move_bodies, place, put_zeros
from .layout import INFO, SCHEME, SUBTREE
from .midpoint_correction import (
    at_midpoint,
    from_midpoint,
    needs_midpoint_correction,
    put_motion,
    start_gaps,
    to_midpoint,
)
from .problem import copy
from .warm_start import store
from .work import (
    any_soft,
    lost_outside,
    put_lift,
    spring_work_of_corrections,
    stored_in_springs,
    taken_by_dampers,
    work_at,
    work_of_corrections,
)


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


def with_damping(tree, m, method):
    """Return the tree with M + D: the rotor inertias of m.step include implicit damping and gains."""
    return method.functions.with_rotors(with_armature(tree, m.step.diagonal), method.mimic_constraint)


def prepare(tree, damped, v, m):
    """Compute the bodies' velocities at the end and at the start of the motion, v, and articulated inertias.

    damped: `with_damping`. Poses, and velocities in the mean, are those of m.rows.
    """
    move_bodies(tree, m.rows._replace(V=m.rows.V_end), m.end)
    move_bodies(tree, m.rows._replace(V=m.rows.V_start), v)
    articulate(damped, m.rows)


def solve_again(tree, moved, x, y, room, k, nc, method):
    """Solve component k at the corrected midpoint, if that is needed; return the work of the velocity impulses.

    moved: `with_damping`. x: with the velocity at the start in the axes at the midpoint.
    """
    s, f, work = method.settings, method.functions, method.settings.dt * 0
    part, own = f.components.memory(room, k, nc)
    needed = f.components.needs(part)
    f.components.drop_again(part, own, not needed, f)
    if some(needed):
        n = put_rows(tree, x.q, s.dt, part, own, f)
        m = part._replace(rows=compact(tree, part.rows, n))
        start_gaps(s.dt, m, own)
        f.limit_to(m, n, needed)
        again = resolve(moved, x._replace(warm_start=y.warm_start), m, own, n, method)
        work += select(needed, again, 0)
        f.components.store(m, own, n, y, needed, f)
        f.put_wrenches(m, own, n, s.dt, y, needed, f)
        f.components.keep_info(room, m, n, needed, True, f)
    return work


def correct(tree, x, y, room, method):
    """Repeat the solve at the corrected midpoint (`midpoint_correction`); the solution changes where that is needed.

    A contact that is found there only, of a component that needs it and one that does not, does not act.
    Returns whether there is room for the contacts, and the work of the velocity impulses.
    """
    s, f, g, work = method.settings, method.functions, room.again, method.settings.dt * 0
    moved = with_damping(tree, room, method)
    copy(room.mean_change, g.mean_change)
    copy(room.end_change, g.end_change)
    f.components.begin_merge(room, y.warm_start, f)
    to_midpoint(tree, moved, s.dt, x.q, x.v, room)
    nc = f.find(at_midpoint(room), s.dt)
    if f.is_full(nc, method.several):
        return False, work
    move_bodies(tree, room.rows, room.mean)
    prepare(tree, moved, g.start, room)
    work += f.components.solve_again(solve_again, tree, moved, x._replace(v=g.start), y, room, nc, method)
    f.components.merge(room, y.warm_start, f)
    from_midpoint(tree, s.dt, x.q, room)
    return True, work


def corrects(options):
    """Return whether the rule evaluates the step at its midpoint, and the midpoint corrector is used."""
    return options[SCHEME.midpoint_corrector] > 0 and options[SCHEME.impulse_fraction] < 1


def replace_free(tree, acts_on, x, y):
    """Replace the results y of bodies on which no impulses act by those of the unconstrained step.

    acts_on (N + 1,): 1 for bodies on which impulses act.
    """
    for i in range(1, tree.n_bodies + 1):
        acting, end = acts_on[i] > 0, tree.nq
        if i < tree.n_bodies:
            end = tree.q_start[i + 1]
        for k in range(tree.q_start[i], end):
            y.q[k] = select(acting, y.q[k], x.q_free[k])
        for k in range(tree.v_start[i], tree.v_start[i + 1]):
            y.v[k] = select(acting, y.v[k], x.v_free[k])


def clear(y):
    """Set results that are sums, and diagnostics, to zero."""
    put_zeros(y.wrench)
    put_zeros(y.pairs)
    for k in range(y.solver_info.size):
        y.solver_info[k] = 0.0


def lost_by_springs(tree, q_new, stored, m, method):
    """Return the energy that the springs of soft surfaces lose in a step to q_new, of the `stored` energy.

    Overwrites the contacts of the step by those at q_new.
    """
    place_rows(tree, q_new, m)
    found = method.functions.find(m, method.settings.dt)
    return stored - stored_in_springs(m, found, method.settings.dt)


class Solution(NamedTuple):
    """Solution of a component, or of several.

    free: where no impulses act. needed: where the step must be corrected. done: work of the velocity impulses. taken:
    energy that dampers of soft surfaces dissipate. lost: energy that springs of external contacts lose.
    """

    free: Any
    needed: Any
    done: Any
    taken: Any
    lost: Any


def solve_component(tree, x, y, room, m, nc, n, method):
    """Return the solution (`Solution`) of a component with nc contacts and n rows; tree: `with_damping`."""
    f, s, with_work = method.functions, method.settings, method.options[SCHEME.work] > 0
    taken, lost = s.dt * 0, s.dt * 0
    done = resolve(tree, x, m, nc, n, method)
    free = not (acts(m.impulse, n) or acts(m.push, n))
    needed = f.again and corrects(method.options) and needs_midpoint_correction(m, s.dt)
    put_members(m.rows.component, SUBTREE.body, m.acting, select(free, 0.0, 1.0))
    put_members(m.rows.component, SUBTREE.dof, m.corrected, select(needed, 1.0, 0.0))
    done = select(needed, 0, done)
    store(m, nc, n, y.warm_start, True, f)
    if some(not free):
        f.put_wrenches(m, nc, n, s.dt, y, not needed, f)
    f.components.keep_info(room, m, n, needed, False, f)
    if with_work and any_soft(m.touch):
        taken += taken_by_dampers(m, nc, s.dt)
        lost += lost_outside(m, nc, s.dt)
    if f.again and corrects(method.options):
        f.components.keep_motion(m)
        put_motion(tree, nc, n, m, needed)
    return Solution(free, needed, done, taken, lost)


def begin(tree, x, m, method):
    """Compute what rows of all components need, unless it is given: implicit damping, and `prepare`."""
    f = method.functions
    if not f.with_kinematics:
        s = method.settings
        resist(tree, s, x.q, x.v, x.force, s.dt / 2, m.step)  # m.tau is for the midpoint corrector only
        prepare(tree, with_damping(tree, m, method), x.v, m)
    f.components.clear(m)


def contact_step(tree, x, y, memory, method):
    """Compute the step y (`StepOutput`) with contact from the unconstrained step x (`StepInput`).

    memory: `workspace.ContactMemory`. method: `StepMethod`. Returns False, without results, if there are too many
    contacts for several states together.
    """
    s, f, with_work, nc, count = method.settings, method.functions, method.options[SCHEME.work] > 0, 0, 0
    contacts = memory.contacts._replace(before=x.warm_start, external=x.external_contacts)
    m = memory._replace(points=y.points, info=y.solver_info, contacts=contacts)
    clear(y)
    put_zeros(m.acting)
    if not moves_freely(m, x.q, x.q_free):
        if not f.with_kinematics:
            retrace(tree, x.q, x.q_free, x.v_free, s.dt, m.mean, m.end)
            place_rows(tree, x.q, m)
        nc = f.find(m, s.dt)
        count = f.components.find(m, nc, False, f)
    if f.is_full(nc, method.several):
        return False
    stored, solved = stored_in_springs(m, nc, s.dt), 0
    free, zero = y.solver_info[INFO.penetration] == 0, s.dt * 0  # free: on all lanes
    all_of = Solution(free, not free, zero, zero, zero)
    f.impulses.begin(m, nc, y.warm_start, free)
    for k in range(count):
        component, own = f.components.memory(m, k, nc)
        n = put_rows(tree, x.q, s.dt, component, own, f)
        if n > 0:
            if solved == 0:
                begin(tree, x, m, method)
            part, solved = component._replace(rows=compact(tree, component.rows, n)), 1
            one = solve_component(with_damping(tree, m, method), x, y, m, part, own, n, method)
            all_of = Solution(
                all_of.free and one.free, all_of.needed or one.needed, all_of.done + one.done,
                all_of.taken + one.taken, all_of.lost + one.lost,
            )  # fmt: skip
    if solved > 0 and some(not all_of.free) and not put_solution(tree, x, y, m, all_of, method):
        return False
    replace_free(tree, m.acting, x, y)
    for k in range(2):
        y.work[k] = select(all_of.free, x.work_free[k], y.work[k])
    if solved > 0 and with_work and any_soft(m.touch):
        taken = select(all_of.free, all_of.taken, 0)
        y.work[1] += lost_by_springs(tree, y.q, stored - taken + all_of.lost, m, method)
    return True


def add(x, total):
    """total += x."""
    for k in range(x.size):
        total[k] += x[k]


def put_solution(tree, x, y, m, solution, method):
    """Write the state at the end of the step, and its work, from the solution of all components.

    Return whether there is room for the contacts at the midpoint.
    """
    s, f, with_work, done = method.settings, method.functions, method.options[SCHEME.work] > 0, solution.done
    if with_work and not f.with_kinematics:
        put_lift(tree, m.rows, m.W[0], m.lift)
    if f.again and some(solution.needed):
        fits, again = correct(tree, x, y, m, method)
        if not fits:
            return False
        done += again
    add(m.mean_change, m.mean)
    add(m.end_change, m.end)
    advance(tree, x.q, m.mean, m.end, s.dt, y.q, y.v)
    work_at(tree, s, x.v, x.force, m, y.work)
    if with_work:
        done += spring_work_of_corrections(tree, s, y.q, method.options, m)
        y.work[1] += done + work_of_corrections(tree, x.q, y.q, s.dt, method.options, m)
    return True
