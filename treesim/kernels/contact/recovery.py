"""The third set of impulses of a step with contact: what takes overlaps back, by moving positions alone.

The motion of the step lets no overlap grow. On top of it bodies move with (M + D)^-1 J' lambda_r, without friction, so
that every contact or limit that overlaps opens at b, a share of the overlap in each step, and no other gap becomes
negative. With w the velocity of the step's motion along a row,

    0 <= lambda_r  _|_  (G + R) lambda_r + g >= 0,   g = w - b, R = YIELD G_rr b / u;  of others g = gap / h + w, R = 0,

u the fastest b. Overlaps from two sides, of a body in too narrow a slot, ask for what no impulses give. So rows of
overlaps yield, which bounds their impulses by u / (YIELD G_rr). The impulses carry no load: neither what lies on a body
nor how long it has overlapped changes them, and velocities know nothing of them. Soft surfaces push back by themselves.
"""

from __future__ import annotations

from ..algebra.numbers import maximum, minimum, some
from .constraint_rows import is_held, is_soft, limit_gap, put_bounds

FINER = 1e-2  # times the tolerance of the others: along rows of light joints it is many times as much of their rates
YIELD = 0.1  # of its mobility at most, so that what opens others does not press an overlap deeper


def opening(m, gap, dt):
    """b: how fast an overlap opens; 0 where there is none, but for what is left."""
    return minimum(m.touch.option[0] * maximum(-gap - m.touch.option[3], 0) / dt, m.touch.option[1])


def has_overlaps(m, nc, n, q, dt):
    """Whether something overlaps that is to be taken back."""
    found = False
    for c in range(nc):
        found = found or (not is_soft(m, c) and some(opening(m, m.contacts.gap[c], dt) > 0))
    for r in range(3 * nc, n):
        if m.limit[r] < m.touch.limits:
            found = found or some(opening(m, limit_gap(m, m.limit[r], q), dt) > 0)
    return found


def put_opening(m, r, side, gap, dt):
    """Row r, along which bodies move with side times its velocity apart."""
    b = opening(m, gap, dt)
    m.g[r] = side * maximum(gap / dt + side * m.moved[r], 0)
    if b > 0:
        m.g[r] = m.moved[r] - side * b
        m.recovery[r] = side * b / m.rows.G[r, r]
    m.soft[r] = YIELD * m.rows.G[r, r] * b / m.touch.option[1]
    m.rows.G[r, r] += m.soft[r]


def recovery_problem(m, nc, n, q, dt):
    """g and bounds of all rows, and R, m.soft; impulses start from nothing. Joint friction and limits of speeds take no
    part; what holds frames and closes loops stays as it is."""
    for r in range(n):
        m.g[r], m.soft[r], m.recovery[r] = dt * 0, dt * 0, dt * 0
    for c in range(nc):
        m.mu[c] = minimum(m.settled[c], 0)
        if is_soft(m, c):
            m.mu[c] = -1.0
        else:
            put_opening(m, 3 * c + 2, 1, m.contacts.gap[c], dt)
    for r in range(3 * nc, n):
        put_bounds(m, r, dt, 1)
        if m.limit[r] < m.touch.limits:
            put_opening(m, r, m.touch.limit[m.limit[r], 2], limit_gap(m, m.limit[r], q), dt)
        elif not is_held(m, r):
            m.low[r], m.high[r] = m.g[r], m.g[r]


def recover(m, n):
    """What impulses m.recovery add to the impulses of the positions, and to what moves; m.sigma: of the recovery."""
    for r in range(n):
        m.moved[r] += m.sigma[r] - m.g[r] - m.soft[r] * m.recovery[r]
        m.push[r] += m.recovery[r]
