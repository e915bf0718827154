"""Warm-start impulses of many states on SIMD lanes: most slots are zero, and those that are not are listed.

A state has its impulses as in `warm_start`. Behind them stand the number of slots whose impulses may not be zero, and
these slots. So impulses of an earlier step are cleared without a pass over thousands.
"""

from ..algebra.numbers import select
from ..algebra.state_lanes import gathered, scattered
from .rolling_friction import first_stored
from .simd_collision import MOST, put_places
from .warm_start import ImpulseAccess

LISTED = 1 + MOST  # numbers of the list: its length, or ALL for a state whose slots may all be in use, and the slots
ALL = -1


def clear_impulses(m, after, state):
    """Set all warm-start impulses of a state to zero."""
    size, contacts, angular = m.contacts.size, 3 * m.touch.slots, first_stored(m)
    at, rows = state * size, size - LISTED
    listed = int(after[at + rows])
    if listed < 0:
        listed = 0
        for k in range(rows):
            after[at + k] = 0.0
    for j in range(listed):
        k = 3 * int(after[at + rows + 1 + j])
        for i in range(3):
            after[at + k + i] = 0.0
            if angular < rows:
                after[at + angular + k + i] = 0.0
    for k in range(contacts, angular):
        after[at + k] = 0.0
    after[at + rows] = 0.0


def clear_no_impulses(after):
    """Do nothing: impulses are cleared by their lists (`clear_impulses`)."""


def clear_where(m, after, where):
    """Set the warm-start impulses that the last call of `warm_start.store` stored to zero, on the lanes of a mask."""
    size, states, contacts, angular = m.contacts.size, m.contacts.states, 3 * m.touch.slots, first_stored(m)
    at, rows = states[0] * size, size - LISTED  # all states list as many
    listed = int(after[at + rows])
    if listed < 0:
        listed = 0
        for k in range(contacts):
            write_row(m, after, k, 0, where)
        for k in range(angular, rows):
            write_row(m, after, k, 0, where)
    for j in range(listed):
        put_places(m.contacts, gathered(after, rows + 1 + j, size, states), size, states)
        for i in range(3):
            write(m, after, i, 0, 0, where)
            if angular < rows:
                write(m, after, angular + i, 0, 0, where)
    for k in range(contacts, angular):
        write_row(m, after, k, 0, where)


def seek(m, c):
    """Find the places of contact c in the impulses of the states."""
    put_places(m.contacts, m.contacts.slot[c], m.contacts.size, m.contacts.states)


def read(m, before, k, c):
    """Return number k of the contact that `seek` has found."""
    return gathered(before, k, 1, m.contacts.place)


def write(m, after, k, c, x, where):
    """Write number k of the contact that `seek` has found, on the lanes of a mask."""
    scattered(after, k, 1, m.contacts.place, select(where, x, gathered(after, k, 1, m.contacts.place)))


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


def list_slots(m, nc, after, where):
    """Write the list of slots."""
    rows, listed = m.contacts.size - LISTED, nc
    if nc > MOST:
        listed = ALL
    write_row(m, after, rows, listed, where)
    for c in range(listed):
        write_row(m, after, rows + 1 + c, m.contacts.slot[c], where)


ON_LANES = ImpulseAccess(
    clear_no_impulses, clear_where, seek, read, write, read_row, write_row, is_active, only_active, list_slots
)
