"""Numbers in compiled kernels are Python's."""

from __future__ import annotations

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.errors import UnsupportedError
from treesim.kernels.algebra.numbers import absolute, atan2, cos, exp, less, maximum, minimum, sin, sincos, sqrt, tanh
from treesim.kernels.entries.annotations import Integers, Reals, TableOfIntegers, TableOfReals
from treesim.kernels.entries.status import FINE

from .support import agree, compiled_only, integers, no_disk, pairs  # noqa: F401

pytestmark = compiled_only
SOME = np.array([-7, -3, -2, -1, 1, 2, 3, 5, 12])


def of_integers(a: TableOfIntegers, b: TableOfIntegers, out: Integers) -> int:
    for k in range(a.size):
        x, y, n = a[k], b[k], 12 * k
        out[n], out[n + 1], out[n + 2] = x + y, x - y, x * y
        out[n + 3], out[n + 4], out[n + 5] = x // y, x % y, -x
        out[n + 6], out[n + 7], out[n + 8] = x & y, x | y, x ^ y
        out[n + 9], out[n + 10], out[n + 11] = max(x, y, 0), min(x, y), x**3
    return FINE


def test_whole_numbers():
    """Quotients and remainders go towards minus infinity."""
    a, b = pairs(SOME)
    agree(of_integers, a, b, np.zeros(12 * a.size, np.int64))


def shifts(a: TableOfIntegers, out: Integers) -> int:
    for k in range(a.size):
        out[2 * k], out[2 * k + 1] = 1 << a[k], -100 >> a[k]
    return FINE


def test_shifts():
    agree(shifts, integers(0, 1, 2, 40), np.zeros(8, np.int64))


def of_reals(a: TableOfReals, b: TableOfReals, out: Reals) -> int:
    for k in range(a.size):
        x, y, n = a[k], b[k], 10 * k
        out[n], out[n + 1], out[n + 2], out[n + 3] = x + y, x - y, x * y, x / y
        out[n + 4], out[n + 5], out[n + 6], out[n + 7] = -x, x**2, max(x, y), min(x, y)
        out[n + 8], out[n + 9] = 1 / 3 + x, abs(x)
    return FINE


def test_real_numbers():
    a, b = pairs(SOME * 0.37)
    agree(of_reals, a, b, np.zeros(10 * a.size), exact=False)


def mixed(a: TableOfIntegers, x: TableOfReals, out: Reals) -> int:
    out[0], out[1], out[2] = a[0] / a[1], a[0] * x[0], x[0] - a[1]
    out[3], out[4], out[5] = max(a[0], x[0]), int(x[0]), int(-x[0])
    out[6], out[7] = (x[0] > 1) + 1, (a[0] == 3) * x[0]
    return FINE


def test_whole_and_real_numbers_together():
    agree(mixed, integers(3, 4), np.array([2.75]), np.zeros(8), exact=False)


def elementary(a: TableOfReals, b: TableOfReals, out: Reals) -> int:
    for k in range(a.size):
        x, y, n = a[k], b[k], 12 * k
        out[n], out[n + 1], (out[n + 2], out[n + 3]) = sin(x), cos(x), sincos(x)
        out[n + 4], out[n + 5], out[n + 6], out[n + 7] = sqrt(x * x), exp(-x), tanh(x), atan2(x, y)
        out[n + 8], out[n + 9], out[n + 10], out[n + 11] = maximum(x, y), minimum(x, y), absolute(x), less(x, y)
    return FINE


def test_elementary_functions():
    a, b = pairs(SOME * 0.37)
    agree(elementary, a, b, np.zeros(12 * a.size), exact=False)


def comparisons(a: TableOfReals, b: TableOfReals, out: Integers) -> int:
    for k in range(a.size):
        x, y, n = a[k], b[k], 8 * k
        out[n], out[n + 1], out[n + 2], out[n + 3] = x < y, x <= y, x > y, x >= y
        out[n + 4], out[n + 5] = x == y, x != y
        out[n + 6], out[n + 7] = not x < y, -2 <= x < y <= 2
    return FINE


def test_comparisons():
    a, b = pairs(SOME * 1.0)
    agree(comparisons, a, b, np.zeros(8 * a.size, np.int64))


def choices(a: TableOfIntegers, out: Integers) -> int:
    for k in range(a.size):
        x, n = a[k], 6 * k
        out[n] = 1 if x in (1, 3, 5) else 2
        out[n + 1] = x not in (1, 2)
        out[n + 2] = 10 if x > 2 and x != 5 else 20 if x < 0 or x == 2 else 30
        out[n + 3] = (x > 0) & (x < 4) | (x == -7)
        out[n + 4] = 1 if x else 0
        out[n + 5] = k > 0 and a[k - 1] > x  # a[-1] is not looked at, which would be true
    return FINE


def test_choices():
    agree(choices, SOME, np.zeros(6 * SOME.size, np.int64))


def guarded(a: TableOfIntegers, out: Integers) -> int:
    for k in range(a.size):
        out[k] = 100 // a[k] if a[k] != 0 else 7
        if a[k] == 0 or 10 // a[k] > 3:
            out[k] += 1000
    return FINE


def test_what_is_guarded_is_not_computed():
    agree(guarded, integers(0, 1, 5, 0, -1), np.zeros(5, np.int64))


def divides_by_what_comes(a: TableOfIntegers, out: Integers) -> int:
    out[0], out[1] = 7 // a[0], 7 % a[0]
    return FINE


def test_a_division_by_zero_does_not_end_the_process():
    generic.compiled(divides_by_what_comes)(integers(0), np.zeros(2, np.int64))


def remainder_of_a_real(x: TableOfReals, out: Reals) -> int:
    out[0] = x[0] % 2.0
    return FINE


def power_of_a_real(x: TableOfReals, out: Reals) -> int:
    out[0] = x[0] ** x[1]
    return FINE


def sum_of_a_tuple(x: TableOfReals, out: Reals) -> int:
    out[0] = (x[0], x[1]) + 1
    return FINE


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (remainder_of_a_real, "there is no Mod of real numbers"),
        (power_of_a_real, "powers must be whole numbers from 1 to 16"),
        (sum_of_a_tuple, "a tuple of 2 stands where a number is wanted"),
    ],
)
def test_what_there_is_not_is_told_with_its_line(kernel, reason):
    line = kernel.__code__.co_firstlineno + 1
    with pytest.raises(UnsupportedError, match=rf"test_arithmetic.py:{line}: in kernel '{kernel.__name__}': {reason}"):
        generic.compiled(kernel)
