"""Elementary functions of arrays: within two units of the last place of what 40 digits give."""

import mpmath
import numpy as np
import pytest

from treesim.engine import reproducible_math

pytestmark = pytest.mark.nojit
X = np.concatenate([np.random.default_rng(0).uniform(-30, 30, 300), [0.0, 1e-9, 4e5, -4e5, 700.0, -700.0]])


@pytest.mark.parametrize("own, exact", [
    (reproducible_math.sine, mpmath.sin),
    (reproducible_math.cosine, mpmath.cos),
    (reproducible_math.exponential, mpmath.exp),
])  # fmt: skip
def test_as_exact_digits(own, exact):
    x = X[np.abs(X) <= 700] if exact is mpmath.exp else X
    with mpmath.workdps(40):
        expected = np.array([float(exact(mpmath.mpf(k))) for k in x])
    scale = np.maximum(np.abs(expected), 1.0) if exact is not mpmath.exp else expected
    assert (np.abs(own(x) - expected) / scale).max() <= 2 * np.finfo(float).eps
    assert own(float(x[0])) == own(x)[0]


def test_beyond_the_range_of_numbers():
    np.testing.assert_array_equal(reproducible_math.exponential(np.array([-1e4, 1e4])), [0.0, np.inf])
    np.testing.assert_array_equal(reproducible_math.sine(np.array([1e9])), np.sin(1e9))


def test_angles_broadcast():
    y, x = np.array([[1.0], [-2.0]]), np.array([3.0, -4.0, 0.5])
    np.testing.assert_allclose(reproducible_math.angle(y, x), np.arctan2(y, x), rtol=4e-16)
    assert reproducible_math.angle(0.0, -1.0) == np.pi
