"""Numbers of several states at once, one in each SIMD lane, as elements of arrays.

The compiler translates operations on them to vector instructions (`engine.frontend.masks`); plain Python has none.
"""

from __future__ import annotations


class OnLanes:
    """Dtype of arrays whose elements are the numbers of several states."""


def lane_count():
    """Return the number of lanes, which depends on the processor."""
    raise NotImplementedError


def gathered(x, k, size, first, last):
    """Load number k of the states first, first + 1, ... up to `last`, from an array with `size` numbers per state.

    Lanes after the last state repeat it.
    """
    raise NotImplementedError


def scattered(x, k, size, first, last, value):
    """Store number k of the states first, first + 1, ... up to `last`; lanes after the last state write it again."""
    raise NotImplementedError
