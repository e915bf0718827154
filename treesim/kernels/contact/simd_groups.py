"""Steps with contact of many states, in groups of one state per SIMD lane (`contact_step`).

States of a group wait for each other. So those that took as many iterations in the step before form groups.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algebra.elimination import ON_LANES
from ..algebra.numbers import maximum, select, some
from ..algebra.state_lanes import OnLanes, gathered, lane_count, scattered
from ..algebra.tables import tree_tables
from ..entries.annotations import Integers, Reals, TableOfIntegers, TableOfReals
from ..entries.status import FINE, NOT_CONVERGED, status_of
from ..mimic.contact_mimic import mimic_constraint_memory
from ..mimic.mimic import expand_force, expand_motion, expand_positions, pick_motion, pick_positions
from .component_functions import DROPPED
from .components import no_components
from .contact_points import LAW, POINT
from .contact_step import contact_step
from .lane_parameters import (
    force_memory,
    load_numbers,
    no_memory,
    no_numbers,
    own_parameters,
    same_parameters,
    under_forces,
    without_forces,
)
from .layout import ALL_INFO, INFO, STEP_INFO
from .near_pairs import sort, starts_before
from .pgs import pgs_memory
from .simd_collision import MOST, Finder, simd_contacts_memory
from .simd_components import FOR_ONE, LARGE, lane_components_memory
from .simd_functions import lane_functions
from .step_records import StepInput, StepMethod, StepOutput
from .workspace import contact_memory

FEW = 16  # numbers of iterations, each of which forms groups of states; those above do by ranges
ENOUGH = 4  # states of one partition form groups if they fill more than this part of the lanes
ALONE = -1  # in the place of a partition's number: a state with a large component, or of unknown ones


class LaneFunctions(NamedTuple):
    """Functions that vary between steps of groups.

    step: `step_records.StepFunctions`. load_positions, load_motion, load_force (mimic_constraint, x, size, states,
    scratch, out): load the `size` numbers of each of several states, and expand them to the spanning tree.
    store_positions, store_motion (mimic_constraint, x, size, states, scratch, given): the reverse. mimic_memory (tree,
    mimic_ints, mimic_reals, x): `mimic_constraint`. tables, load_parameters, force_memory, under_forces: of
    `lane_parameters`. components_memory: of `components`. several: subtrees of the base.
    """

    finder: Finder
    step: Any
    load_positions: Any
    load_motion: Any
    load_force: Any
    store_positions: Any
    store_motion: Any
    mimic_memory: Any
    tables: Any
    load_parameters: Any
    components_memory: Any
    force_memory: Any
    under_forces: Any
    several: bool


class LaneVariant(NamedTuple):
    """What steps of groups have.

    held: constrained frames. resists: torsional or rolling friction. mimic: mimic joints. batched: parameters of each
    state. with_forces: external forces. several: subtrees of the base.
    """

    held: bool
    resists: bool
    mimic: bool
    batched: bool
    with_forces: bool
    several: bool


def functions_of(finder, variant):
    """Return the functions of steps with a collision detection (`simd_collision.Finder`)."""
    own = (own_parameters, load_numbers) if variant.batched else (same_parameters, no_numbers)
    forces = (force_memory, under_forces) if variant.with_forces else (no_memory, without_forces)
    step = lane_functions(variant.held, variant.resists, variant.mimic, variant.several)
    own = *own, lane_components_memory if variant.several else no_components
    if variant.mimic:
        load, store = (expand_positions_of, expand_motion_of, expand_force_of), (pick_positions_of, pick_motion_of)
        return LaneFunctions(finder, step, *load, *store, mimic_constraint_memory, *own, *forces, variant.several)
    plain = load_plain, load_plain, load_plain, store_plain, store_plain, no_constraint
    return LaneFunctions(finder, step, *plain, *own, *forces, variant.several)


def no_constraint(tree, mimic_ints, mimic_reals, x):
    """Return 0; variant of `mimic_constraint_memory` without mimic joints."""
    return 0


def load_lanes(x, size, states, out):
    """out = `size` numbers of each of several states."""
    for k in range(size):
        out[k] = gathered(x, k, size, states)


def store_lanes(x, size, states, given):
    """Store `size` numbers of each of several states to the array x."""
    for k in range(size):
        scattered(x, k, size, states, given[k])


def load_plain(mimic_constraint, x, size, states, scratch, out):
    """Load numbers of states without mimic joints."""
    load_lanes(x, size, states, out)


def store_plain(mimic_constraint, x, size, states, scratch, given):
    """Store numbers of states without mimic joints."""
    store_lanes(x, size, states, given)


def expand_positions_of(mimic_constraint, x, size, states, scratch, out):
    """Load configurations."""
    load_lanes(x, size, states, scratch)
    expand_positions(mimic_constraint.mimic, scratch, out)


def expand_motion_of(mimic_constraint, x, size, states, scratch, out):
    """Load velocities."""
    load_lanes(x, size, states, scratch)
    expand_motion(mimic_constraint.mimic, scratch, out)


def expand_force_of(mimic_constraint, x, size, states, scratch, out):
    """Load forces."""
    load_lanes(x, size, states, scratch)
    expand_force(mimic_constraint.mimic, scratch, out)


def pick_positions_of(mimic_constraint, x, size, states, scratch, given):
    """Store configurations."""
    pick_positions(mimic_constraint.mimic, given, scratch)
    store_lanes(x, size, states, scratch)


def pick_motion_of(mimic_constraint, x, size, states, scratch, given):
    """Store velocities."""
    pick_motion(mimic_constraint.mimic, given, scratch)
    store_lanes(x, size, states, scratch)


class States(NamedTuple):
    """Arrays x, y of all states, with the numbers of each one after the other; `size` impulses each, `count` states.

    x.external, y.wrench, y.points: of size 0 if there are no external forces, and if they are not requested.
    """

    x: StepInput
    y: StepOutput
    size: Any
    count: Any


class Group(NamedTuple):
    """A group of states, one per lane; lanes after the last state repeat it.

    states: indices. functions: `LaneFunctions`. scratch: memory (nq,).
    """

    states: Any
    functions: LaneFunctions
    x: StepInput
    y: StepOutput
    scratch: Any


def group_memory(tree, functions, of, points):
    """Memory of a group of the states `of`; points: number of contacts that are reported."""
    position, rate, few = np.empty((4, tree.nq), OnLanes), np.empty((5, tree.nv), OnLanes), np.empty(4, OnLanes)
    info, wrench = np.empty(STEP_INFO, OnLanes), np.empty((of.y.wrench.size // (6 * of.count), 6), OnLanes)
    x = StepInput(position[0], rate[0], position[1], rate[1], rate[2], rate[4], few[0:2], of.x.warm_start, 0)
    none, found = np.empty((0, 12), OnLanes), np.empty((points, POINT), OnLanes)
    y = StepOutput(position[2], rate[3], of.y.warm_start, wrench, none, info, few[2:4], found)
    return Group(np.empty(lane_count(), np.int64), functions, x, y, position[3])


def step_group(tables, states, room, method, group):
    """Compute the steps of a group of states; return False, without results, if they have too many contacts."""
    which, f, mimic, x, y = group.states, group.functions, method.mimic_constraint, group.x, group.y
    given, result = states.x, states.y
    tree, table, m = f.load_parameters(tables, which, room)
    nq, nv = given.q.size // states.count, given.v.size // states.count
    f.load_positions(mimic, given.q, nq, which, group.scratch, x.q)
    f.load_positions(mimic, given.q_free, nq, which, group.scratch, x.q_free)
    f.load_motion(mimic, given.v, nv, which, group.scratch, x.v)
    f.load_motion(mimic, given.v_free, nv, which, group.scratch, x.v_free)
    f.load_force(mimic, given.force, nv, which, group.scratch, x.force)
    load_lanes(given.work_free, 2, which, x.work_free)
    if given.external.size > 0:
        f.load_force(mimic, given.external, nv, which, group.scratch, x.external)
    s, x = f.under_forces(tables, tree, table, x)
    for c in range(y.points.shape[0]):
        y.points[c, LAW] = DROPPED
    done = contact_step(tree, x, y, m, method._replace(settings=s))
    if done:
        f.store_positions(mimic, result.q, nq, which, group.scratch, y.q)
        f.store_motion(mimic, result.v, nv, which, group.scratch, y.v)
        for k in range(STEP_INFO):
            scattered(result.solver_info, k, ALL_INFO, which, y.solver_info[k])
        store_lanes(result.work, 2, which, y.work)
        store_lanes(result.wrench, y.wrench.size, which, y.wrench.reshape(y.wrench.size))
        store_points(result.points, result.points.size // states.count, which, y.points, m.contacts)
    return done


def store_points(points, size, which, found, x):
    """Store the contact points of each state, one after the other, in the `size` numbers of each; x: contacts."""
    for lane in range(lane_count()):
        x.place[lane] = size * which[lane]
    for c in range(found.shape[0]):
        here = found[c, LAW] != DROPPED
        if some(here):
            scattered(x.number, 0, 1, x.own, select(here, 1, 0))
            for lane in range(lane_count()):
                if x.place[lane] + POINT > size * (which[lane] + 1):
                    x.place[lane], x.number[lane] = size * which[lane], 0.0
            written = gathered(x.number, 0, 1, x.own) > 0
            for k in range(POINT):
                scattered(points, k, 1, x.place, select(written, found[c, k], gathered(points, k, 1, x.place)))
            for lane in range(lane_count()):
                if x.number[lane] > 0:
                    x.place[lane] += POINT


def step_groups(tables, states, room, method, group, which, partition):
    """Compute the steps of all states, in groups of successive ones of the list `which` that are of one partition.

    Few states of a partition of several subtrees are left unsolved, and so are those whose partition is not yet known,
    or has a large component.
    """
    first, wide, info = 0, lane_count(), states.y.solver_info
    while first < states.count:
        end = first + 1
        while end < min(first + wide, states.count) and partition[which[end]] == partition[which[first]]:
            end += 1
        for k in range(lane_count()):
            group.states[k] = which[min(first + k, end - 1)]
        kind, begins = partition[which[first]], first == 0 or partition[which[first - 1]] != partition[which[first]]
        few = (end - first) * ENOUGH <= lane_count()
        alone = kind == ALONE or (kind != 0 and begins and few)
        if alone:
            for k in range(first, end):
                info[ALL_INFO * which[k] + INFO.unsolved] = FOR_ONE
        if alone or step_group(tables, states, room, method._replace(several=end > first + 1), group):
            first, wide = end, lane_count()
        else:
            wide = wide // 2


def put_alike(solver_info, which, spare, keys, several):
    """List the states by partition, then by iterations, of the step before: those of a group wait for each other.

    spare: scratch memory. keys (2, count): the numbers by which they are sorted, the first of which is that of the
    partition, 0 unless there are several subtrees.
    """
    for k in range(which.size):
        at, which[k] = ALL_INFO * k, k
        keys[0, k], keys[1, k] = solver_info[at + INFO.partition], kind_of(int(solver_info[at + INFO.iterations]))
        many = solver_info[at + INFO.largest] > LARGE or solver_info[at + INFO.contacts] > MOST
        if several and (many or solver_info[at + INFO.done] == 0):
            keys[0, k] = ALONE
    for k in range(1, -1, -1):
        sort(which, spare, 0, which.size, starts_before, keys[k])


def kind_of(iterations):
    """Return the class of a number of iterations, for sorting: below FEW the number, else a multiple of FEW."""
    return iterations if iterations < FEW else FEW - 1 + iterations // FEW


def put_history(solver_info, state):
    """Update the numbers of all steps of a state by those of its step."""
    at = ALL_INFO * state
    overlap = solver_info[at + INFO.penetration]
    if overlap - solver_info[at + INFO.before] > solver_info[at + INFO.growth]:
        solver_info[at + INFO.growth] = overlap - solver_info[at + INFO.before]
        solver_info[at + INFO.grew_in] = solver_info[at + INFO.done]
        solver_info[at + INFO.grew_on] = solver_info[at + INFO.deepest]
    solver_info[at + INFO.before] = overlap
    solver_info[at + INFO.done] += 1
    largest = maximum(solver_info[at + INFO.residual], solver_info[at + INFO.position_residual])
    solver_info[at + INFO.worst] = maximum(solver_info[at + INFO.worst], largest)


def put_histories(solver_info: Reals, states: Integers) -> int:
    """Update the numbers of all steps of several states by those of their step."""
    for k in range(states.size):
        put_history(solver_info, states[k])
    return FINE


def step_all(functions, tree, room, tables, mimic_constraint, scheme, states):
    """Compute the steps of all states, `lane_count()` at a time; arrays as in `contact_step_entry`.

    The solver takes its steps up to where it stalls. `before` and `after` are impulses (`simd_warm_start`).
    `solver_info` has ALL_INFO numbers per state, which at first are those of an earlier step, or zeros, with an
    infinite overlap before: they determine the groups. Returns NOT_CONVERGED if states are left unsolved.
    """
    finder, count, one = functions.finder, states.count, np.empty(1, OnLanes)
    points = room.touch.reports_points * room.touch.capacity
    group, which = group_memory(tree, functions, states, points), np.empty(count, np.int64)
    each = finder.memory(room.touch, tree.n_bodies, states.x.q)
    contacts = simd_contacts_memory(room.touch, one, finder.find, each)
    m = room._replace(contacts=contacts._replace(size=states.size, states=group.states))
    method = StepMethod(0, scheme, functions.step, pgs_memory(m.g.size, one, ON_LANES), mimic_constraint, True)
    keys = np.empty((2, count), np.float64)
    put_alike(states.y.solver_info, which, np.empty(count, np.int64), keys, functions.several)
    step_groups(tables, states, m, method, group, which, keys[0])
    left = 0
    for k in range(count):
        if states.y.solver_info[ALL_INFO * k + INFO.unsolved] == FOR_ONE:
            left += 1
        else:
            put_history(states.y.solver_info, k)
    return max(NOT_CONVERGED if left > 0 else FINE, status_of(states.y.q), status_of(states.y.v))


@lru_cache(maxsize=16)
def contact_step_on_lanes(finder, variant):
    """Return the entry of steps with contact on SIMD lanes, with a collision detection; variant: `LaneVariant`.

    mimic_ints, mimic_reals: of size 0 without mimic joints. external (count * nv,), wrench (count * 6 (N + 1),): of
    size 0 without external forces, and if wrenches are not requested. points (count * C * POINT,): of size 0 unless the
    layout requests points. numbers, places: model parameters of each state (`lane_parameters.LaneParameters`).
    """
    functions = functions_of(finder, variant)

    def contact_step_of_all(
        ints: TableOfIntegers, reals: TableOfReals, mimic_ints: TableOfIntegers, mimic_reals: TableOfReals,
        layout: TableOfIntegers, geometry: TableOfReals, rows: TableOfIntegers, frames: TableOfReals,
        settings: TableOfReals, scheme: TableOfReals, q: Reals, v: Reals, q_free: Reals, v_free: Reals, force: Reals,
        external: Reals, work_free: Reals, before: Reals, numbers: Reals, places: Integers, q_new: Reals, v_new: Reals,
        after: Reals, wrench: Reals, solver_info: Reals, work: Reals, points: Reals,
    ) -> int:  # fmt: skip
        """Compute the steps of all states (`step_all`)."""
        tree, count, one = tree_tables(ints, reals), work.size // 2, np.empty(1, OnLanes)
        constraint = functions.mimic_memory(tree, mimic_ints, mimic_reals, one)
        touch = functions.finder.tables(layout, geometry)
        made = contact_memory(tree, touch, rows, frames, one, functions.components_memory, 1)
        tables = functions.tables(ints, reals, settings, touch, numbers, places, functions.force_memory(tree))
        x = StepInput(q, v, q_free, v_free, force, external, work_free, before, 0)
        y = StepOutput(q_new, v_new, after, wrench, 0, solver_info, work, points)
        states = States(x, y, before.size // count, count)
        return step_all(functions, tree, made, tables, constraint, scheme, states)

    contact_step_of_all.fuses = False  # type: ignore[attr-defined]  # single states have the same bits
    return contact_step_of_all
