"""Model parameters on SIMD lanes: those of all states, or tables with some numbers of each state.

What may differ are numbers of the tree, settings of the step, and of contact the friction of pairs, limits and friction
of joints. Collision geometry is that of all states.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.state_lanes import OnLanes, gathered
from ..algebra.tables import Tree, tree_tables
from ..stepping.external_forces import external_memory, put_external
from ..stepping.step import settings_of

HEAD = 2  # integers in front of the places: numbers of those in the table of the tree, and in that of settings


class Tables(NamedTuple):
    """Constant tables of a step; `batched`: numbers of each state. forces: memory of steps under external forces."""

    tree: Tree
    settings: Any
    batched: Any
    forces: Any


class LaneParameters(NamedTuple):
    """Tables with the numbers of the states of a group, one per lane.

    reals: of the tree, with the integers `ints`. settings: of the step. contact: limits and friction of joints, then
    friction of all pairs. numbers (count, K): of all states. places (HEAD + K,): where they stand.
    """

    ints: Any
    reals: Any
    settings: Any
    contact: Any
    numbers: Any
    places: Any


def same_parameters(ints, reals, settings, touch, numbers, places, forces):
    """Return the tables of states that have the same parameters."""
    return Tables(tree_tables(ints, reals), settings, 0, forces)


def own_parameters(ints, reals, settings, touch, numbers, places, forces):
    """Return the tables of states that have some parameters of their own."""
    contact = np.empty(touch.mu.size + touch.bound.size + touch.rough.size, OnLanes)
    made = np.empty(reals.size, OnLanes), np.empty(settings.size, OnLanes)
    copy(reals, made[0], 0)
    copy(settings, made[1], 0)
    copy(touch.bound, contact, 0)
    copy(touch.rough, contact, touch.bound.size)
    copy(touch.mu, contact, touch.bound.size + touch.rough.size)
    return Tables(
        tree_tables(ints, reals), settings, LaneParameters(ints, made[0], made[1], contact, numbers, places), forces
    )


def copy(x, out, first):
    """out[first:] = x."""
    for k in range(x.size):
        out[first + k] = x[k]


def no_numbers(tables, states, room):
    """Return the tree, settings and memory of a group of states that have the same parameters."""
    return tables.tree, tables.settings, room


def load_numbers(tables, states, room):
    """Return the tree, settings and memory of a group of states, with the parameters of each."""
    x, touch = tables.batched, room.touch
    count, a = x.places.size - HEAD, x.places[0]
    b = a + x.places[1]
    for k in range(a):
        x.reals[x.places[HEAD + k]] = gathered(x.numbers, k, count, states)
    for k in range(a, b):
        x.settings[x.places[HEAD + k]] = gathered(x.numbers, k, count, states)
    for k in range(b, count):
        x.contact[x.places[HEAD + k]] = gathered(x.numbers, k, count, states)
    limits, frictions = touch.bound.size, touch.bound.size + touch.rough.size
    own = touch._replace(bound=x.contact[:limits], rough=x.contact[limits:frictions], mu=x.contact[frictions:])
    return tree_tables(x.ints, x.reals), x.settings, room._replace(touch=own)


def no_memory(tree):
    """Return 0; variant of `force_memory` without external forces."""
    return 0


def force_memory(tree):
    """Scratch memory of a group of states under external forces."""
    return external_memory(tree, np.empty(1, OnLanes), 0)


def without_forces(tables, tree, table, x):
    """Return the settings in a table, and the input x of the step."""
    return settings_of(tree, table)._replace(dt=tables.settings[0]), x


def under_forces(tables, tree, table, x):
    """Return the settings and the input of a step under joint forces x.external; effort limits do not apply to them."""
    put_external(tree, table, x.v, x.force, x.external, tables.forces)
    own = settings_of(tree, tables.forces.table)._replace(dt=tables.settings[0])
    return own, x._replace(force=tables.forces.force)
