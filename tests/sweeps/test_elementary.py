"""Elementary functions of sums, products and square roots, beside 30 digits."""

import mpmath
import numpy as np
import pytest

from treesim.sweeps.elementary import exponential, logarithm, normal_quantile

UNIT = 2.0**-53


def relative_errors(function, exact, points):
    found = function(np.array(points))
    with mpmath.workdps(30):
        return [
            float(abs(mpmath.mpf(float(y)) / exact(mpmath.mpf(float(x))) - 1))
            for x, y in zip(points, found, strict=True)
        ]


def test_logarithms_are_right_to_a_rounding_or_two():
    points = [1e-300, 2.0**-52, 0.3, np.nextafter(1, 0), np.nextafter(1, 2), 1.4, 1.42, 17.0, 1e300]
    assert max(relative_errors(logarithm, mpmath.log, points)) < 4 * UNIT
    assert logarithm(np.array([1.0])) == 0


def test_exponentials_are_right_to_a_rounding_or_two():
    assert max(relative_errors(exponential, mpmath.exp, [-690.0, -1.0, -1e-9, 0.3466, 1.0, 50.5, 700.0])) < 5 * UNIT


def test_normal_quantiles_are_right_to_what_their_source_says():
    def quantile(p):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)

    points = [1e-15, 1e-6, 0.02, 0.0749, 0.0751, 0.3, 0.6, 0.9249, 0.9251, 1 - 1e-9]
    assert max(relative_errors(normal_quantile, quantile, points)) < 1e-14  # Wichura: 1e-16, and what rounding adds
    assert normal_quantile(np.array([0.5])) == 0


@pytest.mark.parametrize("p", [0.5 * 2.0**-52, 1 - 0.5 * 2.0**-52])
def test_the_outermost_uniform_numbers_have_finite_quantiles(p):
    assert np.isfinite(normal_quantile(np.array([p]))).all()
