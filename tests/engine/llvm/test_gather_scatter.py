"""States in lanes: gathered from any number of numbers of a state, and scattered back, for every width of vectors."""

import ctypes

import numpy as np
import pytest

from tests.engine.llvm.test_builder import aligned, compiled, function
from treesim.engine.llvm.gather_scatter import gather_and_scatter
from treesim.engine.llvm.lanes import Lanes
from treesim.engine.llvm.values import I64, PTR

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("lanes", [Lanes(False, 2), Lanes(False, 8), Lanes(True, 4), Lanes(True, 8), Lanes(True, 16)])
def test_any_number_of_numbers_of_any_number_of_states(lanes):
    module, f = function(f"{PTR} x, {PTR} y, {PTR} memory, {I64} size, {I64} last", lanes=lanes)
    x, y, memory, size, last = f.arguments
    moves = gather_and_scatter(module)
    f.call(moves.gather, x, size, 1, size, 0, last, memory)
    f.call(moves.scatter, y, size, 1, size, 0, last, memory)
    f.ret(size)
    call = compiled(module, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int64)
    number, width = np.float32 if lanes.single else np.float64, lanes.width
    for size in range(1, 2 * width + 4):
        for count in {1, width - 1, width}:
            x, y = (
                np.random.default_rng(size).normal(size=(count, size)).astype(number),
                np.zeros((count, size), number),
            )
            memory = aligned(np.zeros(size * width), number)
            call(x.ctypes.data, y.ctypes.data, memory.ctypes.data, size, count)
            found = memory.reshape(size, width)
            np.testing.assert_array_equal(found[:, :count], x.T)
            np.testing.assert_array_equal(found[:, count:], np.repeat(x[-1:].T, width - count, axis=1))
            np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("lanes", [Lanes(False, 1), Lanes(False, 2), Lanes(False, 8), Lanes(True, 16)])
@pytest.mark.parametrize("layout", ["rows", "columns", "apart"])
def test_scatter_finds_numbers_that_are_not_finite(lanes, layout):
    module, f = function(f"{PTR} y, {PTR} memory, {I64} size, {I64} element, {I64} state, {I64} last", lanes=lanes)
    y, memory, size, element, state, last = f.arguments
    f.ret(f.call(gather_and_scatter(module).scatter, y, size, element, state, 0, last, memory))
    call = compiled(module, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4)
    number, width = np.float32 if lanes.single else np.float64, lanes.width
    rng = np.random.default_rng(0)
    for size in (1, 3, width, 2 * width + 1):
        element, state = {"rows": (1, size), "columns": (width, 1), "apart": (2, 2 * size)}[layout]
        for wrong in (None, np.nan, np.inf, -np.inf):
            x = rng.normal(size=(size, width)).astype(number)
            k, lane = rng.integers(size), rng.integers(width)
            if wrong is not None:
                x[k, lane] = wrong
            y = np.zeros(2 * size * width, number)
            assert call(y.ctypes.data, aligned(x.ravel(), number).ctypes.data, size, element, state, width) == (
                wrong is not None
            )
            assert np.array_equal(y[np.arange(size)[:, None] * element + np.arange(width) * state], x, equal_nan=True)
