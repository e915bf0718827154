"""Components of a contact problem: subtrees of the base that contacts connect, with all rows of these subtrees.

Rows of different components do not depend on each other. So each component is a problem of its own: what it costs, and
its result to the bit, do not depend on the other bodies. Kinematic bodies, which no force moves, and static ones
connect nothing. Constrained frames, loops and mimic joints are those of one component. The numbers of subtrees and the
order of contacts inside a component are those of the world.
"""

from typing import Any, NamedTuple

import numpy as np

from .candidates import put_row
from .layout import PAIR, RESULT_INFO, SUBTREE
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
    contacts by component. kept (2, C): 1 for places in the lists of stored impulses, of the first solution and at the
    corrected midpoint, that are those of the step. reported (3,): numbers of contacts in reports so far, of iterations
    of the first solution, and of components whose diagnostics are known. info: diagnostics of one component. first,
    again: stored impulses of the first solution, and of that at the corrected midpoint.
    """

    root: Any
    number: Any
    subtrees: Any
    subtree_start: Any
    contact_start: Any
    contacts: SortedContacts
    kept: Any
    reported: Any
    info: Any
    first: Any
    again: Any


class ContactsOfSubtrees(NamedTuple):
    """List of contacts by subtree.

    ends (2 C,): subtrees of the two bodies of each contact, -1 for none, and for a second one that is the first. own
    (2 C,), start (T + 1,): indices of `ends` by subtree.
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
    T = touch.subtree.shape[0] - 1
    place, x = np.empty((4, touch.capacity), np.int64), np.empty((touch.capacity, 8), q.dtype)
    kept, starts, impulses = np.empty((3, T), np.int64), np.empty((2, T + 1), np.int64), np.empty((2, stored), q.dtype)
    return Components(
        kept[0], kept[1], kept[2], starts[0], starts[1],
        SortedContacts(place[0], place[1], x[:, 0], x[:, 1:4], x[:, 4:7], x[:, 7]), place[2:4],
        np.empty(3, np.int64), np.empty(RESULT_INFO, q.dtype),
        impulses[0], impulses[1],
    )  # fmt: skip


def first_and_end(component, t, column):
    """Return the first of the bodies, or others, of subtree number t of a component, and the one behind the last."""
    s = component.subtrees[t]
    return component.table[s, column], component.table[s + 1, column]


def put_members(component, column, x, value):
    """x[k] = value for the bodies, or others, of a component."""
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, column)
        for k in range(first, end):
            x[k] = value


def copy_members(component, column, x, out):
    """out[k] = x[k] for the bodies, or others, of a component."""
    for t in range(component.subtrees.size):
        first, end = first_and_end(component, t, column)
        for k in range(first, end):
            out[k] = x[k]


def any_member(component, column, x):
    """Return where any of x[k] is not zero, of the bodies, or others, of a component."""
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


def whole_tree(tree):
    """Return all of a tree as one component."""
    table, subtree_of = np.zeros((2, len(SUBTREE)), np.int64), np.zeros(tree.n_bodies + 1, np.int64)
    table[0, SUBTREE.body], table[1, SUBTREE.body], table[1, SUBTREE.dof] = 1, tree.n_bodies + 1, tree.nv
    subtree_of[0] = -1
    return Component(np.zeros(1, np.int64), table, subtree_of)


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
    T, ends, own = touch.subtree.shape[0] - 1, np.empty(2 * nc, np.int64), np.empty(2 * nc, np.int64)
    start, place = np.empty(T + 1, np.int64), np.empty(T, np.int64)
    for c in range(nc):
        s = touch.subtree_of[touch.pair[found.pair[c], PAIR.body]]
        t = touch.subtree_of[touch.pair[found.pair[c], PAIR.solid_body]]
        ends[2 * c], ends[2 * c + 1] = s, t if t != s else -1
    put_starts(ends, 2 * nc, T, start, place)
    for e in range(2 * nc):
        if ends[e] >= 0:
            own[place[ends[e]]] = e
            place[ends[e]] += 1
    return ContactsOfSubtrees(ends, own, start)


def other_end(by, e):
    """Return the other subtree of contact number e in the list `by`; -1 for none."""
    return by.ends[by.own[e] ^ 1]


def count_others(by, t):
    """Return the number of subtrees that subtree t touches, of successive contacts with the same one."""
    count, last = 0, -1
    for e in range(by.start[t], by.start[t + 1]):
        other = other_end(by, e)
        if other >= 0 and other != last:
            count += 1
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

    reached (T,): 1 for subtrees in the queue, 2 for those whose contacts are sorted, 0 for others.
    """
    queue[0], reached[t] = t, 1
    i, n = 0, 1
    while i < n:
        t = queue[i]
        reached[t] = 2
        for e in range(by.start[t], by.start[t + 1]):
            other = other_end(by, e)
            if other < 0 or reached[other] < 2:
                order[place] = by.own[e] // 2
                place += 1
            if other >= 0 and reached[other] == 0:
                queue[n], reached[other] = other, 1
                n += 1
        i += 1
    return place


def sort_contacts(touch, found, nc, m, count):
    """Sort nc contacts by component, and inside by a breadth-first search of its subtrees.

    Contacts of the same subtree are close to each other then: the matrix of the rows has a narrow band. The search
    begins at the subtree that touches the fewest others, and visits these in the order of contacts.
    """
    by, T, place = list_contacts(touch, found, nc), m.number.size, 0
    queue, reached, order = np.empty(T, np.int64), np.zeros(T, np.int64), np.empty(nc, np.int64)
    for k in range(count):
        subtrees = m.subtrees[m.subtree_start[k] : m.subtree_start[k + 1]]
        m.contact_start[k] = place
        place = put_connected(by, outermost(by, subtrees), queue, reached, order, place)
        for t in subtrees:  # constraints connect without contacts
            if reached[t] == 0:
                place = put_connected(by, t, queue, reached, order, place)
    m.contact_start[count] = place
    for c in range(place):
        copy_contact(found, order[c], m.contacts, c)
