"""Steps with contact of many states, in groups of one state per SIMD lane (`simd_contact_step`).

States of a group wait for each other. So those that took as many steps of the solver before form groups.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algebra.state_lanes import OnLanes, lane_count, scattered
from ..algebra.tables import tree_tables
from ..entries.annotations import Integers, Reals, TableOfIntegers, TableOfReals
from ..entries.status import FINE, NOT_CONVERGED, status_of
from ..mimic.contact_mimic import mimic_constraint_memory
from .active_set_equations import ON_LANES
from .layout import SCHEME
from .pgs import pgs_memory
from .simd_collision import simd_contacts_memory
from .simd_contact_step import (
    FOR_ONE,
    SIMD_SOLVER_INFO,
    STEP_INFO,
    STEPS,
    UNSOLVED,
    Lanes,
    StepInput,
    StepOutput,
    contact_lanes,
    put_history,
)
from .simd_parts import load_lanes, store_lanes
from .simd_warm_start import clear_impulses
from .workspace import contact_memory

MOST_STEPS = 31  # states that took more form groups together


class States(NamedTuple):
    """Arrays of all states, with the numbers of each one after the other; `size` impulses each, `count` states.

    external, wrench: of size 0 if there are no external forces, and if wrenches are not requested.
    """

    q: Any
    v: Any
    q_free: Any
    v_free: Any
    force: Any
    external: Any
    work_free: Any
    before: Any
    q_new: Any
    v_new: Any
    after: Any
    solver_info: Any
    work: Any
    wrench: Any
    size: Any
    count: Any


class Group(NamedTuple):
    """Memory of a group of states, one per lane: see `States`. scratch (nq,). external (nv,)."""

    x: StepInput
    y: StepOutput
    external: Any
    scratch: Any


def group_memory(tree, bodies):
    """Memory of a group of states. bodies: number of wrenches, 0 if they are not requested."""
    position, rate, few = np.empty((4, tree.nq), OnLanes), np.empty((5, tree.nv), OnLanes), np.empty(9, OnLanes)
    x = StepInput(position[0], rate[0], position[1], rate[1], rate[2], few[0:2])
    y = StepOutput(position[2], rate[3], few[4 : 4 + STEP_INFO], few[2:4], np.empty((bodies, 6), OnLanes))
    return Group(x, y, rate[4], position[3])


def step_group(tables, scheme, states, room, lanes, group):
    """Compute the steps of a group of states; return False, without results, if they have too many contacts."""
    which, f, mimic, x, y = lanes.states, lanes.parts, lanes.mimic_constraint, group.x, group.y
    tree, table, m = f.load_parameters(tables, which, room)
    nq, nv = states.q.size // states.count, states.v.size // states.count
    f.load_positions(mimic, states.q, nq, which, group.scratch, x.q)
    f.load_positions(mimic, states.q_free, nq, which, group.scratch, x.q_free)
    f.load_motion(mimic, states.v, nv, which, group.scratch, x.v)
    f.load_motion(mimic, states.v_free, nv, which, group.scratch, x.v_free)
    f.load_force(mimic, states.force, nv, which, group.scratch, x.force)
    load_lanes(states.work_free, 2, which, x.work_free)
    if states.external.size > 0:
        f.load_force(mimic, states.external, nv, which, group.scratch, group.external)
    s, x = f.under_forces(tables, tree, table, x, group.external)
    done = contact_lanes(tree, s, scheme, x, states.before, states.after, states.size, y, m, lanes)
    if done:
        f.store_positions(mimic, states.q_new, nq, which, group.scratch, y.q)
        f.store_motion(mimic, states.v_new, nv, which, group.scratch, y.v)
        for k in range(STEP_INFO):
            scattered(states.solver_info, k, SIMD_SOLVER_INFO, which, y.solver_info[k])
        store_lanes(states.work, 2, which, y.work)
        store_lanes(states.wrench, y.wrench.size, which, y.wrench.reshape(y.wrench.size))
    return done


def step_groups(tables, scheme, states, room, lanes, group, which):
    """Compute the steps of all states, in groups of successive ones of the list `which`."""
    first, wide = 0, lane_count()
    while first < states.count:
        end = min(first + wide, states.count)
        for k in range(lane_count()):
            lanes.states[k] = which[min(first + k, end - 1)]
        for k in range(first, end):
            clear_impulses(states.after, which[k], states.size, room.touch.slots)
        if step_group(tables, scheme, states, room, lanes._replace(several=end > first + 1), group):
            first, wide = end, lane_count()
        else:
            wide = wide // 2


def put_alike(solver_info, which, count):
    """List the states by the solver's steps that `solver_info` counted before: those of a group wait for each other."""
    n = 0
    for steps in range(MOST_STEPS + 1):
        for k in range(count):
            if min(int(solver_info[SIMD_SOLVER_INFO * k + STEPS]), MOST_STEPS) == steps:
                which[n] = k
                n += 1


