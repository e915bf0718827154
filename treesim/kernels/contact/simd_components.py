"""Components of several states at once, one state per SIMD lane (`components`).

Components are those of the contacts of all states together. A state whose own contacts do not connect the same pairs of
subtrees has others; it is left unsolved, as is one with a large component. So contacts of a component, and their order,
are those of each state alone.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import maximum, minimum, select
from ..algebra.state_lanes import lane_count
from .component_functions import (
    SEVERAL,
    component_memory,
    find_components,
    keep_component,
    merge_lists,
    merge_rows,
)
from .components import memory_of, partition_number
from .layout import INFO, PAIR, SUBTREE

FOR_ONE = 1  # an unsolved state
# Contacts of a component from which a state alone takes less time than on lanes: the loops along its rows are
# vectorized, and it does not wait for others.
LARGE = 12


class Edges(NamedTuple):
    """Pairs of subtrees that contacts of a component connect.

    one, other (C,): the subtrees. on (C,): 1 on the lanes of states with such contacts. active (C,): 1 on the lanes of
    states that have a contact, sorted as `components.SortedContacts`.
    """

    one: Any
    other: Any
    on: Any
    active: Any


def lane_components_memory(touch, stored, q):
    """Scratch memory of `components.Components` with the dtype of q; stored: numbers of one state's impulses."""
    C = touch.capacity
    edge, on = np.empty((2, C), np.int64), np.empty((2, C), q.dtype)
    lists = np.empty((2, lane_count() * stored), np.float64)
    return memory_of(touch, q, np.empty(C, q.dtype), lists[0], lists[1], Edges(edge[0], edge[1], on[0], on[1]))


def find_on_lanes(room, nc, again, f):
    """Determine the components of all contacts, and leave states with others unsolved; return their number."""
    largest = room.info[INFO.largest]
    m, count = room.components, find_components(room, nc, again, f)
    room.info[INFO.largest] = largest
    for c in range(m.contact_start[count]):
        m.edges.active[c] = room.active[3 * m.found[c]]
    number = room.count[0] * 0
    for k in range(count):
        common = is_common(room, k)
        number += select(common, partition_number(m, k, True), partition_number(m, k, False))
    if not again:
        room.info[INFO.partition] = number
    return count


def is_common(room, k):
    """Return the lanes of states whose contacts connect the pairs of subtrees of component k; leave others unsolved.

    States without rows in the component are not left unsolved.
    """
    m, x, count = room.components, room.components.edges, 0
    common, present, own = room.count[0] * 0 + 1, room.count[0] * 0, room.count[0] * 0
    for c in range(m.contact_start[k], m.contact_start[k + 1]):
        pair = room.touch.pair[m.contacts.pair[c]]
        s, t, e = room.touch.subtree_of[pair[PAIR.body]], room.touch.subtree_of[pair[PAIR.solid_body]], 0
        present = maximum(present, x.active[c])
        own += x.active[c]
        if s >= 0 and t >= 0 and s != t:
            while e < count and (x.one[e] != s or x.other[e] != t):
                e += 1
            if e == count:
                x.one[e], x.other[e], x.on[e] = s, t, x.active[c]
                count += 1
            x.on[e] = maximum(x.on[e], x.active[c])
    for e in range(count):
        common = minimum(common, x.on[e])
    if is_large(m, k):
        common = common * 0
    for i in range(m.subtree_start[k], m.subtree_start[k + 1]):
        if has_joint_rows(room.touch.subtree, m.subtrees[i]):
            present = present * 0 + 1
    room.info[INFO.largest] = maximum(room.info[INFO.largest], own)
    room.info[INFO.unsolved] = select(present > common, FOR_ONE, room.info[INFO.unsolved])
    return common > 0


def is_large(m, k):
    """Return whether component k has so many contacts that it is not solved on lanes."""
    return m.contact_start[k + 1] - m.contact_start[k] > LARGE


def has_joint_rows(table, t):
    """Return whether a subtree may have rows without contacts: of limits, friction or speeds of joints, or frames."""
    found = table[t, SUBTREE.constrained] > 0
    for column in range(SUBTREE.limit, SUBTREE.speed + 1):
        found = found or table[t + 1, column] > table[t, column]
    return found


def memory_on_lanes(room, k, nc):
    """Return the memory of a step for component k (`component_memory`), with its contacts that are active."""
    part, count = component_memory(room, k, nc)
    if is_large(room.components, k):
        count = 0
    first, room.count[0] = room.components.contact_start[k], room.count[0] * 0
    for c in range(count):
        active = room.components.edges.active[first + c]
        room.count[0] += active
        for j in range(3):
            room.active[3 * c + j] = active
    part.info[INFO.unsolved] = room.info[INFO.unsolved]
    return part, count


def keep_on_lanes(room, part, n, needed, again, f):
    """Add the diagnostics of a component to those of the step (`keep_component`), and those of lanes."""
    total, own = room.info, part.info
    total[INFO.unsolved] = maximum(total[INFO.unsolved], own[INFO.unsolved])
    deeper = has_rows(part, n) and own[INFO.penetration] > total[INFO.penetration]
    total[INFO.deepest] = select(deeper and (needed if again else not needed), own[INFO.deepest], total[INFO.deepest])
    keep_component(room, part, n, needed, again, f)


def has_rows(m, n):
    """Return the lanes on which any of n rows is active."""
    found = m.active[0] * 0
    for r in range(n):
        found = maximum(found, m.active[r])
    return found > 0


def of_lists(m):
    """Return the memory for access to lists of impulses of the lanes, one after the other."""
    return m._replace(contacts=m.contacts._replace(states=m.contacts.own))


def merge_on_lanes(room, after, f):
    """Merge the impulses of each state (`merge_impulses`); states that are repeated are the same on all last lanes."""
    size, states, m = room.contacts.size, room.contacts.states, room.components
    for lane in range(lane_count()):
        at = size * states[lane]
        if states[lane] != states[lane - min(lane, 1)] or lane == 0:
            own = size * lane
            merge_lists(room.touch, after[at : at + size], m.first[own : own + size], m.again[own : own + size])
    merge_rows(room, after, f)


SEVERAL_ON_LANES = SEVERAL._replace(
    find=find_on_lanes, memory=memory_on_lanes, merge=merge_on_lanes, keep_info=keep_on_lanes, has_rows=has_rows,
    of_lists=of_lists,
)  # fmt: skip
