"""Contacts that two shapes find of each other at the same point, as boxes do whose corners coincide."""

from ..algebra.linear import dot, sub
from ..algebra.numbers import absolute
from .candidates import put_row
from .constraint_rows import PARALLEL
from .layout import PAIR
from .signed_distance import vector_of

NEAR, EQUAL = 1e-5, 1e-9  # m: contacts so near, with gaps so equal, are one
NONE = -1  # at the end of a list


def drop_coincident(m, nc):
    """Drop contacts that the other body's shape has found too: same point, opposite normal, same surface.

    Their rows would be those of the other one. Contacts of several shapes of one body stay: each has its own surface.
    m: memory of the step. Returns the number of contacts that are left. Contacts of the same two bodies are in one
    list: O(nc) for contacts of many bodies.
    """
    first, kept = m.contacts.first, 0
    for c in range(nc):
        first[c] = NONE
    for c in range(nc):
        at = list_of(m, c, nc)
        if not is_coincident(m, c, first[at]):
            move_contact(m.contacts, c, kept)
            m.contacts.following[kept], first[at] = first[at], kept
            kept += 1
    return kept


def list_of(m, c, count):
    """Return the index, below `count`, of the list that holds contact c; equal for both orders of its two bodies."""
    k = m.contacts.pair[c]
    return (m.touch.pair[k, PAIR.body] + m.touch.pair[k, PAIR.solid_body]) % count


def all_distinct(m, nc):
    """Return nc; variant of `drop_coincident` for planes."""
    return nc


def is_coincident(m, c, k):
    """Return whether a contact of the list from k on is contact c as the other body's shape finds it."""
    found, contacts, one = False, m.contacts, m.contacts.pair[c]
    while k != NONE and not found:
        if are_opposite(m.touch, one, contacts.pair[k]) and absolute(contacts.gap[k] - contacts.gap[c]) < EQUAL:
            found = is_near(contacts, c, k)
        k = contacts.following[k]
    return found


def are_opposite(touch, k, j):
    """Return whether pairs k and j are of the same two bodies, each the other's solid, with the same surface."""
    one, other = touch.pair[k], touch.pair[j]
    found = other[PAIR.body] == one[PAIR.solid_body] and other[PAIR.solid_body] == one[PAIR.body]
    for column in range(touch.surface.shape[1]):
        found = found and touch.surface[j, column] == touch.surface[k, column]
    return found


def is_near(contacts, c, k):
    """Return whether two contacts have the same point, and opposite normals."""
    d = sub(vector_of(contacts.point, c), vector_of(contacts.point, k))
    cosine = dot(vector_of(contacts.normal, c), vector_of(contacts.normal, k))
    return dot(d, d) < NEAR * NEAR and -cosine > PARALLEL


def move_contact(contacts, c, place):
    """Move contact c to another place."""
    contacts.pair[place], contacts.slot[place] = contacts.pair[c], contacts.slot[c]
    contacts.gap[place] = contacts.gap[c]
    put_row(contacts.point, place, vector_of(contacts.point, c))
    put_row(contacts.normal, place, vector_of(contacts.normal, c))
