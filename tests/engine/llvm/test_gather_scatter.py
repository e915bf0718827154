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
