"""Sine, cosine and the exponential of all engines, against exact digits and the C library's, from 0 to where numbers
end."""

import math

import numpy as np
import pytest
from mpmath import cos, mpf, sin, workdps

from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm.elementary import SINGLE
from treesim.engine.trigonometry import LARGEST, sincos
from treesim.kernels.algebra import numbers
from treesim.kernels.entries.status import FINE, NOT_FINITE

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
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
    code = specialized.batch_code(elementary, (), [1], [3], number == np.float32)
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


def of_a_sum(x, y):
    """An entry: sine, cosine and exponential of a number that is no input, which single states take one at a time."""
    for k in range(x.size // 2):
        y[3 * k], y[3 * k + 1] = numbers.sincos(x[2 * k] + x[2 * k + 1])
        y[3 * k + 2] = numbers.exp(x[2 * k])
    return 0


def one_by_one(call, values, number, inputs=1):
    x, y = np.zeros((len(values), inputs), number), np.empty((len(values), 3), number)
    x[:, 0] = values
    for given, found in zip(x, y, strict=True):
        assert call(given, found) == (FINE if np.isfinite(found).all() else NOT_FINITE)
    return x[:, 0].astype(float), y


def by_single_states(entry, inputs, values, number):
    call = specialized.single_code(entry, (), [(inputs,)], [(3,)], number)
    return one_by_one(call, values, number, inputs)


FORMS = {
    "lanes": on_lanes,
    "single states": lambda x, number: by_single_states(elementary, 1, x, number),
    "single states, one at a time": lambda x, number: by_single_states(of_a_sum, 2, x, number),
    "generic": lambda x, number: (x, np.array([sincos(float(angle)) for angle in x])),
}
CASES = [
    (form, number) for form in FORMS for number in (np.float64, np.float32) if (form, number) != ("generic", np.float32)
]


def exact_errors(x, y):
    """Errors of sine and cosine against 60 digits: in units of the last place below 1, and of each result's own."""
    unit, own = np.finfo(y.dtype).eps / 2, []
    absolute = []
    with workdps(60):
        for angle, pair in zip(x.tolist(), y[:, :2], strict=True):
            for found, function in zip(pair, (sin, cos), strict=True):
                true = function(mpf(angle))
                error = float(abs(mpf(float(found)) - true))
                absolute.append(error / unit)
                own.append(error / float(np.spacing(y.dtype.type(abs(float(true))))))
    return np.array(absolute), np.array(own)


@pytest.mark.parametrize("form, number", CASES)
def test_errors_of_sine_and_cosine_against_exact_digits(form, number):
    """What docs/engines.md states: 1.5 units of the last place below 1 in the range, one beyond it."""
    rng = np.random.default_rng(2)
    largest = LARGEST if number == np.float64 else SINGLE.largest
    inside = np.concatenate([rng.uniform(-reach, reach, 400) for reach in (1.0, 4.0, 100.0, largest)] + [[largest]])
    absolute, own = exact_errors(*FORMS[form](inside, number))
    assert absolute.max() <= 1.5 and own.max() <= 2.5
    turns = np.unique(rng.integers(0, int(largest / math.pi * 2), 400))
    absolute, own = exact_errors(*FORMS[form](turns * (math.pi / 2), number))  # one of the two is next to 0
    assert absolute.max() <= 1.5
    assert own.max() <= 2.5 or number == np.float32
    beyond = np.concatenate([largest * rng.uniform(1.0001, 3, 200), -(10 ** rng.uniform(6, 38, 200))])
    absolute, own = exact_errors(*FORMS[form](beyond, number))
    assert absolute.max() <= 1.0 and own.max() <= 1.0


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


@pytest.mark.parametrize("form", ["lanes", "single states"])
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_exponentials(form, number):
    limit = np.log(float(np.finfo(number).max))
    rng = np.random.default_rng(1)
    inside = np.concatenate([[0.0, 1.0, -1.0, 1e-20], rng.uniform(-0.99 * limit, 0.999 * limit, 500)])
    x, y = FORMS[form](inside, number)
    assert (np.abs(y[:, 2] / np.exp(x) - 1) < 3 * np.finfo(number).eps).all() and y[0, 2] == 1.0
    x, y = FORMS[form]([1.01 * limit, 1e4, 1e30, -1.2 * limit, -1e4, -1e30, -1.02 * limit], number)
    with np.errstate(over="ignore"):
        expected = np.exp(x).astype(number)
    assert np.array_equal(y[:6, 2], expected[:6])
    assert y[6, 2] == pytest.approx(float(expected[6]), rel=1e-2)  # of the numbers below the normal ones
