"""Components of a contact problem: subtrees of the base that contacts connect, with all rows of these subtrees.

Rows of different components do not depend on each other. So each component is a problem of its own: what it costs, and
its result to the bit, do not depend on the other bodies. Kinematic bodies, which no force moves, and static ones
connect nothing. Constrained frames, loops and mimic joints are those of one component. The numbers of subtrees and the
order of contacts inside a component are those of the world.
"""

from typing import Any, NamedTuple

import numpy as np

from .candidates import put_row
from .layout import PAIR, STEP_INFO, SUBTREE
from .signed_distance import vector_of


class Component(NamedTuple):
    """Subtrees of a component in ascending order, and tables of all subtrees and bodies (see `tables.Touch`)."""

    subtrees: Any
    table: Any
    subtree_of: Any


class SortedContacts(NamedTuple):
    """Contacts by component, as in `candidates.Contacts`."""

    pair: Any
    slot: Any
    gap: Any
    point: Any
    normal: Any
    order: Any


class Components(NamedTuple):
    """Components of the contacts of one state.

    root (T,): another subtree of the same component, or itself. number (T,): component of each subtree, -1 for
    kinematic ones. subtrees (T,), subtree_start (T + 1,): subtrees by component. contact_start (T + 1,), contacts: the
    contacts by component; found (C,): their indices in the order in which they were found. number_of (1,): number of
    components of the first solution. reported (1,): number of contacts in reports so far. taken: iterations of the
    first solution. known: number of components whose diagnostics are known. info: diagnostics of one component. first,
    again: stored impulses of all states, of the first solution and of that at the corrected midpoint. edges:
    `simd_components.Edges`, 0 for one state.
    """

    root: Any
    number: Any
    subtrees: Any
    subtree_start: Any
    contact_start: Any
    contacts: SortedContacts
    found: Any
    number_of: Any
    reported: Any
    taken: Any  # (1,)
    known: Any  # (1,)
    info: Any
    first: Any
    again: Any
    edges: Any


class ContactsOfSubtrees(NamedTuple):
    """List of contacts by subtree.

    ends (2 C,): subtrees of the two bodies of each contact; T for none, and for a second one that is the first. own
    (2 C,), start (T + 2,): indices of `ends` by subtree, and of each by the other subtree of the contact.
    """

    ends: Any
    own: Any
    start: Any


def all_subtrees(touch):
    """Return all subtrees as one component."""
    subtrees = np.empty(touch.subtree.shape[0] - 1, np.int64)
    for t in range(subtrees.size):
        subtrees[t] = t
    return Component(subtrees, touch.subtree, touch.subtree_of)


def no_components(touch, stored, q):
    """Return 0; variant of `components_memory` for worlds with one component."""
    return 0


def components_memory(touch, stored, q):
    """Scratch memory with the dtype of q; stored: count of numbers that are stored for the warm start."""
    impulses = np.empty((2, stored), q.dtype)
    return memory_of(touch, q, np.empty(touch.capacity, np.int64), impulses[0], impulses[1], 0)


def memory_of(touch, q, slot, first, again, edges):
    """Memory of components with the dtype of q; slot: of the sorted contacts, first, again, edges: of `Components`."""
    T, C, number = touch.subtree.shape[0] - 1, touch.capacity, np.empty(2, np.int64)
    trees, starts, place = np.empty((3, T), np.int64), np.empty((2, T + 1), np.int64), np.empty((2, C), np.int64)
    x, few = np.empty((C, 8), q.dtype), np.empty(2, q.dtype)
    contacts = SortedContacts(place[0], slot, x[:, 0], x[:, 1:4], x[:, 4:7], x[:, 7])
    return Components(
        trees[0], trees[1], trees[2], starts[0], starts[1], contacts, place[1], number[0:1], number[1:2],
        few[0:1], few[1:2], np.empty(STEP_INFO, q.dtype), first, again, edges,
    )  # fmt: skip


