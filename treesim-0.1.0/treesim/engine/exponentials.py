"""Exponential function and hyperbolic tangent on numbers of any type, as computed by the generic engine.

e^x = 2^n e^r for x = n ln 2 + r with |r| <= ln 2 / 2 (the reduction is Cody and Waite's), e^r by its Taylor series.
"""

from __future__ import annotations

import math
from typing import Any

from ..kernels.algebra.numbers import absolute, exp, less, power_of_two, select
from .trigonometry import ROUND

LN_2_HIGH, LN_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
LEAST, MOST = -746.0, 710.0  # beyond, the exponential function is 0 or infinity
LOG2_E = math.log2(math.e)
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(k) for k in range(2, 14))

# tanh x = x + x z P(z) / Q(z) with z = x^2 for |x| < NEAR, a rational minimax approximation (Cephes')
NEAR = 0.625
P0, P1, P2 = -1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1
Q0, Q1, Q2 = 4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2


def exponential(x: Any) -> Any:
    """Exponential function, to two units in the last place; 0 or infinity beyond the range of numbers."""
    near = select(less(x, MOST), select(less(LEAST, x), x, LEAST), MOST)
    n = (near * LOG2_E + ROUND) - ROUND
    r = (near - n * LN_2_HIGH) - n * LN_2_LOW
    high = E8 + r * (E9 + r * (E10 + r * (E11 + r * (E12 + r * E13))))
    series = 1.0 + r * (1.0 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * (E6 + r * (E7 + r * high)))))))
    half = (n * 0.5 + ROUND) - ROUND
    return select(x != x, x, series * power_of_two(half) * power_of_two(n - half))


def hyperbolic_tangent(x: Any) -> Any:
    """Hyperbolic tangent, to three units in the last place."""
    size, z = absolute(x), x * x
    near, e = less(size, NEAR), exp(-2.0 * size)
    above = select(near, z * (P0 + z * (P1 + z * P2)), 1.0 - e)
    ratio = above / select(near, Q0 + z * (Q1 + z * (Q2 + z)), 1.0 + e)
    return select(near, x + x * ratio, select(less(x, 0.0), -ratio, ratio))
