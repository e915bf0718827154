"""Warm-start impulses of many states on SIMD lanes: arrays as in `warm_start`, of all states one after the other.

Numbers behind the listed contacts are not overwritten.
"""

from ..algebra.numbers import select
from ..algebra.state_lanes import gathered, lane_count, scattered
from .warm_start import ImpulseAccess, end_of_entries, entry_size, first_row


def begin_list(m, nc, after, where):
    """List the contacts of the states on the lanes of a mask; impulses that `store` may not write are 0."""
    count, x = none(m), m.contacts
    scattered(x.number, 0, 1, x.own, select(where, 1, 0))
    for lane in range(lane_count()):
        if x.number[lane] > 0:
            for k in range(x.states[lane] * x.size + first_row(m.touch), (x.states[lane] + 1) * x.size):
                after[k] = 0.0
    for c in range(nc):
        here = is_active(m, 3 * c)
        count += select(here, 1, 0)
        here = where and here
        entry(m, c)
        write(m, after, 0, -1, x.slot[c], here)
        for k in range(3, entry_size(m.touch) - 1):
            write(m, after, 0, k, 0, here)
    write_row(m, after, 0, select(count < m.touch.stored, count, m.touch.stored), where)


def find_places(touch, x, before, slot):
    """Find the places of a slot, which differs between lanes, in the impulses of the states; x: contacts."""
    size = entry_size(touch)
    scattered(x.number, 0, 1, x.own, slot)
    for lane in range(lane_count()):
        first = x.states[lane] * x.size
        end = end_of_entries(touch, before, first, x.number[lane], x.ends[lane])
        x.ends[lane], x.place[lane] = end, first + 1 + size * max(end - 1, 0)
        if end == 0 or before[x.place[lane]] != x.number[lane]:
            x.number[lane] = -1.0


def number_at(x, before, k):
    """Return number k of the contacts that `find_places` has found, 0 on lanes without."""
    return select(gathered(x.number, 0, 1, x.own) >= 0, gathered(before, 1 + k, 1, x.place), 0)


def find(m, before, slot, guess):
    """Find the places of a slot in the impulses of the states; return 1, a guess of 0 is for the first contact."""
    if guess == 0:
        for lane in range(lane_count()):
            m.contacts.ends[lane] = 0
    find_places(m.touch, m.contacts, before, slot)
    return 1


def read(m, before, end, slot, k):
    """Return number k of the contacts that `find` has found, 0 on lanes without."""
    return number_at(m.contacts, before, k)


def entry(m, c):
    """Find the places at which contact c of each state is stored; there is room for all contacts of lanes."""
    x, size = m.contacts, entry_size(m.touch)
    scattered(x.number, 0, 1, x.own, x.order[c])
    for lane in range(lane_count()):
        x.place[lane] = x.states[lane] * x.size + 1 + size * min(int(x.number[lane]), m.touch.stored - 1)
    return 0


def write(m, after, at, k, x, where):
    """Write number k of the contacts that `entry` has found, on the lanes of a mask."""
    scattered(after, 1 + k, 1, m.contacts.place, select(where, x, gathered(after, 1 + k, 1, m.contacts.place)))


def read_row(m, before, k):
    """Return number k of all states."""
    return gathered(before, k, m.contacts.size, m.contacts.states)


def write_row(m, after, k, x, where):
    """Write number k of all states, on the lanes of a mask."""
    size, states = m.contacts.size, m.contacts.states
    scattered(after, k, size, states, select(where, x, gathered(after, k, size, states)))


def is_active(m, r):
    """Return the lanes on which row r is active."""
    return m.active[r] > 0


def only_active(m, r, x):
    """Return x on the lanes on which row r is active, 0 on the others."""
    return select(m.active[r] > 0, x, 0)


def none(m):
    """Return 0 contacts of each state."""
    return m.count[0] * 0


ON_LANES = ImpulseAccess(begin_list, find, read, entry, write, read_row, write_row, is_active, only_active, none)