def first_and_end(component, t, column):
    """Return the range of indices in `column` (bodies or degrees of freedom) of subtree number t of a component."""
    s = component.subtrees[t]
    return component.table[s, column], component.table[s + 1, column]


def put_members(component, column, x, value):
    """x[k] = value for all indices k in `column` of a component (`first_and_end`)."""
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, column)
        for k in range(first, end):
            x[k] = value


def copy_members(component, column, x, out):
    """out[k] = x[k] for all indices k in `column` of a component (`first_and_end`)."""
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, column)
        for k in range(first, end):
            out[k] = x[k]


def any_member(component, column, x):
    """Return whether any x[k] is not zero, for the indices k in `column` of a component (`first_and_end`)."""
    found = x[0] != x[0]
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, column)
        for k in range(first, end):
            found = found or x[k] != 0
    return found


def has_constraints(component):
    """Return whether a component has constrained frames, loops or mimic joints."""
    found = False
    for t in range(component.subtrees.size):
        found = found or component.table[component.subtrees[t], SUBTREE.constrained] > 0
    return found


def root_of(root, t):
    """Return the subtree that represents the component of t; paths to it become shorter."""
    while root[t] != t:
        root[t] = root[root[t]]
        t = root[t]
    return t


def join(root, s, t):
    """Join the components of two subtrees; the smallest number represents them, whatever the order of contacts."""
    a, b = root_of(root, s), root_of(root, t)
    root[max(a, b)] = min(a, b)


def join_all(touch, found, nc, root):
    """Join the subtrees that nc contacts connect, and those with constraints."""
    T, constrained = touch.subtree.shape[0] - 1, -1
    for t in range(T):
        root[t] = t
    for t in range(T):
        if touch.subtree[t, SUBTREE.constrained] > 0 and touch.subtree[t, SUBTREE.kinematic] == 0:
            if constrained >= 0:
                join(root, constrained, t)
            constrained = t
    for c in range(nc):
        s = touch.subtree_of[touch.pair[found.pair[c], PAIR.body]]
        t = touch.subtree_of[touch.pair[found.pair[c], PAIR.solid_body]]
        if s >= 0 and t >= 0 and s != t:
            join(root, s, t)


def number_components(touch, m):
    """Assign numbers to components by their smallest subtree, and sort their subtrees; return how many there are."""
    T, count = touch.subtree.shape[0] - 1, 0
    for t in range(T):
        m.number[t] = -1
        if touch.subtree[t, SUBTREE.kinematic] == 0:
            s = root_of(m.root, t)
            if s == t:
                m.number[t] = count
                count += 1
            else:
                m.number[t] = m.number[s]
    put_starts(m.number, T, count, m.subtree_start, m.root)
    for t in range(T):
        k = m.number[t]
        if k >= 0:
            m.subtrees[m.root[k]] = t
            m.root[k] += 1
    return count


def partition_number(m, k, joined):
    """Return a number of component k for comparisons of states: of its subtrees, `joined` or each of its own."""
    total, first = 0, m.subtrees[m.subtree_start[k]]
    for i in range(m.subtree_start[k], m.subtree_start[k + 1]):
        t = m.subtrees[i]
        total += (t + 1) * (first + 1 if joined else t + 1)
    return total


def put_starts(number, n, count, start, place):
    """Write the first places of `count` components in a list of n members by their numbers, -1 for none.

    place: the same, of the next member of each.
    """
    for k in range(count + 1):
        start[k] = 0
    for j in range(n):
        if number[j] >= 0:
            start[number[j] + 1] += 1
    for k in range(count):
        place[k] = start[k]
        start[k + 1] += start[k]


