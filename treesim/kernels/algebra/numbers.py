"""Elementary functions on any number type.

A number type provides its functions in an attribute `context`, as mpmath's numbers do; floats use `math`. The
generic engine replaces these functions by those of `math` when it compiles.
"""

from __future__ import annotations

import math
from typing import Any

WORD = 1 << 64  # numbers that a word of 64 bits stores


def _library(x: Any) -> Any:
    return getattr(x, "context", math)


def in_vectors():
    """Return whether loops over contiguous numbers are vectorized: True in code compiled by the generic engine."""
    return False


def vectorized(steps):
    """Return the range of a loop whose steps may be done at once: none reads what another writes.

    The generic engine lets LLVM vectorize the loop without tests of which arrays overlap.
    """
    return steps


def one_block(kernel):
    """Decorate a kernel whose loops looped code does not divide at their iterations (`engine.graph.blocks`).

    Calls with the same operations share one function, in which numbers are passed in registers.
    """
    kernel.is_one_block = True
    return kernel


def is_one_block(kernel):
    """Return whether a kernel is decorated by `one_block`."""
    return getattr(kernel, "is_one_block", False)


def sin(x):
    """Return the sine of an angle [rad]."""
    return _library(x).sin(x)


def cos(x):
    """Return the cosine of an angle [rad]."""
    return _library(x).cos(x)


def sincos(x):
    """Sine and cosine."""
    return sin(x), cos(x)


def put_sincos(x, sine, cosine):
    """Write sine and cosine of all numbers of an array."""
    for k in range(x.size):
        sine[k], cosine[k] = sincos(x[k])


def sqrt(x):
    """Return the square root of a number."""
    return _library(x).sqrt(x)


def exp(x):
    """Return the exponential function of a number."""
    return _library(x).exp(x)


def tanh(x):
    """Return the hyperbolic tangent of a number."""
    return _library(x).tanh(x)


def atan2(y, x):
    """Return the angle of the point (x, y) in polar coordinates [rad]."""
    return _library_of_either(y, x).atan2(y, x)


def power_of_two(n):
    """Return 2^n for a whole number n that is stored as a float, -1022 <= n <= 1023."""
    return math.ldexp(1.0, int(n))


def _library_of_either(x: Any, y: Any) -> Any:
    return getattr(x, "context", _library(y))


def wide_product(x, y):
    """Return the high and the low word of the product of two unsigned words of 64 bits, stored as signed integers."""
    product = (int(x) % WORD) * (int(y) % WORD)
    return _signed(product // WORD), _signed(product % WORD)


def wrapped_sum(x, y):
    """Return the sum of two words of 64 bits without its carry."""
    return _signed((int(x) + int(y)) % WORD)


def _signed(word):
    return word - WORD if word >= WORD // 2 else word


def maximum(x, y):
    """Return the larger of two numbers."""
    library = _library_of_either(x, y)
    return library.maximum(x, y) if hasattr(library, "maximum") else max(x, y)


def minimum(x, y):
    """Return the smaller of two numbers."""
    library = _library_of_either(x, y)
    return library.minimum(x, y) if hasattr(library, "minimum") else min(x, y)


def absolute(x):
    """Return the absolute value of a number."""
    return maximum(x, -x)


def select(condition, x, y):
    """Return x if the condition is not zero, else y; both are computed, without a branch."""
    library = getattr(condition, "context", _library_of_either(x, y))
    if hasattr(library, "select"):
        return library.select(condition, x, y)
    return x if condition else y


def some(condition):
    """Return whether a condition holds, on any active SIMD lane if there are several states (`state_lanes`)."""
    return bool(condition)


def less(x, y):
    """Return 1 if x < y, else 0, without a branch."""
    library = _library_of_either(x, y)
    if hasattr(library, "less"):
        return library.less(x, y)
    return 1 if x < y else 0
