"""Warm-start impulses of many states on SIMD lanes: most slots are zero, and those that are not are listed.

A state has its impulses by slot, limit and joint, as in `contact_step`. Behind them stand the number of slots whose
impulses may not be zero, and these slots. So impulses of an earlier step are cleared without a pass over thousands.
"""

from __future__ import annotations

from ..algebra.numbers import select
from ..algebra.state_lanes import gathered, scattered
from .simd_collision import MOST, put_places

LISTED = 1 + MOST  # numbers of the list: its length, or ALL for a state whose slots may all be in use, and the slots
ALL = -1


def clear_impulses(after, state, size, slots):
    """Set all warm-start impulses of a state to zero."""
    at, rows = state * size, size - LISTED
    listed = int(after[at + rows])
    if listed < 0:
        listed = 0
        for k in range(3 * slots):
            after[at + k] = 0.0
    for j in range(listed):
        k = at + 3 * int(after[at + rows + 1 + j])
        after[k], after[k + 1], after[k + 2] = 0.0, 0.0, 0.0
    for k in range(3 * slots, rows):
        after[at + k] = 0.0
    after[at + rows] = 0.0


def load_warm_start(m, nc, n, share, before):
    """Load impulses of the previous step, times the impulse fraction `share`, into m.push."""
    size, states, active = m.contacts.size, m.contacts.states, m.active
    for c in range(nc):
        put_places(m.contacts, m.contacts.slot[c], size, states)
        for j in range(3):
            loaded = share * gathered(before, j, 1, m.contacts.place)
            m.push[3 * c + j] = select(active[3 * c + j] > 0, loaded, 0)
    for r in range(3 * nc, n):
        loaded = share * gathered(before, 3 * m.touch.slots + m.limit[r], size, states)
        m.push[r] = select(active[r] > 0, loaded, 0)


def clear_where(m, after, where):
    """Set the warm-start impulses that the last call of `store_warm_start` stored to zero, on the lanes of a mask."""
    size, states = m.contacts.size, m.contacts.states
    at, rows = states[0] * size, size - LISTED  # all states list as many
    listed, every = int(after[at + rows]), 3 * m.touch.slots
    if listed < 0:
        listed, every = 0, 0
    for j in range(listed):
        put_places(m.contacts, gathered(after, rows + 1 + j, size, states), size, states)
        for i in range(3):
            kept = gathered(after, i, 1, m.contacts.place)
            scattered(after, i, 1, m.contacts.place, select(where, 0, kept))
    for k in range(every, rows):
        scattered(after, k, size, states, select(where, 0, gathered(after, k, size, states)))


def store_warm_start(m, nc, n, after, where):
    """Store impulses by slot, limit and joint for the warm start of the next step, and the list of slots.

    Inactive rows store nothing: they may share their slot with an active row. where: mask of the lanes that store.
    """
    size, states, active = m.contacts.size, m.contacts.states, m.active
    for c in range(nc):
        put_places(m.contacts, m.contacts.slot[c], size, states)
        for j in range(3):
            kept = select(active[3 * c + j] > 0, m.impulse[3 * c + j], gathered(after, j, 1, m.contacts.place))
            scattered(after, j, 1, m.contacts.place, kept)
    for r in range(3 * nc, n):
        k = 3 * m.touch.slots + m.limit[r]
        scattered(after, k, size, states, select(active[r] > 0, m.impulse[r], gathered(after, k, size, states)))
    rows, listed = size - LISTED, nc
    if nc > MOST:
        listed = ALL
    scattered(after, rows, size, states, select(where, listed, gathered(after, rows, size, states)))
    for c in range(listed):
        k = rows + 1 + c
        scattered(after, k, size, states, select(where, m.contacts.slot[c], gathered(after, k, size, states)))
