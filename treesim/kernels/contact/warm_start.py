"""Warm-start impulses: those of a step by slot, limit and joint, from which the next step starts.

Angular impulses of torsional and rolling friction stand behind those of contacts and rows, by slot, too.
"""

from typing import Any, NamedTuple

from .constraint_rows import end_of_contacts


class ImpulseAccess(NamedTuple):
    """Access to the impulses of one state (`one_state`), or to those of several states on lanes (`simd_warm_start`).

    clear (after): at the start of a step. clear_where (m, after, where): what the step stored so far. seek (m, c):
    finds the place of contact c. read (m, before, k, c), write (m, after, k, c, x, where): number k of contact c.
    read_row (m, before, k), write_row (m, after, k, x, where): number k. is_active (m, r): whether row r is.
    only_active (m, r, x): x where it is, else 0. list_slots (m, nc, after, where): lists what is to be cleared.
    """

    clear: Any
    clear_where: Any
    seek: Any
    read: Any
    write: Any
    read_row: Any
    write_row: Any
    is_active: Any
    only_active: Any
    list_slots: Any


def load(m, nc, n, theta, before, f):
    """Load impulses of the previous step, times the impulse fraction theta, into m.push.

    f: `step_records.StepFunctions`.
    """
    x = f.impulses
    for c in range(nc):
        x.seek(m, c)
        for j in range(3):
            m.push[3 * c + j] = x.only_active(m, 3 * c + j, theta * x.read(m, before, j, c))
    for r in range(end_of_contacts(m, nc), n):
        m.push[r] = x.only_active(m, r, theta * x.read_row(m, before, 3 * m.touch.slots + m.limit[r]))
    f.rolling.load(m, nc, theta, before, x)


def store(m, nc, n, after, where, f):
    """Store impulses for the warm start of the next step, `where` it is to be those of this solution.

    Inactive rows store nothing: they may share their slot with an active row. f: `step_records.StepFunctions`.
    """
    x = f.impulses
    for c in range(nc):
        x.seek(m, c)
        for j in range(3):
            x.write(m, after, j, c, m.impulse[3 * c + j], x.is_active(m, 3 * c + j))
    for r in range(end_of_contacts(m, nc), n):
        x.write_row(m, after, 3 * m.touch.slots + m.limit[r], m.impulse[r], x.is_active(m, r))
    f.rolling.store(m, nc, after, where, x)
    x.list_slots(m, nc, after, where)
