"""Several states side by side: kernels whose real numbers are those of eight states at once, one in each lane.

The compiler makes vector instructions of them (`engine.frontend.masks`); in plain Python there are none.
"""

from __future__ import annotations


class OnLanes:
    """The dtype of arrays whose elements are the numbers of several states."""


def gathered(x, k, size, first, last):
    """Number k of the states first, first + 1, ... of an array with `size` numbers for each; states behind the last are
    the last one again."""
    raise NotImplementedError


def scattered(x, k, size, first, last, value):
    """Write number k of the states first, first + 1, ..., each once or, of the last, several times."""
    raise NotImplementedError
