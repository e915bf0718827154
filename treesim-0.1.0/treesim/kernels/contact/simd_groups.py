"""Steps with contact of many states, in groups of one state per SIMD lane (`simd_contact_step`).

States of a group wait for each other. So those that took as many steps of the solver before form groups.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algebra.state_lanes import OnLanes, lane_count, scattered
from ..algebra.tables import tree_tables
from ..entries.annotations import Reals, TableOfIntegers, TableOfReals
from ..entries.status import FINE, NOT_CONVERGED, status_of
from ..mimic.contact_mimic import mimic_constraint_memory
from ..stepping.step import settings_of
from .simd_collision import CAPACITY, simd_contacts_memory
from .simd_contact_step import (
    FOR_ONE,
    SIMD_SOLVER_INFO,
    STEP_INFO,
    STEPS,
    UNSOLVED,
    Lanes,
    contact_lanes,
    put_history,
    solver_memory,
)
from .simd_parts import load_lanes, store_lanes
from .simd_warm_start import clear_impulses
from .workspace import contact_memory

MOST_STEPS = 31  # states that took more form groups together


class States(NamedTuple):
    """Arrays of all states, with the numbers of each one after the other; `size` impulses each, `count` states."""

    q: Any
    v: Any
    q_free: Any
    v_free: Any
    force: Any
    work_free: Any
    before: Any
    q_new: Any
    v_new: Any
    after: Any
    solver_info: Any
    work: Any
    size: Any
    count: Any


def step_group(tree, s, scheme, x, room, lanes, coordinates, rates_, few):
    """Compute the steps of a group of states; return False, without results, if they have too many contacts."""
    states, f, mimic, scratch = lanes.states, lanes.parts, lanes.mimic_constraint, coordinates[3]
    nq, nv = x.q.size // x.count, x.v.size // x.count
    f.load_positions(mimic, x.q, nq, states, scratch, coordinates[0])
    f.load_positions(mimic, x.q_free, nq, states, scratch, coordinates[1])
    f.load_motion(mimic, x.v, nv, states, scratch, rates_[0])
    f.load_motion(mimic, x.v_free, nv, states, scratch, rates_[1])
    f.load_force(mimic, x.force, nv, states, scratch, rates_[2])
    load_lanes(x.work_free, 2, states, few[8:10])
    done = contact_lanes(
        tree, s, scheme, coordinates[0], rates_[0], coordinates[1], rates_[1], rates_[2], few[8:10], x.before, x.after,
        x.size, coordinates[2], rates_[3], few[0:STEP_INFO], few[5:7], room, lanes,
    )  # fmt: skip
    if done:
        f.store_positions(mimic, x.q_new, nq, states, scratch, coordinates[2])
        f.store_motion(mimic, x.v_new, nv, states, scratch, rates_[3])
        for k in range(STEP_INFO):
            scattered(x.solver_info, k, SIMD_SOLVER_INFO, states, few[k])
        store_lanes(x.work, 2, states, few[5:7])
    return done


def step_groups(tree, s, scheme, x, room, lanes, coordinates, rates_, few, which):
    """Compute the steps of all states, in groups of successive ones of the list `which`."""
    first, wide = 0, lane_count()
    while first < x.count:
        end = min(first + wide, x.count)
        for k in range(lane_count()):
            lanes.states[k] = which[min(first + k, end - 1)]
        for k in range(first, end):
            clear_impulses(x.after, which[k], x.size, room.touch.slots)
        group = lanes._replace(several=end > first + 1)
        if step_group(tree, s, scheme, x, room, group, coordinates, rates_, few):
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


def step_all(
    parts, tree, mimic_constraint, layout, geometry, rows, frames, settings, scheme, q, v, q_free, v_free, force,
    work_free, before, q_new, v_new, after, solver_info, work,
):  # fmt: skip
    """Compute the steps of all states, `lane_count()` at a time; arrays as in `contact_step_entry`.

    The solver takes its steps up to where it stalls. `before` and `after` are impulses with their lists
    (`simd_warm_start`); those in `after` are cleared first. `solver_info` has SIMD_SOLVER_INFO numbers per state, which
    at first are those of an earlier step, or zeros, with an infinite overlap before: they determine the groups. Returns
    NOT_CONVERGED if states are left unsolved.
    """
    s, finder = settings_of(tree, settings), parts.finder
    nq, nv, count = tree.nq, tree.nv, work.size // 2
    coordinates, rates_, few = np.empty((4, nq), OnLanes), np.empty((4, nv), OnLanes), np.empty(10, OnLanes)
    made = contact_memory(tree, layout, geometry, rows, frames, coordinates[0], 1)
    # all points of a pair are contacts, before four remain
    each = finder.memory(made.touch, tree.n_bodies, q)
    found = simd_contacts_memory(CAPACITY + made.touch.most, coordinates[0], finder.find, each)
    m = made._replace(contacts=found)
    memory = solver_memory(m.g.size, coordinates[0])
    states, which, solution = np.empty(lane_count(), np.int64), np.empty(count, np.int64), np.empty((4, nv), OnLanes)
    x = States(
        q, v, q_free, v_free, force, work_free, before, q_new, v_new, after, solver_info, work, before.size // count,
        count,
    )  # fmt: skip
    put_alike(solver_info, which, count)
    lanes = Lanes(states, True, int(scheme[2]), few[7:8], memory, solution, parts, mimic_constraint)
    step_groups(tree, s, scheme, x, m, lanes, coordinates, rates_, few, which)
    left = 0
    for k in range(count):
        if solver_info[SIMD_SOLVER_INFO * k + UNSOLVED] == FOR_ONE:
            left += 1
        else:
            put_history(solver_info, k)
    return max(NOT_CONVERGED if left > 0 else FINE, status_of(q_new), status_of(v_new))


@lru_cache(maxsize=16)
def contact_step_on_lanes(parts):
    """Return the entry of steps with contact on SIMD lanes, with the functions `parts` (`SimdParts`)."""

    def contact_step_of_all(
        ints: TableOfIntegers, reals: TableOfReals, layout: TableOfIntegers, geometry: TableOfReals,
        rows: TableOfIntegers, frames: TableOfReals, settings: TableOfReals, scheme: TableOfReals, q: Reals, v: Reals,
        q_free: Reals, v_free: Reals, force: Reals, work_free: Reals, before: Reals, q_new: Reals, v_new: Reals,
        after: Reals, solver_info: Reals, work: Reals,
    ) -> int:  # fmt: skip
        """Compute the steps of all states (`step_all`)."""
        return step_all(
            parts, tree_tables(ints, reals), 0, layout, geometry, rows, frames, settings, scheme, q, v, q_free, v_free,
            force, work_free, before, q_new, v_new, after, solver_info, work,
        )  # fmt: skip

    def contact_step_of_all_with_mimic_joints(
        ints: TableOfIntegers, reals: TableOfReals, mimic_ints: TableOfIntegers, mimic_reals: TableOfReals,
        layout: TableOfIntegers, geometry: TableOfReals, rows: TableOfIntegers, frames: TableOfReals,
        settings: TableOfReals, scheme: TableOfReals, q: Reals, v: Reals, q_free: Reals, v_free: Reals, force: Reals,
        work_free: Reals, before: Reals, q_new: Reals, v_new: Reals, after: Reals, solver_info: Reals, work: Reals,
    ) -> int:  # fmt: skip
        """Compute the steps of all states (`step_all`), with the tables of mimic joints."""
        tree = tree_tables(ints, reals)
        constraint = mimic_constraint_memory(tree, mimic_ints, mimic_reals, np.empty(1, OnLanes))
        return step_all(
            parts, tree, constraint, layout, geometry, rows, frames, settings, scheme, q, v, q_free, v_free,
            force, work_free, before, q_new, v_new, after, solver_info, work,
        )  # fmt: skip

    return contact_step_of_all_with_mimic_joints if parts.mimics else contact_step_of_all
