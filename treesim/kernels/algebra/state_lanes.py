"""Numbers of several states at once, one in each SIMD lane, as elements of arrays.

The compiler translates operations on them to vector instructions (`engine.frontend.masks`); plain Python has none.
"""


class OnLanes:
    """Dtype of arrays whose elements are the numbers of several states."""


def lane_count():
    """Return the number of lanes, which depends on the processor."""
    raise NotImplementedError


def gathered(x, k, size, states):
    """Load number k of the states with the indices `states`, one per lane, from an array with `size` numbers each."""
    raise NotImplementedError


def scattered(x, k, size, states, value):
    """Store number k of the states with the indices `states`; lanes of equal states must store equal values."""
    raise NotImplementedError
