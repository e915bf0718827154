"""Collision detection for several states at once, one per SIMD lane: contacts of any state, with active masks.

Points and pairs are those of `collision`, for planes, spheres and capsules. Contact i of a pair on any lane is one
contact of all, with points and slots that differ. `active` is 1 on the lanes of states that have it and 0 on the
others, where it must have no effect. The result of a lane does not depend on the others.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import rotate, rotate_back, scale, sub
from ..algebra.numbers import maximum, select, some
from ..algebra.state_lanes import lane_count
from ..algebra.tables import motion_at, transform_at
from .candidates import ball_of, put_row, reach_of, rim_point, solid_in_world, velocity_along, world_point
from .layout import PAIR, SURFACE
from .signed_distance import ROUND, from_smooth, vector_of
from .simd_warm_start import find_places, number_at
from .support import Choice, choose, gap_price
from .tables import PER_PAIR, RIM, slot_of, touch_tables

MOST = 64  # contacts of one state, and of all states together, that are looked after
ROOM = 8 * PER_PAIR  # contacts of the last pair: four of each of eight states


def capacity_of(contacts):
    """Return how many contacts there may be of all states together, for the most of one: contact i of a pair is one."""
    return min(MOST, contacts) + ROOM


class SimdContacts(NamedTuple):
    """Contacts of several states; pairs are the same on all lanes."""

    touch: Any  # contact tables with the collision geometry, that of all states
    pair: Any  # (C,)
    slot: Any
    order: Any  # place of each lane's contact in the list of its stored impulses (`warm_start.put_order`)
    gap: Any
    point: Any  # (C, 3)
    normal: Any
    carried: Any  # normal impulses of the last step
    before: Any  # impulses of the last step, `size` numbers of each of all states
    external: Any  # contacts found outside the kernel: none
    size: Any
    states: Any  # (lanes,) indices of the states
    find: Any  # function that finds contacts, and its scratch memory, see `Finder`
    each: Any
    own: Any  # (lanes,): 0, 1, ..., and scratch memory for a number of each state, and for a place in an array
    number: Any
    place: Any
    ends: Any  # (lanes,) of the entries of stored impulses up to the last slot that was looked for


class Finder(NamedTuple):
    """Collision detection of several states.

    find: `find_contacts`, or a function with the same arguments and results. memory: returns its scratch memory, for
    contact tables, a number of bodies, and an array of real numbers. tables: returns the contact tables.
    """

    find: Any
    memory: Any
    tables: Any


def no_memory(touch, n_bodies, x):
    """Return 0; variant of `each_collision.each_state_memory` for `find_contacts`."""
    return 0


def simd_contacts_memory(touch, q, find, each):
    """Scratch memory with the dtype of q. touch, find, each: see `SimdContacts`."""
    capacity = touch.capacity + touch.most  # all points of a pair are contacts, before four remain
    found, lanes = np.empty((capacity, 10), q.dtype), np.empty((4, lane_count()), np.int64)
    for lane in range(lane_count()):
        lanes[0, lane], lanes[2, lane], lanes[3, lane] = lane, 0, 0
    return SimdContacts(
        touch, np.empty(capacity, np.int64), found[:, 0], found[:, 9], found[:, 1], found[:, 2:5], found[:, 5:8],
        found[:, 8], 0, 0, 0, lanes[2], find, each, lanes[0], np.empty(lane_count(), np.float64), lanes[1], lanes[3],
    )  # fmt: skip


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
    W, B = transform_at(r.W, touch.pair[k, PAIR.body]), transform_at(r.W, touch.pair[k, PAIR.solid_body])
    S = solid_in_world(touch, k, B)
    ball = ball_of(touch, k, W)
    gap, _ = from_smooth(touch, k, rotate_back(S.R, sub(ball, S.p)))
    reach = reach_of(touch, k, r, ball, dt, margin)
    if some(gap - maximum(touch.ball[k, 3], ROUND) < reach):
        end = look(touch, k, r, S, reach, dt, margin, m, active, n)
        if end > n:
            thin_out(m, active, n, end, gap_price(touch, k, r, ball, dt), touch.surface[k, SURFACE.stiffness] == 0)
            n = keep(m, active, n, end, count)
    return n


def look(touch, k, r, S, reach, dt, margin, m, active, n):
    """Find the points of pair k within the margin, or within their motion in the step, from n on; return their end."""
    a, b, cylinder = touch.pair[k, PAIR.body], touch.pair[k, PAIR.solid_body], touch.pair[k, PAIR.cylinder] == 1
    W, B = transform_at(r.W, a), transform_at(r.W, b)
    for j in range(RIM if cylinder else touch.pair[k, PAIR.points]):
        p = rim_point(touch, k, j, S, W) if cylinder else world_point(touch, k, j, W)
        radius = touch.point[touch.pair[k, PAIR.first_point] + (0 if cylinder else j), 3]  # a cylinder has two points
        rho = radius * 0 if cylinder else radius
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


def thin_out(m, active, first, end, price, rigid):
    """Reduce contacts of a pair to the four that `support` chooses. rigid: whether the surface is."""
    found = active[first] * 0
    for j in range(first, end):
        found += active[j]
    if some(found > PER_PAIR):
        for j in range(first, end):
            find_places(m.touch, m, m.before, m.slot[j])
            m.carried[j] = number_at(m, m.before, 2)
        choose(Choice(m.gap, m.point, m.normal, m.carried, active), first, end, price, rigid)
        for j in range(first, end):
            if found > PER_PAIR:
                active[j] = select(active[j] > 1, 1, 0)
            active[j] = select(active[j] > 0, 1, 0)


def keep(m, active, first, end, count):
    """Move the contacts of each lane that are active, and within MOST, to consecutive places; return their end."""
    found = count[0] * 0
    for j in range(first, end):
        count[0] += active[j]
        kept = select(count[0] > MOST, 0, active[j])
        active[j] = kept * 0
        for i in range(first, min(j + 1, first + PER_PAIR)):
            here = kept > 0 and found == i - first
            if some(here):
                m.pair[i] = m.pair[j]
                if here:
                    move(m, active, j, i)
        found += kept
    n = first
    for i in range(first, min(end, first + PER_PAIR)):
        if some(active[i] > 0):
            n = i + 1
    return n


def move(m, active, j, i):
    """Make contact j contact i, and active."""
    m.slot[i], m.gap[i], active[i] = m.slot[j], m.gap[j], 1
    put_row(m.point, i, vector_of(m.point, j))
    put_row(m.normal, i, vector_of(m.normal, j))


SMOOTH_SOLIDS = Finder(find_contacts, no_memory, touch_tables)  # planes, spheres and capsules
