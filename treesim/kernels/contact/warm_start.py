"""Warm-start impulses: those of a step, from which the next step starts.

The array of a state has the number of its stored contacts; for each contact its slot, three impulses and, with
torsional or rolling friction, three angular impulses; room for `touch.stored` contacts; then the impulses of scalar
rows. Contacts are sorted by slot. Of contacts that share a slot, the last one is read.
"""

from typing import Any, NamedTuple

from ..algebra.numbers import select
from .constraint_rows import end_of_contacts


class ImpulseAccess(NamedTuple):
    """Access to the impulses of one state (`one_state`), or to those of several states on lanes (`simd_warm_start`).

    begin (m, nc, after, where): lists the contacts, with impulses 0. find (m, before, slot, guess): `end_of_entries`,
    or places on lanes. read (m, before, end, slot, k): number k of the contact that `find` has found, 0 for none. entry
    (m, c): place at which contact c is stored. write (m, after, entry, k, x, where): number k of the contact there.
    read_row (m, before, k), write_row (m, after, k, x, where): number k of the array. is_active (m, r): whether row r
    is. only_active (m, r, x): x where it is, else 0. none (m): number 0 of contacts.
    """

    begin: Any
    find: Any
    read: Any
    entry: Any
    write: Any
    read_row: Any
    write_row: Any
    is_active: Any
    only_active: Any
    none: Any


def entry_size(touch):
    """Return the count of numbers of a stored contact: its slot and its impulses."""
    return 4 + 3 * touch.resists


def first_row(touch):
    """Return the index of the first impulse of a scalar row."""
    return 1 + entry_size(touch) * touch.stored


def stored_contacts(touch, x, at):
    """Return the number of contacts that the array of a state lists, from index `at` on; 0 for an invalid number."""
    return int(x[at]) if x[at] >= 0 and x[at] <= touch.stored else 0


def end_of_entries(touch, x, at, slot, guess):
    """Return the number of contacts, in the array of a state from index `at` on, whose slots are not above `slot`.

    guess: a result that is expected, or one less. Invalid slots are compared, but never used as indices.
    """
    first, size, low, high = at + 1, entry_size(touch), 0, stored_contacts(touch, x, at)
    middle, looks = min(guess, high - 1), 0
    while low < high:
        if x[first + size * middle] <= slot:
            low = middle + 1
            middle = low
        else:
            high = middle
            middle = high - 1
        if looks > 0:
            middle = (low + high) // 2
        looks += 1
    return low


def stored_number(touch, x, end, slot, k):
    """Return impulse k of the last of the first `end` contacts if its slot is `slot`; 0 otherwise."""
    found = 0.0
    if end > 0:
        at = 1 + entry_size(touch) * (end - 1)
        if x[at] == slot:
            found = x[at + 1 + k]
    return found


def put_order(m, nc, x):
    """Write the place of each contact in the list of its state; x: `ImpulseAccess`.

    Contacts of a pair are successive, and pairs ascend as their slots do.
    """
    slot, pair, order, first, earlier = m.contacts.slot, m.contacts.pair, m.contacts.order, 0, x.none(m)
    while first < nc:
        end = first + 1
        while pair[min(end, nc - 1)] == pair[first] and end < nc:
            end += 1
        for c in range(first, end):
            order[c] = earlier
            for i in range(first, end):
                lower = slot[i] < slot[c] or (slot[i] == slot[c] and i < c)
                order[c] += select(x.is_active(m, 3 * i) and lower, 1, 0)
        for c in range(first, end):
            earlier += select(x.is_active(m, 3 * c), 1, 0)
        first = end


def load(m, nc, n, theta, before, f):
    """Load impulses of the previous step, times the impulse fraction theta, into m.push.

    f: `step_records.StepFunctions`.
    """
    x, end = f.impulses, 0
    for c in range(nc):
        end = x.find(m, before, m.contacts.slot[c], end)
        for j in range(3):
            m.push[3 * c + j] = x.only_active(m, 3 * c + j, theta * x.read(m, before, end, m.contacts.slot[c], j))
    for r in range(end_of_contacts(m, nc), n):
        m.push[r] = x.only_active(m, r, theta * x.read_row(m, before, first_row(m.touch) + m.limit[r]))
    f.rolling.load(m, nc, theta, before, x)


def store(m, nc, n, after, where, f):
    """Store impulses for the warm start of the next step, `where` it is to be those of this solution.

    `begin` has listed the contacts. Inactive rows store nothing. f: `step_records.StepFunctions`.
    """
    x = f.impulses
    for c in range(nc):
        entry = x.entry(m, c)
        for j in range(3):
            x.write(m, after, entry, j, m.impulse[3 * c + j], x.is_active(m, 3 * c + j))
    for r in range(end_of_contacts(m, nc), n):
        x.write_row(m, after, first_row(m.touch) + m.limit[r], m.impulse[r], x.is_active(m, r))
    f.rolling.store(m, nc, after, where, x)
