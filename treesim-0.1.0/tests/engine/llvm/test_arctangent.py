"""Angles of points, on lanes and as plain Python, against exact digits."""

import math

import numpy as np
import pytest
from mpmath import atan2, mpf, workdps

from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.trigonometry import FAR, arctangent
from treesim.kernels.algebra import numbers

RNG = np.random.default_rng(3)
ANGLES = np.concatenate([RNG.uniform(-math.pi, math.pi, 400), [math.atan(FAR), math.pi / 4, 1e-8, 3.0, -2e-12, 1e-300]])
SIZES = 10.0 ** RNG.uniform(-30, 30, len(ANGLES))
POINTS = np.column_stack([SIZES * np.sin(ANGLES), SIZES * np.cos(ANGLES)])
ON_AXES = np.array([[0, 1], [1, 0], [0, -1], [-1, 0], [0, 0], [1, 1], [-1, -1], [1, -1]], float)


def exact(y, x):
    with workdps(40):
        return atan2(mpf(float(y)), mpf(float(x)))


def units(found, y, x, number=np.float64):
    """The error in units of the last place."""
    with workdps(40):
        wanted = exact(y, x)
        return abs(mpf(float(found)) - wanted) / float(np.spacing(number(abs(wanted))))


def angle(x, y):
    """An entry: of each point the angle."""
    for k in range(y.size):
        y[k] = numbers.atan2(x[2 * k], x[2 * k + 1])
    return 0


def test_the_text_is_accurate_in_python():
    assert max(units(arctangent(y, x), y, x) for y, x in POINTS.tolist()) < 2
    np.testing.assert_allclose([arctangent(*p) for p in ON_AXES.tolist()], np.arctan2(*ON_AXES.T), rtol=1e-15)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize(("number", "most"), [(np.float64, 2), (np.float32, 3)])
def test_lanes_are_accurate(number, most):
    points = np.concatenate([POINTS, ON_AXES]).astype(number)
    y = np.empty((len(points), 1), number)
    specialized.batch_code(angle, (), [2], [1], number == np.float32).run([points, y], len(points))
    found = zip(y[: len(POINTS), 0], points[: len(POINTS)].tolist(), strict=True)
    assert max(units(value, *point, number) for value, point in found) < most
    np.testing.assert_allclose(y[len(POINTS) :, 0], np.arctan2(*ON_AXES.T), rtol=2 * np.finfo(number).eps)
