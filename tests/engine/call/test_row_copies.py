"""Copies of rows: those of NumPy."""

import numpy as np
import pytest

from treesim.engine.call.generic import runs_compiled
from treesim.engine.call.row_copies import TO_PART, TO_WHOLE, bound_copies

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="plain Python reads no addresses")


@pytest.mark.parametrize("count", [1, 3, 5])
def test_rows_of_many_arrays(count):
    random, size = np.random.default_rng(count), 5
    wholes = [random.normal(size=(9, *shape)) for shape in ((), (1,), (4,), (2, 3), (0,))]
    parts = [np.full((size, *x.shape[1:]), np.nan) for x in wholes]
    rows = np.full(9, -1, np.int64)
    pairs = list(zip(parts, wholes, strict=True))
    take, put = (bound_copies(pairs, rows, direction) for direction in (TO_PART, TO_WHOLE))
    rows[:count] = random.permutation(9)[:count]
    take(count)
    index = rows[[*range(count), *[count - 1] * (size - count)]]
    for part, whole in pairs:
        np.testing.assert_array_equal(part, whole[index])
        part += 1
    expected = [x.copy() for x in wholes]
    for x in expected:
        x[rows[:count]] += 1
    put(count)
    for whole, x in zip(wholes, expected, strict=True):
        np.testing.assert_array_equal(whole, x)


@pytest.mark.parametrize("wrong", [np.zeros((5, 2), np.float32), np.zeros((2, 5)).T])
def test_other_arrays_are_refused(wrong):
    with pytest.raises(TypeError, match="contiguous arrays of float64"):
        bound_copies([(np.zeros((5, 2)), wrong)], np.zeros(5, np.int64), TO_PART)
