"""Contacts that two shapes find of each other at the same point, as boxes do whose corners coincide."""

from __future__ import annotations

from ..algebra.linear import dot, sub
from ..algebra.numbers import absolute
from .candidates import put_row
from .constraint_rows import PARALLEL
from .signed_distance import vector_of

NEAR, EQUAL = 1e-5, 1e-9  # m: contacts so near, with gaps so equal, are one


def drop_coincident(m, nc):
    """Drop contacts between the bodies of another contact at the same point, along the same normal.

    Their rows would be those of the other one. m: memory of the step. Returns the number of contacts that are left.
    """
    kept = 0
    for c in range(nc):
        if not is_coincident(m, c, kept):
            move_contact(m.contacts, c, kept)
            kept += 1
    return kept


def all_distinct(m, nc):
    """Return nc; variant of `drop_coincident` for planes."""
    return nc


def is_coincident(m, c, kept):
    """Return whether contact c coincides with one of the first `kept` contacts, of another pair of shapes."""
    found, contacts, one = False, m.contacts, m.contacts.pair[c]
    for k in range(kept):
        other = contacts.pair[k]
        if other != one and of_same_bodies(m.touch, one, other) and absolute(contacts.gap[k] - contacts.gap[c]) < EQUAL:
            found = found or is_near(contacts, c, k, m.touch.pair[one, 0] == m.touch.pair[other, 0])
    return found


def of_same_bodies(touch, k, j):
    """Return whether pairs k and j are of the same two bodies, in either order."""
    a, b = touch.pair[k, 0], touch.pair[k, 1]
    return (touch.pair[j, 0] == a and touch.pair[j, 1] == b) or (touch.pair[j, 0] == b and touch.pair[j, 1] == a)


def is_near(contacts, c, k, same_order):
    """Return whether two contacts have the same point and normal; that of bodies in the other order is reversed."""
    d = sub(vector_of(contacts.point, c), vector_of(contacts.point, k))
    cosine = dot(vector_of(contacts.normal, c), vector_of(contacts.normal, k))
    return dot(d, d) < NEAR * NEAR and (cosine if same_order else -cosine) > PARALLEL


def move_contact(contacts, c, place):
    """Move contact c to another place."""
    contacts.pair[place], contacts.slot[place] = contacts.pair[c], contacts.slot[c]
    contacts.gap[place] = contacts.gap[c]
    put_row(contacts.point, place, vector_of(contacts.point, c))
    put_row(contacts.normal, place, vector_of(contacts.normal, c))
