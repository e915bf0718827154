"""Collision detection of several states, one after the other, by the code of single states (`collision`).

It supports all collision geometry. The contacts are then those of SIMD lanes: contact i of a pair on any lane is one
contact of all, as in `simd_collision`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..algebra.linear import Vector, rotate_back, sub
from ..algebra.numbers import maximum, select, some
from ..algebra.state_lanes import gathered, lane_count, scattered
from ..algebra.tables import transform_at
from .candidates import Contacts, ball_of, contacts_memory, put_row, reach_of, solid_in_world
from .collision import VARIANTS, find_contacts_of_pair
from .layout import PAIR
from .near_pairs import is_swept, listed
from .signed_distance import ROUND, from_outside, vector_of
from .simd_collision import MOST, Finder

POSE, VELOCITY = 12, 6  # numbers of a body
NUMBERS = 9  # of a contact: active, slot, gap, point, normal
INACTIVE_GAP = 1.0
ALL = 2**62  # more than the number of any pair


class Bodies(NamedTuple):
    """Poses and velocities of the bodies of one state."""

    W: Any
    V: Any


class OneState(NamedTuple):
    """Tables and contacts of one state, as `Solids.distinct` takes them."""

    touch: Any
    contacts: Contacts


class EachState(NamedTuple):
    """Scratch memory: bodies and contacts of each state, one state after the other."""

    W: Any
    V: Any
    contacts: Contacts  # of one state
    near: Any  # (lanes, P) near pairs, and (lanes,) their number
    nears: Any
    pair: Any  # (lanes, MOST) and their numbers (lanes, MOST, NUMBERS)
    number: Any
    size: Any  # (lanes,): of contacts, those that are already contacts of all, and the number of each state's contacts
    at: Any
    count: Any
    row: Any  # (lanes * NUMBERS,)


def each_state_memory(touch, n_bodies, x):
    """Scratch memory with the dtype of x, real numbers; n_bodies: without the world."""
    lanes, bodies = lane_count(), n_bodies + 1
    whole = np.empty((3, lanes), np.int64)
    return EachState(
        np.empty(lanes * bodies * POSE, x.dtype), np.empty(lanes * bodies * VELOCITY, x.dtype),
        contacts_memory(touch, x), np.empty((lanes, touch.pair.shape[0]), np.int64), whole[2],
        np.empty((lanes, MOST), np.int64),
        np.empty((lanes, MOST, NUMBERS), x.dtype), whole[0], whole[1], np.empty(lanes, x.dtype),
        np.empty(lanes * NUMBERS, x.dtype),
    )  # fmt: skip


def make_find_each(solids):
    """Return the variant of `simd_collision.find_contacts` for the solids of a world."""

    def find_each(touch, r, dt, margin, m, active, count):
        """Find the contacts of each state; return the number of contacts of all, and write that of each state."""
        each, bodies = m.each, r.W.shape[0]
        store_bodies(r, each, m.own)
        if not is_swept(touch):
            list_near_pairs(touch, r, dt, margin, m, each)
        for lane in range(lane_count()):
            of_one = Bodies(
                each.W[lane * bodies * POSE : (lane + 1) * bodies * POSE].reshape((bodies, POSE)),
                each.V[lane * bodies * VELOCITY : (lane + 1) * bodies * VELOCITY].reshape((bodies, VELOCITY)),
            )
            n, at = 0, m.states[lane] * m.size
            near = each.contacts._replace(before=m.before[at : at + m.size])
            pairs = solids.near(touch, of_one, dt, margin, near.near) if is_swept(touch) else each.nears[lane]
            for j in range(pairs):
                k = listed(near.near, j, pairs) if is_swept(touch) else each.near[lane, j]
                row = solids.row(touch, k, n)
                if row >= 0:
                    n = find_contacts_of_pair(touch, row, of_one, dt, margin, near, n, solids)
            within = solids.distinct(OneState(touch, each.contacts), min(n, touch.capacity))
            each.count[lane] = within + (n - min(n, touch.capacity))
            store_contacts(touch, each, lane, min(within, MOST))
        count[0] = gathered(each.count, 0, 1, m.own)
        return merge(touch, each, m, active, solids)

    return find_each


def list_near_pairs(touch, r, dt, margin, m, each):
    """List the pairs of each state that may touch in the step, by bounding balls; variant of `near_pairs.list_near`.

    For worlds of few pairs.
    """
    for lane in range(lane_count()):
        each.nears[lane] = 0
    for k in range(touch.pair.shape[0]):
        near = is_near(touch, k, r, dt, margin)
        if some(near):
            scattered(m.number, 0, 1, m.own, select(near, 1, 0))
            for lane in range(lane_count()):
                if m.number[lane] > 0:
                    each.near[lane, each.nears[lane]] = k
                    each.nears[lane] += 1


def is_near(touch, k, r, dt, margin):
    """Return a mask of the states in which the bounding ball of pair k's shape may touch its solid in the step."""
    ball = ball_of(touch, k, transform_at(r.W, touch.pair[k, PAIR.body]))
    S = solid_in_world(touch, k, transform_at(r.W, touch.pair[k, PAIR.solid_body]))
    reach = reach_of(touch, k, r, ball, dt, margin)
    p, reach = rotate_back(S.R, sub(ball, S.p)), reach + maximum(touch.ball[k, 3], ROUND)
    return from_outside(touch, k, p) < reach


