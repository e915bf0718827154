"""Warm-start impulses of many states on SIMD lanes: most slots are zero, and those that are not are listed.

A state has its impulses by slot, limit and joint, as in `contact_step`. Behind them stand the number of slots whose
impulses may not be zero, and these slots. So impulses of an earlier step are cleared without a pass over thousands.
"""

from __future__ import annotations

from ..algebra.numbers import select
from ..algebra.state_lanes import gathered, scattered
from .simd_collision import MOST

LISTED = 1 + MOST  # numbers of the list: its length, or ALL for a state whose slots may all be in use, and the slots
ALL = -1


def place_of(m, nc, r):
    """Return the index of impulse r in the warm-start array."""
    return 3 * m.contacts.slot[r // 3] + r % 3 if r < 3 * nc else 3 * m.touch.slots + m.limit[r]


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


def load_warm_start(m, nc, n, share, before, size, states, active):
    """Load impulses of the previous step, times the impulse fraction `share`, into m.push."""
    for r in range(n):
        m.push[r] = select(active[r] > 0, share * gathered(before, place_of(m, nc, r), size, states), 0)


def clear_where(after, size, slots, states, where):
    """Set the warm-start impulses that the last call of `store_warm_start` stored to zero, on the lanes of a mask."""
    at, rows = states[0] * size, size - LISTED  # the list of the first state is that of all
    listed, every = int(after[at + rows]), 3 * slots
    if listed < 0:
        listed, every = 0, 0
    for j in range(listed):
        slot = int(after[at + rows + 1 + j])
        for k in range(3 * slot, 3 * slot + 3):
            scattered(after, k, size, states, select(where, 0, gathered(after, k, size, states)))
    for k in range(every, rows):
        scattered(after, k, size, states, select(where, 0, gathered(after, k, size, states)))


def store_warm_start(m, nc, n, after, size, states, active, where):
    """Store impulses by slot, limit and joint for the warm start of the next step, and the list of slots.

    Inactive rows store nothing: they may share their slot with an active row. where: mask of the lanes that store.
    """
    for r in range(n):
        k = place_of(m, nc, r)
        kept = select(active[r] > 0, m.impulse[r], gathered(after, k, size, states))
        scattered(after, k, size, states, kept)
    rows, listed = size - LISTED, nc
    if nc > MOST:
        listed = ALL
    scattered(after, rows, size, states, select(where, listed, gathered(after, rows, size, states)))
    for c in range(listed):
        k = rows + 1 + c
        scattered(after, k, size, states, select(where, m.contacts.slot[c], gathered(after, k, size, states)))
