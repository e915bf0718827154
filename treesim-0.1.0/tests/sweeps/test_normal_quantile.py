"""Quantiles of the normal distribution, compared with 30 digits."""

import mpmath
import numpy as np
import pytest

from tests.engine.test_reproducible_math import relative_errors
from treesim.sweeps.normal_quantile import normal_quantile


def test_normal_quantiles_are_right_to_what_their_source_says():
    def quantile(p):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)

    points = [1e-15, 1e-6, 0.02, 0.0749, 0.0751, 0.3, 0.6, 0.9249, 0.9251, 1 - 1e-9]
    assert max(relative_errors(normal_quantile, quantile, points)) < 1e-14  # Wichura: 1e-16, and what rounding adds
    assert normal_quantile(np.array([0.5])) == 0


@pytest.mark.parametrize("p", [0.5 * 2.0**-52, 1 - 0.5 * 2.0**-52])
def test_the_outermost_uniform_numbers_have_finite_quantiles(p):
    assert np.isfinite(normal_quantile(np.array([p]))).all()
