"""Sine, cosine and the exponential on lanes, against the C library's, from 0 to where numbers end."""

import math

import numpy as np
import pytest

from treesim.engine import specialised
from treesim.kernels import numbers

pytestmark = pytest.mark.skipif(not specialised.usable(), reason="kernels run as plain Python, or LLVM is too old")
QUARTERS = [
    k * math.pi / 2 + d for k in (*range(9), 101, 10**4, 3 * 10**5) for d in (0.0, 1e-9, -1e-9, 0.3, math.pi / 4)
]
SIZES = [1e3, 1e5, 4.99e5, 5.01e5, 1e8, 1e15, 1e300]


def elementary(x, y):
    """An entry: of each x sine, cosine and exponential."""
    for k in range(x.size):
        y[3 * k], y[3 * k + 1] = numbers.sincos(x[k])
        y[3 * k + 2] = numbers.exp(x[k])
    return 0


def on_lanes(values, number):
    x = np.array(values, dtype=number)[:, None]
    y = np.empty((len(x), 3), number)
    code = specialised.batch_code(elementary, (), [1], [3], number == np.float32)
    code.run([x, y], len(x))
    return x[:, 0].astype(float), y


def angles(number):
    rng = np.random.default_rng(0)
    sizes = [s for s in SIZES if s < float(np.finfo(number).max)]
    spread = np.concatenate([rng.uniform(-s, s, 99) for s in (1.0, 100.0, *sizes)])
    ends = [0.0, -0.0, 1e-30, -1e-30, np.finfo(number).tiny, np.finfo(number).max]
    return np.concatenate([ends, QUARTERS, [-x for x in QUARTERS], sizes, spread])


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_sine_and_cosine_are_within_two_units_of_the_last_place_of_one(number):
    x, y = on_lanes(angles(number), number)
    assert np.abs(y[:, 0] - np.sin(x)).max() <= np.finfo(number).eps
    assert np.abs(y[:, 1] - np.cos(x)).max() <= np.finfo(number).eps


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_large_angle_does_not_change_its_neighbours(number):
    small = [0.3, -2.0, 1e-8, 0.0, 100.0]
    _, alone = on_lanes(small, number)
    _, beside = on_lanes([*small, float(np.finfo(number).max)], number)
    assert np.array_equal(beside[:-1], alone)


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_small_angles_keep_their_digits(number):
    x, y = on_lanes([1e-3, 1e-10, -1e-20, 3e-38], number)
    assert (np.abs(y[:, 0] / np.sin(x) - 1) < 2 * np.finfo(number).eps).all()


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_exponentials(number):
    limit = np.log(float(np.finfo(number).max))
    rng = np.random.default_rng(1)
    inside = np.concatenate([[0.0, 1.0, -1.0, 1e-20], rng.uniform(-0.99 * limit, 0.999 * limit, 500)])
    x, y = on_lanes(inside, number)
    assert (np.abs(y[:, 2] / np.exp(x) - 1) < 3 * np.finfo(number).eps).all() and y[0, 2] == 1.0
    x, y = on_lanes([1.01 * limit, 1e4, 1e30, -1.2 * limit, -1e4, -1e30, -1.02 * limit], number)
    with np.errstate(over="ignore"):
        expected = np.exp(x).astype(number)
    assert np.array_equal(y[:6, 2], expected[:6])
    assert y[6, 2] == pytest.approx(float(expected[6]), rel=1e-2)  # of the numbers below the normal ones
