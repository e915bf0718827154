"""Choice of the contact points of a pair: at most four, which carry what all candidates would.

More than four contacts do not change what two rigid bodies can do to each other. Candidates are ranked. Points that
carried in the last step and still touch come first, so that a body at rest keeps the points that carry it. Then come
points that overlap more than these, then those that touch as deep, then all others. Of each kind those are chosen that
widen the support most, unless their gap is large. Points of a soft surface are not ranked, since each of them carries.
The same functions serve one state, and several on SIMD lanes.
"""

from typing import Any, NamedTuple

from ..algebra.linear import cross, dot, scale, sub
from ..algebra.numbers import absolute, less, maximum, minimum, select, sqrt
from .candidates import reach_of
from .signed_distance import FAR, vector_of
from .tables import PER_PAIR

GAP_PRICE = 100.0  # a sole is flat where it rises by less than one in so many ...
FAST_PRICE = 1.0  # ... unless all its points may arrive in the step, in which the body moves by more than
FAST = 0.5  # of its radius
NO_WIDTH = 1e-60  # m^2
DEEP, OVERLAP = 1e-6, 1e-9  # m: overlaps that rank before points that carry, and that rank after them
TOUCHING = 1e-6  # m: a gap that is larger, than 0 or than those that carry, carries nothing


class Choice(NamedTuple):
    """Candidates of a pair in places from a first one on; several states have theirs on SIMD lanes."""

    gap: Any
    point: Any  # (n, 3)
    normal: Any
    carried: Any  # normal impulse of the last step
    active: Any  # 1 for candidates, 0 where a lane has none; 2 if chosen


def gap_price(touch, k, r, ball, dt):
    """Return the price of a gap in `worth` for pair k, with the shape's bounding ball at `ball`.

    Points of a shape that moves fast arrive one after the other in a single step. The first alone would turn the shape
    so far that the others end below the surface.
    """
    return select(less(FAST * touch.ball[k, 3], reach_of(touch, k, r, ball, dt, dt * 0)), FAST_PRICE, GAP_PRICE)


def beyond(x, n, one, two, three):
    """Return how far x is beyond the side from `one` to `two` of the triangle with the third corner `three`."""
    side = cross(n, sub(two, one))
    found = dot(side, sub(x, one))
    if dot(side, sub(three, one)) > 0:
        found = -found
    return found / sqrt(maximum(dot(side, side), NO_WIDTH))


def worth(mode, price, gap, x, n, one, two, three):
    """Return the depth of a point x (mode 0), or how much it widens the support (modes 1 to 3).

    The width is measured across the normal n: from a first point (1), from the line of two (2), or beyond the sides of
    the triangle of three (3). A gap costs `price` times its size (`gap_price`), so that a wider ring of points above
    those that touch, such as a chamfer, comes last.
    """
    found = -gap
    if mode == 1:
        d = sub(x, one)
        d = sub(d, scale(n, dot(n, d)))
        found = sqrt(dot(d, d)) - price * maximum(gap, 0)
    if mode == 2:
        found = absolute(beyond(x, n, one, two, two)) - price * maximum(gap, 0)
    if mode == 3:
        found = maximum(beyond(x, n, one, two, three), beyond(x, n, two, three, one))
        found = maximum(found, beyond(x, n, three, one, two)) - price * maximum(gap, 0)
    return found


def carries(gap, carried):
    """Return whether a point carried in the last step, and still touches."""
    return carried > 0 and gap < TOUCHING


def lowest_carrying(c, first, end):
    """Return the least gap of the points that carry, not more than 0; -FAR if none carries."""
    found = c.gap[first] * 0 + FAR
    for j in range(first, end):
        if c.active[j] > 0 and carries(c.gap[j], c.carried[j]):
            found = minimum(found, c.gap[j])
    return select(found < FAR, minimum(found, 0), -found)


def rank(gap, carried, lowest):
    """Return 4 for a point that overlaps deeply, 3 if it carries, 2 if it overlaps, 1 if it touches, else 0.

    lowest: gap from which overlaps count (`lowest_carrying`). The point of an edge that moves over another has another
    place than in the last step, and then counts as one that carried nothing.
    """
    found = select(gap < lowest + TOUCHING, gap * 0 + 1, gap * 0)
    found = select(gap < lowest - OVERLAP, gap * 0 + 2, found)
    found = select(carries(gap, carried), gap * 0 + 3, found)
    return select(gap < lowest - DEEP, gap * 0 + 4, found)


def choose(c, first, end, price, rigid):
    """Choose in turn, among the active candidates from `first` on, before `end`, those of highest rank and worth.

    Those chosen have 2 in c.active. rigid: whether candidates are ranked.
    """
    n, one = vector_of(c.normal, first), vector_of(c.point, first)
    two, three, lowest = one, one, lowest_carrying(c, first, end)
    for mode in range(PER_PAIR):
        zero = c.gap[first] * 0
        best, highest, size = zero, zero, zero - FAR
        for j in range(first, end):
            here, order = worth(mode, price, c.gap[j], vector_of(c.point, j), n, one, two, three), zero
            if rigid:
                order = select(c.active[j] < 2, rank(c.gap[j], c.carried[j], lowest), 0)
            if c.active[j] > 0 and (order > highest or (order == highest and here > size)):
                best, highest, size = zero + j, order, here
        for j in range(first, end):
            if c.active[j] > 0 and best == j:
                c.active[j] = 2.0
                if mode == 0:
                    n, one = vector_of(c.normal, j), vector_of(c.point, j)
                if mode == 1:
                    two = vector_of(c.point, j)
                if mode == 2:
                    three = vector_of(c.point, j)