def step_all(parts, tree, made, tables, mimic_constraint, scheme, states):
    """Compute the steps of all states, `lane_count()` at a time; arrays as in `contact_step_entry`.

    The solver takes its steps up to where it stalls. `before` and `after` are impulses with their lists
    (`simd_warm_start`); those in `after` are cleared first. `solver_info` has SIMD_SOLVER_INFO numbers per state, which
    at first are those of an earlier step, or zeros, with an infinite overlap before: they determine the groups. Returns
    NOT_CONVERGED if states are left unsolved.
    """
    finder, count, one = parts.finder, states.count, np.empty(1, OnLanes)
    each = finder.memory(made.touch, tree.n_bodies, states.q)
    m = made._replace(contacts=simd_contacts_memory(made.touch, one, finder.find, each))
    which, bodies = np.empty(count, np.int64), states.wrench.size // (6 * count)
    lanes = Lanes(
        np.empty(lane_count(), np.int64), True, int(scheme[SCHEME.iterations]), np.empty(1, OnLanes),
        pgs_memory(m.g.size, one, ON_LANES), np.empty((4, tree.nv), OnLanes), np.empty((bodies, 6), OnLanes), parts,
        mimic_constraint,
    )  # fmt: skip
    put_alike(states.solver_info, which, count)
    step_groups(tables, scheme, states, m, lanes, group_memory(tree, bodies), which)
    left = 0
    for k in range(count):
        if states.solver_info[SIMD_SOLVER_INFO * k + UNSOLVED] == FOR_ONE:
            left += 1
        else:
            put_history(states.solver_info, k)
    return max(NOT_CONVERGED if left > 0 else FINE, status_of(states.q_new), status_of(states.v_new))


@lru_cache(maxsize=16)
def contact_step_on_lanes(parts):
    """Return the entry of steps with contact on SIMD lanes, with the functions `parts` (`SimdParts`).

    external (count * nv,), wrench (count * 6 (N + 1),): of size 0 without external forces, and if wrenches are not
    requested. numbers, places: model parameters of each state (`lane_parameters.LaneParameters`).
    """

    def contact_step_of_all(
        ints: TableOfIntegers, reals: TableOfReals, layout: TableOfIntegers, geometry: TableOfReals,
        rows: TableOfIntegers, frames: TableOfReals, settings: TableOfReals, scheme: TableOfReals, q: Reals, v: Reals,
        q_free: Reals, v_free: Reals, force: Reals, external: Reals, work_free: Reals, before: Reals, numbers: Reals,
        places: Integers, q_new: Reals, v_new: Reals, after: Reals, solver_info: Reals, work: Reals, wrench: Reals,
    ) -> int:  # fmt: skip
        """Compute the steps of all states (`step_all`)."""
        tree, count = tree_tables(ints, reals), work.size // 2
        made = contact_memory(tree, layout, geometry, rows, frames, np.empty(1, OnLanes), 1)
        tables = parts.tables(ints, reals, settings, made.touch, numbers, places, parts.force_memory(tree))
        states = States(
            q, v, q_free, v_free, force, external, work_free, before, q_new, v_new, after, solver_info, work, wrench,
            before.size // count, count,
        )  # fmt: skip
        return step_all(parts, tree, made, tables, 0, scheme, states)

    def contact_step_of_all_with_mimic_joints(
        ints: TableOfIntegers, reals: TableOfReals, mimic_ints: TableOfIntegers, mimic_reals: TableOfReals,
        layout: TableOfIntegers, geometry: TableOfReals, rows: TableOfIntegers, frames: TableOfReals,
        settings: TableOfReals, scheme: TableOfReals, q: Reals, v: Reals, q_free: Reals, v_free: Reals, force: Reals,
        external: Reals, work_free: Reals, before: Reals, numbers: Reals, places: Integers, q_new: Reals, v_new: Reals,
        after: Reals, solver_info: Reals, work: Reals, wrench: Reals,
    ) -> int:  # fmt: skip
        """Compute the steps of all states (`step_all`), with the tables of mimic joints."""
        tree, count = tree_tables(ints, reals), work.size // 2
        constraint = mimic_constraint_memory(tree, mimic_ints, mimic_reals, np.empty(1, OnLanes))
        made = contact_memory(tree, layout, geometry, rows, frames, np.empty(1, OnLanes), 1)
        tables = parts.tables(ints, reals, settings, made.touch, numbers, places, parts.force_memory(tree))
        states = States(
            q, v, q_free, v_free, force, external, work_free, before, q_new, v_new, after, solver_info, work, wrench,
            before.size // count, count,
        )  # fmt: skip
        return step_all(parts, tree, made, tables, constraint, scheme, states)

    made = contact_step_of_all_with_mimic_joints if parts.mimics else contact_step_of_all
    made.fuses = False  # single states have the same bits
    return made