def copy_contact(found, c, sorted_contacts, place):
    """Copy contact c to a place among the sorted ones."""
    sorted_contacts.pair[place], sorted_contacts.slot[place] = found.pair[c], found.slot[c]
    sorted_contacts.gap[place], sorted_contacts.order[place] = found.gap[c], found.order[c]
    put_row(sorted_contacts.point, place, vector_of(found.point, c))
    put_row(sorted_contacts.normal, place, vector_of(found.normal, c))


def list_contacts(touch, found, nc):
    """Return the nc contacts by subtree."""
    none, ends = touch.subtree.shape[0] - 1, np.empty(2 * nc, np.int64)
    for c in range(nc):
        s = touch.subtree_of[touch.pair[found.pair[c], PAIR.body]]
        t = touch.subtree_of[touch.pair[found.pair[c], PAIR.solid_body]]
        ends[2 * c], ends[2 * c + 1] = s if s >= 0 else none, t if t >= 0 and t != s else none
    by_other, own = np.empty(2 * nc, np.int64), np.empty(2 * nc, np.int64)
    start, place = np.empty(none + 2, np.int64), np.empty(none + 1, np.int64)
    put_starts(ends, 2 * nc, none + 1, start, place)
    for e in range(2 * nc):
        by_other[place[ends[e]]] = e ^ 1
        place[ends[e]] += 1
    put_starts(ends, 2 * nc, none + 1, start, place)
    for k in range(2 * nc):
        e = by_other[k]
        own[place[ends[e]]] = e
        place[ends[e]] += 1
    return ContactsOfSubtrees(ends, own, start)


def other_end(by, e):
    """Return the other subtree of contact number e in the list `by`; T for none."""
    return by.ends[by.own[e] ^ 1]


def count_others(by, t):
    """Return the number of subtrees that subtree t touches."""
    count, last = 0, by.start.size - 2
    for e in range(by.start[t + 1] - 1, by.start[t] - 1, -1):
        other = other_end(by, e)
        count += 1 if other != last else 0
        last = other
    return count


def outermost(by, subtrees):
    """Return the subtree that touches the fewest others; the first of several."""
    best = subtrees[0]
    if subtrees.size > 1:
        fewest = count_others(by, best)
        for t in subtrees:
            others = count_others(by, t)
            if others < fewest:
                best, fewest = t, others
    return best


def put_connected(by, t, queue, reached, order, place):
    """Sort contacts of the subtrees that are connected with t, from a place on; return the place behind the last.

    reached (T + 1,): 1 for subtrees in the queue and for none, 2 for those whose contacts are sorted, 0 for others.
    """
    queue[0], reached[t] = t, 1
    i, n = 0, 1
    while i < n:
        t = queue[i]
        reached[t] = 2
        for e in range(by.start[t], by.start[t + 1]):
            other = other_end(by, e)
            if reached[other] < 2:
                order[place] = by.own[e] // 2
                place += 1
            if reached[other] == 0:
                queue[n], reached[other] = other, 1
                n += 1
        i += 1
    return place


def sort_contacts(touch, found, nc, m, count):
    """Sort nc contacts by component, and inside by a breadth-first search of its subtrees.

    Contacts of the same subtree are close to each other then: the matrix of the rows has a narrow band. The search
    begins at the subtree that touches the fewest others, and visits these in ascending order. So the order of two
    contacts depends on which subtrees touch each other, and on no other contact.
    """
    by, T, place = list_contacts(touch, found, nc), m.number.size, 0
    queue, reached = np.empty(T, np.int64), np.zeros(T + 1, np.int64)
    reached[T] = 1
    for k in range(count):
        subtrees = m.subtrees[m.subtree_start[k] : m.subtree_start[k + 1]]
        m.contact_start[k] = place
        place = put_connected(by, outermost(by, subtrees), queue, reached, m.found, place)
        for t in subtrees:  # constraints connect without contacts
            if reached[t] == 0:
                place = put_connected(by, t, queue, reached, m.found, place)
    m.contact_start[count] = place
    for c in range(place):
        copy_contact(found, m.found[c], m.contacts, c)
