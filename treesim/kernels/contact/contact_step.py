"""One time step with contact: what contacts, joint limits and joint friction make of a step that knew nothing of them.

The free step goes from (q, v) to its end with a mean velocity v_m and an end velocity v_f, both along the axes at the
start. Sets of impulses along the same rows at q, with the same G = J (M + D)^-1 J', then see to it that

    positions:   q+ = q (+) h (v_m + (M + D)^-1 J' (lambda_p + lambda_r)):  no gap becomes negative, no overlap grows
    velocities:  v+ = v_f + (M + D)^-1 J' lambda:  Signorini's and Coulomb's laws where the gap is closed
    recovery:    lambda_r takes overlaps back, where there are any (`recovery`)

so that nothing sinks, and no push out of an overlap stays in the velocities (the impulses of the positions are not
kept, as in the stabilisation of Gear, Gupta and Leimkuhler 1985). Without active rows the step is the free one, bit for
bit. Positions are of the free rule's order while contacts last; impacts happen within their step at a constant free
acceleration.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..algebra.numbers import maximum, minimum, select, some, sqrt
from ..algebra.tables import with_armature
from ..entries.entry import entry
from ..entries.status import FINE
from ..kinematics.configuration import advance, retrace
from ..mimic.contact_mimic import (
    any_tree,
    constrain_mimic_joints,
    constrain_nothing,
    mimic_constraint_memory,
    with_mimic_rotors,
)
from ..mimic.mimic_entry import mimic_entry
from ..stepping.external_forces import external_memory, nothing_around, under_external_forces
from ..stepping.step import resist, settings_of
from .collision import PLANES, SOLIDS, find_contacts
from .constraint_rows import (
    MARGIN,
    UNBOUNDED,
    law_of,
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
from .delassus import articulate, assemble_delassus, backward_sweep, move_bodies, place, response, velocities_along
from .midpoint_correction import from_midpoint, needs_midpoint_correction, start_gaps, to_midpoint
from .problem import Problem, regularize_immobile_rows, relative_velocities, residual, scale_along_ray
from .recovery import FINER, has_overlaps, recover, recovery_problem
from .work import (
    any_soft,
    lost_outside,
    stored_in_springs,
    taken_by_dampers,
    work_at,
    work_of_corrections,
    work_of_impulses,
)
from .workspace import contact_memory
from .wrenches import put_wrenches

# what is told of a step: the residuals are those of velocities, and of positions
PENETRATION, RESIDUAL, CERTIFICATE, CONTACTS, ITERATIONS, LEFT_OUT, POSITION_RESIDUAL = range(7)
SOLVER_INFO = 7


def work_of(m, impulse, n):
    """The certificate T(v+) - T(v_f) = lambda' (sigma+ + sigma_f) / 2 of velocities without bias; v_f with what springs
    of soft surfaces, which give back what they took, add to the free end."""
    total = impulse[0] * 0
    for r in range(n):
        total += impulse[r] * (m.sigma[r] - m.bias[r] + m.end_rate[r]) / 2
    for s in range(n):
        if some(m.soft[s] > 0):
            total -= impulse[s] * (m.sigma[s] - m.bias[s] + m.end_rate[s]) / 2
            for r in range(n):
                total += select(m.soft[r] > 0, 0, impulse[r] * m.rows.G[r, s] * impulse[s] / 2)
    return total


def reset_warm_start(after):
    """No impulses."""
    for r in range(after.size):
        after[r] = 0.0


def clear(after, wrench, pairs, solver_info, work, work_free):
    """Nothing has happened yet but the free step."""
    reset_warm_start(after)
    for i in range(wrench.shape[0]):
        for j in range(6):
            wrench[i, j] = 0.0
    for i in range(pairs.shape[0]):
        for j in range(12):
            pairs[i, j] = 0.0
    for k in range(solver_info.size):
        solver_info[k] = 0.0
    work[0], work[1] = work_free[0], work_free[1]


def moves_freely(m, q, q_free):
    """Whether there are joint limits alone, and none is near: the quick answer for what moves freely."""
    only_limits = m.touch.pair.shape[0] == 0 and m.touch.frictions == 0 and m.touch.speeds == 0
    return only_limits and limit_slack(m.touch, q, q_free) >= 0


def store_warm_start(m, nc, n, after):
    """Impulses by slot, limit and joint, for the next step to start from."""
    for c in range(nc):
        for j in range(3):
            after[3 * m.contacts.slot[c] + j] = m.impulse[3 * c + j]
    for r in range(3 * nc, n):
        after[3 * m.touch.slots + m.limit[r]] = m.impulse[r]


def load_warm_start(m, nc, n, share, before):
    """Impulses of the step before, to start from."""
    for c in range(nc):
        for j in range(3):
            m.push[3 * c + j] = share * before[3 * m.contacts.slot[c] + j]
    for r in range(3 * nc, n):
        m.push[r] = share * before[3 * m.touch.slots + m.limit[r]]


def copy_unconstrained_step(q_free, v_free, q_new, v_new):
    """Where no row acts, the step is the free one."""
    for k in range(q_new.size):
        q_new[k] = q_free[k]
    for k in range(v_new.size):
        v_new[k] = v_free[k]


def acts(impulse, n):
    """Whether there is any impulse."""
    found = False
    for r in range(n):
        if impulse[r] != 0:
            found = True
    return found


def deepest(m, nc, dt):
    """The largest overlap of a contact at the end of the step, as its row tells."""
    found = dt * 0
    for c in range(nc):
        r = 3 * c + 2
        found = maximum(found, -(m.contacts.gap[c] + dt * m.moved[r]))
    return found


def find_rows(tree, q, dt, external_contacts, m, parts):
    """The rows of the state q that may act when bodies move with m.mean: numbers of contacts and of rows, and of
    contacts for which there was no room."""
    place(tree, q, m.rows)
    if m.touch.pair.shape[0] > 0 or m.held.R.shape[0] > 0:
        move_bodies(tree, m.rows, m.mean)
    return put_rows(tree, q, dt, external_contacts, m, parts)


def put_rows(tree, q, dt, external_contacts, m, parts):
    """The rows that may act, of bodies that are placed and move as m.rows says; returns what `find_rows` does."""
    found = 0
    if m.touch.pair.shape[0] > 0:
        found = find_contacts(m.touch, m.rows, dt, MARGIN, external_contacts, m.contacts, parts.solids)
    nc = found if found < m.touch.capacity else m.touch.capacity
    for c in range(nc):
        put_contact(m, c)
    n = put_limits(m, q, dt, 3 * nc)
    n = put_speeds(m, put_frictions(m, n))
    if n > 0:
        n = parts.put_held(tree, m, n)
    return nc, n, found - nc


def rates(tree, v, m, nc, n):
    """Velocities along the rows: in the free mean, of which m.rows.V are the bodies' velocities, at the free end, and,
    where something bounces, at the start."""
    velocities_along(m.rows, n, m.mean, m.mean_rate)
    move_bodies(tree, m.rows, m.end)
    velocities_along(m.rows, n, m.end, m.end_rate)
    bounces = False
    for c in range(nc):
        bounces = bounces or m.touch.law[law_of(m, c), 1] > 0
    if bounces:
        move_bodies(tree, m.rows, v)
        velocities_along(m.rows, n, v, m.start_rate)


class Parts(NamedTuple):
    """What is compiled of a step: the solids (`collision`), the rows of held frames, and whether there may be a
    second look (`midpoint_correction`), which neither feels followers nor what is told from outside."""

    solids: Any
    put_held: Any
    again: bool


def parts_of(on_planes, held, again):
    """What is compiled of steps over planes alone or other solids, with held frames or without."""
    return Parts(PLANES if on_planes else SOLIDS, put_held if held else put_none_held, again)


def make_contact_step(solver, with_rotors, hold, parts):
    """The kernel of a step with contact by a solver (see `treesim.contact.base`); with_rotors, hold: the tree whose
    joints are held, and what takes the part of rows that followers do not let through (`contact_mimic`)."""

    def solve_within_energy(problem, m, n, dt, tolerance, most, memory):
        """The impulses of the velocities. Newton's restitution may add energy where there is friction: then as much of
        it is taken as adds none, on the way from the impulses without restitution."""
        taken = solver(problem, m.impulse, m.sigma, tolerance, most, memory)
        bounces = False
        for c in range(problem.contacts):
            bounces = bounces or m.rebound[c] > 0
        if bounces and work_of(m, m.impulse, n) > 0:
            for r in range(n):
                m.inelastic[r] = m.impulse[r]
            for c in range(problem.contacts):
                m.g[3 * c + 2] += m.rebound[c]
            taken += solver(problem, m.inelastic, m.sigma, tolerance, most, memory)
            for c in range(problem.contacts):
                m.g[3 * c + 2] -= m.rebound[c]
            scale_restitution(problem, m, n)
        return taken

    def resolve(moved, q, v, nc, n, s, scheme, before, solver_info, m, memory, mimic_constraint):
        """The impulses of all sets, what they change of the velocities, and what is told of them; returns the work of
        those of the velocities."""
        share, tolerance, most = scheme[0], scheme[1], int(scheme[2])
        rates(moved, v, m, nc, n)
        articulate(moved, m.rows)
        backward_sweep(moved, m.rows, n)
        hold(moved, q, m.rows, n, mimic_constraint)
        assemble_delassus(moved, m.rows, n)
        problem = Problem(nc, n, scheme[3], m.rows.G, m.g, m.mu, m.low, m.high)
        position_problem(m, nc, n, q, s.dt, share)
        regularize_immobile_rows(problem)
        load_warm_start(m, nc, n, share, before)
        scale_along_ray(problem, m.push, m.sigma)
        taken = solver(problem, m.push, m.sigma, tolerance, most, memory)
        solver_info[POSITION_RESIDUAL] = residual(problem, m.push, m.sigma)
        put_moved(m, nc, n)
        velocity_problem(m, nc, n, q, s.dt, share)
        for r in range(n):
            m.impulse[r] = minimum(maximum(m.push[r] / share, -UNBOUNDED), UNBOUNDED)
        scale_along_ray(problem, m.impulse, m.sigma)
        taken += solve_within_energy(problem, m, n, s.dt, tolerance, most, memory)
        relative_velocities(problem, m.impulse, m.sigma)
        solver_info[RESIDUAL] = residual(problem, m.impulse, m.sigma)
        solver_info[CERTIFICATE], solver_info[CONTACTS] = work_of(m, m.impulse, n), nc
        if has_overlaps(m, nc, n, q, s.dt):
            recovery_problem(m, nc, n, q, s.dt)
            scale_along_ray(problem, m.recovery, m.sigma)
            taken += solver(problem, m.recovery, m.sigma, FINER * tolerance, most, memory)
            missed = residual(problem, m.recovery, m.sigma)
            solver_info[POSITION_RESIDUAL] = maximum(solver_info[POSITION_RESIDUAL], missed)
            recover(m, n)
        solver_info[PENETRATION], solver_info[ITERATIONS] = deepest(m, nc, s.dt), solver_info[ITERATIONS] + taken
        response(moved, m.rows, n, m.push, m.mean_change)
        response(moved, m.rows, n, m.impulse, m.end_change)
        return work_of_impulses(moved, v, nc, n, s.dt, m) if scheme[4] > 0 else s.dt * 0

    def lost_by_springs(tree, q_new, nc, dt, external_contacts, stored, m):
        """What the springs of soft surfaces lose in a step to q_new, of what they had stored; contacts there take the
        place of those of the step."""
        lost = stored
        if any_soft(m.touch):
            lost += lost_outside(m, nc, dt)
            found, _, _ = find_rows(tree, q_new, dt, external_contacts, m, parts)
            lost -= stored_in_springs(m, found)
        return lost

    def contact_step(
        tree, settings, scheme, q, v, q_free, v_free, force, work_free, before, external_contacts, q_new, v_new, after,
        wrench, pairs, solver_info, work, m, memory, mimic_constraint,
    ):  # fmt: skip
        """(q, v) at the end of the step, the impulses of every row by its place, contact wrenches of the bodies and of
        pairs of them, what is told of the step, and the work of the control, and of all that resists [J]; work_free:
        that of the free step."""
        s = settings_of(tree, settings)
        if moves_freely(m, q, q_free):
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            clear(after, wrench, pairs, solver_info, work, work_free)
            return FINE
        retrace(tree, q, q_free, v_free, s.dt, m.mean, m.end)
        nc, n, left_out = find_rows(tree, q, s.dt, external_contacts, m, parts)
        stored = stored_in_springs(m, nc)
        clear(after, wrench, pairs, solver_info, work, work_free)
        solver_info[LEFT_OUT] = left_out
        if n == 0:
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            return FINE
        resist(tree, s, v, force, m.step)
        moved = with_rotors(with_armature(tree, m.step.diagonal), mimic_constraint)
        done = resolve(moved, q, v, nc, n, s, scheme, before, solver_info, m, memory, mimic_constraint)
        store_warm_start(m, nc, n, after)
        if not (acts(m.impulse, n) or acts(m.push, n)):
            copy_unconstrained_step(q_free, v_free, q_new, v_new)
            if scheme[4] > 0:
                stored -= taken_by_dampers(m, nc, s.dt)
                work[1] += lost_by_springs(tree, q_new, nc, s.dt, external_contacts, stored, m)
            return FINE
        if parts.again and scheme[0] < 1 and needs_midpoint_correction(tree, m, s.dt):
            to_midpoint(tree, moved, s.dt, q, v, nc, n, m)
            nc, n, left_out = put_rows(tree, q, s.dt, external_contacts, m, parts)
            solver_info[LEFT_OUT] = maximum(solver_info[LEFT_OUT], left_out)
            start_gaps(tree, s.dt, m, nc)
            done = resolve(moved, q, m.again.start, nc, n, s, scheme, after, solver_info, m, memory, mimic_constraint)
            reset_warm_start(after)
            store_warm_start(m, nc, n, after)
            from_midpoint(tree, s.dt, q, m)
        for k in range(tree.nv):
            m.mean[k] += m.mean_change[k]
            m.end[k] += m.end_change[k]
        advance(tree, q, m.mean, m.end, s.dt, q_new, v_new)
        put_wrenches(m, nc, s.dt, wrench, pairs)
        work_at(tree, s, v, force, m, work)
        if scheme[4] > 0:
            work[1] += done + work_of_corrections(tree, q, q_new, s.dt, scheme, m)
            work[1] += lost_by_springs(tree, q_new, nc, s.dt, external_contacts, stored, m)
        return FINE

    return contact_step


def scale_restitution(problem, m, n):
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
        m.impulse[r] = m.inelastic[r] + part * m.bounce[r]


def work_of_impulse(problem, m, impulse, n):
    """lambda' G lambda / 2 + lambda' sigma_f; m.sigma is scratch memory."""
    relative_velocities(problem, impulse, m.sigma)
    total = impulse[0] * 0
    for r in range(n):
        total += impulse[r] * ((m.sigma[r] - m.g[r]) / 2 + m.end_rate[r])
    return total


@lru_cache(maxsize=16)
def contact_step_entry(solver, solver_memory, mimic, parts, pushed=False):
    """Return the entry of a step with contact by a solver, whose arrays are named below.

    tied: for robots with mimic joints. pushed: `external`, external forces of the joints, comes after `force`."""
    step = make_contact_step(
        solver, *((with_mimic_rotors, constrain_mimic_joints) if mimic else (any_tree, constrain_nothing)), parts
    )
    step, around = (under_external_forces(step), external_memory) if pushed else (step, nothing_around)

    def memory_for(tree, layout, geometry, rows, frames, q):
        m = contact_memory(tree, layout, geometry, rows, frames, q)
        return m, solver_memory(m.g.size, q), around(tree, q, 0)

    def mimic_memory_for(tree, mimic_ints, mimic_reals, layout, geometry, rows, frames, q):
        m = contact_memory(tree, layout, geometry, rows, frames, q)
        return m, solver_memory(m.g.size, q), around(tree, q, mimic_constraint_memory(tree, mimic_ints, mimic_reals, q))

    flags = {
        "over_planes": parts.solids is PLANES, "held": parts.put_held is put_held, "again": parts.again, "mimic": mimic,
        "pushed": pushed,
    }  # fmt: skip
    step.__name__ = "_".join([f"contact_step_by_{solver.__name__}", *(name for name, holds in flags.items() if holds)])
    made = entry(
        step, mimic_memory_for if mimic else memory_for,
        {
            "layout": "TableOfIntegers", "geometry": "TableOfReals", "rows": "TableOfIntegers",
            "frames": "TableOfReals", "settings": "TableOfReals", "scheme": "TableOfReals",
        },
        {
            "R": "3 * layout[5] + layout[2] + layout[3] + layout[7] + rows[1 + 3 * rows[0]]",
            "P": "layout[8]", "F": "layout[9]",
        }, returns_status=True, expands=mimic,
        q="nq", v="nv", q_free="nq", v_free="nv", force="nv'", **({"external": "nv'"} if pushed else {}),
        work_free="2", before="R", external_contacts="F, 9", q_new="-> nq", v_new="-> nv", after="-> R",
        wrench="-> N + 1, 6", pairs="-> P, 12", solver_info=f"-> {SOLVER_INFO}", work="-> 2",
    )  # fmt: skip
    return mimic_entry(made) if mimic else made