def store_bodies(r, each, own):
    """Store the poses and velocities of all states one after the other."""
    bodies = r.W.shape[0]
    for i in range(bodies):
        for j in range(POSE):
            scattered(each.W, POSE * i + j, POSE * bodies, own, r.W[i, j])
        for j in range(VELOCITY):
            scattered(each.V, VELOCITY * i + j, VELOCITY * bodies, own, r.V[i, j])


def store_contacts(touch, each, lane, n):
    """Store the first n contacts of one state."""
    for c in range(n):
        x, normal = vector_of(each.contacts.point, c), vector_of(each.contacts.normal, c)
        each.pair[lane, c] = touch.pair[each.contacts.pair[c], PAIR.number]
        put_numbers(each.number[lane, c], 1, each.contacts.slot[c], each.contacts.gap[c], x, normal)
    each.size[lane], each.at[lane] = n, 0


def put_numbers(out, active, slot, gap, x, normal):
    """Write the numbers of a contact."""
    out[0], out[1], out[2] = active, slot, gap
    out[3], out[4], out[5] = x.x, x.y, x.z
    out[6], out[7], out[8] = normal.x, normal.y, normal.z


def next_pair(each):
    """Return the number of the first pair with contacts that are not yet contacts of all; ALL if there is none."""
    found = ALL
    for lane in range(lane_count()):
        if each.at[lane] < each.size[lane]:
            found = min(found, each.pair[lane, each.at[lane]])
    return found


def merge(touch, each, m, active, solids):
    """Write the contacts of all states, one per lane, in the order of pairs; return their number.

    It is larger than MOST if some are left out.
    """
    n, k = 0, next_pair(each)
    while k < ALL and n <= MOST:
        m.pair[n] = solids.row(touch, k, n)
        for lane in range(lane_count()):
            at, row = each.at[lane], each.row[NUMBERS * lane : NUMBERS * (lane + 1)]
            if at < each.size[lane] and each.pair[lane, at] == k:
                for i in range(NUMBERS):
                    row[i] = each.number[lane, at, i]
                each.at[lane] = at + 1
            else:
                slot = touch.pair[m.pair[n], PAIR.first_slot]
                put_numbers(row, 0, slot, INACTIVE_GAP, Vector(0.0, 0.0, 0.0), Vector(0.0, 0.0, 1.0))
        m.slot[n], m.gap[n] = number_of(each, m, 1), number_of(each, m, 2)
        put_row(m.point, n, Vector(number_of(each, m, 3), number_of(each, m, 4), number_of(each, m, 5)))
        put_row(m.normal, n, Vector(number_of(each, m, 6), number_of(each, m, 7), number_of(each, m, 8)))
        active[n] = number_of(each, m, 0)
        n, k = n + 1, next_pair(each)
    return n


def number_of(each, m, k):
    """Return number k of the current contact of all states."""
    return gathered(each.row, k, NUMBERS, m.own)


EACH_STATE = {name: Finder(make_find_each(x), each_state_memory, x.tables) for name, x in VARIANTS.items()}
