"""Recovery: a third set of impulses, which reduces overlaps by changing positions only.

The motion of the step lets no overlap grow. In addition bodies move with (M + D)^-1 J' lambda_r, without friction.
Every contact or limit with an overlap opens at speed b, a fraction of the overlap per step, and no other gap becomes
negative. With w the velocity of the step's motion along a row,
    0 <= lambda_r  _|_  (G + R) lambda_r + g >= 0,   g = w - b, R = YIELD G_rr b / u;  of others g = gap / h + w, R = 0,
u the largest b. Overlaps from two sides, of a body in too narrow a slot, cannot be resolved by any impulses. So rows of
overlaps are compliant, which bounds their impulses by u / (YIELD G_rr). The impulses do not depend on loads or on how
long an overlap has lasted, and do not change velocities. Overlaps of soft surfaces are not recovered.
"""

from ..algebra.numbers import maximum, minimum, some
from .constraint_rows import end_of_contacts, is_constrained, is_soft, limit_gap, put_bounds
from .layout import LIMIT, RECOVERY

FINER = 1e-2  # times the tolerance of the others: along rows of light joints it is many times as much of their rates
YIELD = 0.1  # of its mobility at most, so that what opens others does not press an overlap deeper


def opening(m, gap, dt):
    """Return the speed b at which an overlap opens; 0 without an overlap above the allowed one."""
    option = m.touch.option
    overlap = maximum(-gap - option[RECOVERY.allowed_overlap], 0)
    return minimum(option[RECOVERY.fraction] * overlap / dt, option[RECOVERY.fastest])


def has_overlaps(m, nc, n, q, dt):
    """Return whether any overlap must be recovered."""
    found = False
    for c in range(nc):
        found = found or (not is_soft(m, c) and some(opening(m, m.contacts.gap[c], dt) > 0))
    for r in range(end_of_contacts(m, nc), n):
        if m.limit[r] < m.touch.limits:
            found = found or some(opening(m, limit_gap(m, m.limit[r], q), dt) > 0)
    return found


def put_opening(m, r, side, gap, dt):
    """Write row r, whose bodies separate with `side` times its velocity."""
    b = opening(m, gap, dt)
    m.g[r] = side * maximum(gap / dt + side * m.moved[r], 0)
    if b > 0:
        m.g[r] = m.moved[r] - side * b
        m.recovery[r] = side * b / m.rows.G[r, r]
    m.soft[r] = YIELD * m.rows.G[r, r] * b / m.touch.option[RECOVERY.fastest]
    m.rows.G[r, r] += m.soft[r]


def recovery_problem(m, nc, n, q, dt):
    """Write g, bounds and compliance m.soft of all rows, and initial impulses.

    Initial impulses are an estimate for overlaps, and zero otherwise. Joint friction and speed limits are inactive;
    constrained frames and loops do not move.
    """
    for r in range(n):
        m.g[r], m.soft[r], m.recovery[r] = dt * 0, dt * 0, dt * 0
    for c in range(nc):
        m.mu[c] = minimum(m.settled[c], 0)
        if is_soft(m, c):
            m.mu[c] = -1.0
        else:
            put_opening(m, 3 * c + 2, 1, m.contacts.gap[c], dt)
    for r in range(end_of_contacts(m, nc), n):
        put_bounds(m, r, dt, 1)
        if m.limit[r] < m.touch.limits:
            put_opening(m, r, m.touch.limit[m.limit[r], LIMIT.side], limit_gap(m, m.limit[r], q), dt)
        elif not is_constrained(m, r):
            m.low[r], m.high[r] = m.g[r], m.g[r]


def recover(m, n):
    """Add recovery impulses to the position impulses, and their motion to m.moved; m.sigma: of the recovery problem."""
    for r in range(n):
        m.moved[r] += m.sigma[r] - m.g[r] - m.soft[r] * m.recovery[r]
        m.push[r] += m.recovery[r]
