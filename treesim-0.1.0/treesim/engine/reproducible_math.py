"""Elementary functions of NumPy arrays with the same bits on every processor and with every C library.

They use + - * /, square roots and powers of two only, whose rounding IEEE 754 defines. NumPy's own functions use
the processor's instructions, and differ in the last digit. Errors are below two units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .exponentials import LEAST, LN_2_HIGH, LN_2_LOW, LOG2_E, MOST
from .trigonometry import LARGEST, PI_2_HIGH, PI_2_LOW, PI_2_MIDDLE, TWO_OVER_PI, arctangent, sincos_near_zero

SQRT_HALF = 0.7071067811865476
LOG_TERMS, EXP_TERMS = 11, 13  # truncation errors are below 1e-17: (0.1716^2)^11 / 23, (ln(2) / 2)^14 / 14!


def sine(x: Any) -> Any:
    """Return sin x; beyond the largest angle of `trigonometry`, NumPy's.

    Examples
    --------
    >>> sine(np.array([0.0, 0.5])).round(4)
    array([0.    , 0.4794])
    """
    return np.where(np.abs(x) <= LARGEST, _turned(x, 0), np.sin(x))[()]


def cosine(x: Any) -> Any:
    """Return cos x; beyond the largest angle of `trigonometry`, NumPy's.

    Examples
    --------
    >>> cosine(np.array([0.0, 0.5])).round(4)
    array([1.    , 0.8776])
    """
    return np.where(np.abs(x) <= LARGEST, _turned(x, 1), np.cos(x))[()]


def _turned(x: Any, quarters: int) -> Any:
    """Return the sine of x plus a number of quarter turns."""
    near = np.where(np.abs(x) <= LARGEST, x, 0.0)
    turns = np.rint(near * TWO_OVER_PI)  # without NaN, which NumPy has handled
    r = ((near - turns * PI_2_HIGH) - turns * PI_2_MIDDLE) - turns * PI_2_LOW
    s, c = sincos_near_zero(r)  # type: ignore[no-untyped-call]
    quadrant = turns.astype(np.int64) + quarters
    one = np.where(quadrant & 1, c, s)
    return np.where(quadrant & 2, -one, one)


def angle(y: Any, x: Any) -> Any:
    """Return the angle of the points (x, y); see `trigonometry.arctangent`. About 3 us each.

    Examples
    --------
    >>> angle(np.array([0.0, 1.0]), np.array([1.0, 1.0])).round(4)
    array([0.    , 0.7854])
    """
    return _angles(y, x)[()]


_angles = np.vectorize(arctangent, otypes=[float])


def exponential(x: Any) -> Any:
    """Return e^x: 2^n e^r for x = n ln 2 + r, e^r by its Taylor series.

    Examples
    --------
    >>> exponential(np.array([0.0, 1.0])).round(4)
    array([1.    , 2.7183])
    """
    x = np.clip(x, LEAST, MOST)
    n = np.rint(x * LOG2_E)
    r = (x - n * LN_2_HIGH) - n * LN_2_LOW
    series = polynomial([1 / math.factorial(k) for k in range(EXP_TERMS + 1)], r)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # n is arbitrary for NaN
        return np.ldexp(series, n.astype(np.int32))


def logarithm(x: np.ndarray) -> np.ndarray:
    """Return the natural logarithm of positive numbers: ln x = e ln 2 + 2 artanh s.

    Examples
    --------
    >>> logarithm(np.array([1.0, 2.0])).round(4)
    array([0.    , 0.6931])
    """
    mantissa, exponent = np.frexp(x)
    low = mantissa < SQRT_HALF
    mantissa, exponent = np.where(low, 2 * mantissa, mantissa), exponent - low
    s = (mantissa - 1) / (mantissa + 1)
    series = polynomial([1 / (2 * k + 1) for k in range(LOG_TERMS)], s * s)
    result: np.ndarray = exponent * LN_2_HIGH + (exponent * LN_2_LOW + 2 * s * series)
    return result


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """Evaluate a polynomial by Horner's rule; constant term first.

    Examples
    --------
    >>> polynomial([1.0, 2.0], np.array([3.0]))
    array([7.])
    """
    value = np.full_like(x, coefficients[-1], dtype=float)
    for c in reversed(coefficients[:-1]):
        value = value * x + c
    return value
