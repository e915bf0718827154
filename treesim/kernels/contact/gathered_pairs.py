"""Pairs of free bodies with one shape each, whose rows are gathered in the step that needs them.

Each two of n such shapes are a pair, and two boxes are two. So that tables grow with n, and not with its square, they
have one row of each shape, and two of each two kinds of shapes. Pair 0 or 1 of shapes i < j has the number
R + 2 (n i + j) + 0 or 1, behind R pairs whose rows are ready.
"""

import numpy as np

from .layout import COLUMNS, OPTIONS, PAIR, REALS, SURFACE, real_columns
from .tables import touch_tables

NONE = -1


def ready_row(touch, k, n):
    """Return k, the row of pair k; variant of `gathered_row` for worlds in which all rows are ready."""
    return k


def gathered_tables(layout, geometry):
    """Return the contact tables, extended by memory for the rows of pairs that are computed when they touch."""
    given = touch_tables(layout, geometry)
    ready, rows = given.ready, given.ready + given.capacity + 1
    pair, reals = np.empty((rows, COLUMNS), np.int64), np.empty(REALS * rows, geometry.dtype)
    own = real_columns(reals.reshape((rows, REALS)))
    for k in range(ready):
        for c in range(COLUMNS):
            pair[k, c] = given.pair[k, c]
    for k in range(REALS * ready):
        reals[k] = geometry[OPTIONS + k]
    for k in range(ready, rows):
        pair[k, PAIR.internal_edges] = 0
    return given._replace(
        pair=pair, solid=own.placement, size=own.size, surface=own.surface, mu=own.surface[:, SURFACE.friction],
        ball=own.ball, given=given,
    )  # fmt: skip


def gathered_row(touch, k, n):
    """Return the row of pair k: one that is ready, or is gathered for contact n; NONE if there is no such pair."""
    found, ready, shapes = k, touch.ready, touch.shapes
    if k >= ready:
        i, j, way = (k - ready) // (2 * shapes), (k - ready) // 2 % shapes, (k - ready) % 2
        first = touch.given.pair.shape[0] - shapes
        kinds = touch.given.pair[first + i, PAIR.number] * touch.kinds + touch.given.pair[first + j, PAIR.number]
        kind, found = ready + 2 * kinds + way, NONE
        if i < j and touch.given.pair[kind, PAIR.slots] > 0:
            found = ready + min(n, touch.capacity)
            gather(touch, k, first + i, j, kind, found)
    return found


def place_of(touch, k):
    """Return the place of pair k in a table of all given rows: that of its first shape if its own is not given."""
    found = k
    if k >= touch.ready:
        found = touch.ready + 2 * touch.kinds * touch.kinds + (k - touch.ready) // (2 * touch.shapes)
    return found


def gather(touch, k, i, j, kind, row):
    """Write the row of pair k of two shapes, the first of which has the given row i and the other one is number j.

    kind: the given row of their kinds, with the columns that all their pairs have in common.
    """
    x, out = touch.given, touch.pair[row]
    other = x.pair.shape[0] - x.shapes + j
    own, solid = i, other
    if x.pair[kind, PAIR.flipped] == 1:
        own, solid = other, i
    for c in range(COLUMNS):
        out[c] = x.pair[kind, c]
    out[PAIR.body], out[PAIR.solid_body], out[PAIR.number] = x.pair[own, PAIR.body], x.pair[solid, PAIR.body], k
    out[PAIR.first_point], out[PAIR.group] = x.pair[own, PAIR.first_point], x.pair[i, PAIR.group] + j
    out[PAIR.first_slot] = x.pair[i, PAIR.first_slot] + (2 * j + x.pair[kind, PAIR.number]) * x.most
    for c in range(x.solid.shape[1]):
        touch.solid[row, c] = x.solid[solid, c]
    for c in range(x.size.shape[1]):
        touch.size[row, c], touch.ball[row, c] = x.size[solid, c], x.ball[own, c]
    for c in range(x.surface.shape[1]):
        touch.surface[row, c] = x.surface[kind, c]
    touch.mu[row] = x.mu[kind]
