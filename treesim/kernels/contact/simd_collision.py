"""Collision detection for several states at once, one per SIMD lane: contacts of any state, with active masks.

Points and pairs are those of `collision`, for planes, spheres and capsules. A contact is the same for all lanes, at its
slot. `active` is 1 on the lanes of states that have it and 0 on the others, where it must have no effect. The result of
a lane does not depend on the others.
"""

from __future__ import annotations

from ..algebra.linear import rotate, rotate_back, scale, sub
from ..algebra.numbers import maximum, select, some
from ..algebra.tables import motion_at, transform_at
from .candidates import ball_of, put_row, reach_of, rim_point, solid_in_world, velocity_along, world_point
from .collision import gap_price, worth
from .signed_distance import FAR, ROUND, from_smooth, vector_of
from .tables import PER_PAIR, RIM, slot_of

MOST = 32  # contacts of one state, and of all states together, that are looked after
CAPACITY = (
    MOST + 8 * PER_PAIR
)  # contacts of all states together after the last pair: four of it of each of eight states


def find_contacts(touch, r, dt, margin, m, active, count):
    """Find the contacts of all states, at most four per pair; return their number.

    count: number of contacts of each state. If it exceeds MOST, not all contacts are found.
    """
    n = 0
    count[0] = r.still[0]
    for k in range(touch.pair.shape[0]):
        if n <= MOST:
            n = meet(touch, k, r, dt, margin, m, active, n, count)
    return n


def meet(touch, k, r, dt, margin, m, active, n, count):
    """Find the contacts of pair k, from n on; return the number of all contacts."""
    W, B = transform_at(r.W, touch.pair[k, 0]), transform_at(r.W, touch.pair[k, 1])
    S = solid_in_world(touch, k, B)
    ball = ball_of(touch, k, W)
    gap, _ = from_smooth(touch, k, rotate_back(S.R, sub(ball, S.p)))
    reach = reach_of(touch, k, r, ball, dt, margin)
    if some(gap - maximum(touch.ball[k, 3], ROUND) < reach):
        end = look(touch, k, r, S, reach, dt, margin, m, active, n)
        if end > n:
            thin_out(m, active, n, end, gap_price(touch, k, r, ball, dt))
            n = keep(m, active, n, end, count)
    return n


def look(touch, k, r, S, reach, dt, margin, m, active, n):
    """Find the points of pair k within the margin, or within their motion in the step, from n on; return their end."""
    a, b, cylinder = touch.pair[k, 0], touch.pair[k, 1], touch.pair[k, 6] == 1
    W, B = transform_at(r.W, a), transform_at(r.W, b)
    for j in range(RIM if cylinder else touch.pair[k, 4]):
        p = rim_point(touch, k, j, S, W) if cylinder else world_point(touch, k, j, W)
        rho = touch.point[touch.pair[k, 3] + j, 3] * 0 if cylinder else touch.point[touch.pair[k, 3] + j, 3]
        gap, normal = from_smooth(touch, k, rotate_back(S.R, sub(p, S.p)))
        gap -= rho
        if some(gap < reach):
            normal = rotate(S.R, normal)
            x = sub(p, scale(normal, rho + gap / 2)) if b > 0 else sub(p, scale(normal, rho))
            closing = velocity_along(motion_at(r.V, b), B, x, normal) - velocity_along(motion_at(r.V, a), W, x, normal)
            near = gap < reach and gap < margin + dt * maximum(closing, 0)
            if some(near):
                m.pair[n], m.slot[n], m.gap[n] = k, slot_of(touch, k, j), gap
                put_row(m.point, n, x)
                put_row(m.normal, n, normal)
                active[n] = select(near, 1, 0)
                n += 1
    return n


def thin_out(m, active, first, end, price):
    """Reduce contacts of a pair to the four of largest `worth`."""
    found = active[first] * 0
    for j in range(first, end):
        found += active[j]
    if some(found > PER_PAIR):
        choose(m, active, first, end, found, price)


def choose(m, active, first, end, found, price):
    """Select the contacts of largest `worth` in turn, and deactivate the others where too many were found."""
    n, one = vector_of(m.normal, first), vector_of(m.point, first)
    two, three = one, one
    for mode in range(PER_PAIR):
        best, size = found * 0, found * 0 - FAR
        for j in range(first, end):
            here = worth(mode, price, m.gap[j], vector_of(m.point, j), n, one, two, three)
            if active[j] > 0 and here > size:
                best, size = found * 0 + j, here
        for j in range(first, end):
            if active[j] > 0 and best == j:
                active[j] = 2
                if mode == 0:
                    n, one = vector_of(m.normal, j), vector_of(m.point, j)
                if mode == 1:
                    two = vector_of(m.point, j)
                if mode == 2:
                    three = vector_of(m.point, j)
    for j in range(first, end):
        if found > PER_PAIR:
            active[j] = select(active[j] > 1, 1, 0)
        active[j] = select(active[j] > 0, 1, 0)


def keep(m, active, first, end, count):
    """Move contacts that are active in some state, and within MOST, to consecutive places; return their end."""
    n = first
    for j in range(first, end):
        count[0] += active[j]
        active[j] = select(count[0] > MOST, 0, active[j])
        if some(active[j] > 0):
            m.pair[n], m.slot[n], m.gap[n], active[n] = m.pair[j], m.slot[j], m.gap[j], active[j]
            put_row(m.point, n, vector_of(m.point, j))
            put_row(m.normal, n, vector_of(m.normal, j))
            n += 1
    return n
