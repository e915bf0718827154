"""Elementary functions of arrays: within two units of the last place of what 40 digits give."""

import mpmath
import numpy as np
import pytest

from treesim.engine import reproducible_math

UNIT = 2.0**-53
pytestmark = pytest.mark.nojit
X = np.concatenate([np.random.default_rng(0).uniform(-30, 30, 300), [0.0, 1e-9, 4e5, -4e5, 700.0, -700.0]])


def relative_errors(function, exact, points):
    found = function(np.array(points))
    with mpmath.workdps(30):
        return [
            float(abs(mpmath.mpf(float(y)) / exact(mpmath.mpf(float(x))) - 1))
            for x, y in zip(points, found, strict=True)
        ]


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


def test_logarithms_are_right_to_a_rounding_or_two():
    points = [1e-300, 2.0**-52, 0.3, np.nextafter(1, 0), np.nextafter(1, 2), 1.4, 1.42, 17.0, 1e300]
    assert max(relative_errors(reproducible_math.logarithm, mpmath.log, points)) < 4 * UNIT
    assert reproducible_math.logarithm(np.array([1.0])) == 0


def test_exponentials_are_right_to_a_rounding_or_two():
    assert (
        max(relative_errors(reproducible_math.exponential, mpmath.exp, [-690.0, -1.0, -1e-9, 0.3466, 1.0, 50.5, 700.0]))
        < 5 * UNIT
    )
