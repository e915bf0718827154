"""Long straight-line code: values and constants that functions hand on, near and far."""

import re
from collections import Counter

import numpy as np
import pytest

from tests.engine.opcodes import of_chunks
from treesim.engine.call import specialized
from treesim.engine.call.generic import runs_compiled
from treesim.engine.graph.trace import trace
from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.chunks import CHUNK, MIDDLE, RECENT, chunk_functions
from treesim.engine.llvm.lanes import Lanes
from treesim.kernels.algebra.numbers import cos, sin
from treesim.kernels.entries.status import FINE

NUMBERS = 3 * CHUNK // 4  # operations twice as many: several functions
CONSTANTS = np.random.default_rng(0).uniform(0.5, 1.5, NUMBERS)
LATE = 3 * MIDDLE  # values that wait from the first function to the last


def long_entry(x, out):
    """Many early values that late results take, thousands of different constants, and results that are constants."""
    early = [x[0] * CONSTANTS[k] for k in range(LATE)]
    value = x[1]
    for k in range(NUMBERS):
        value = value * x[0] + CONSTANTS[k]
    for k in range(LATE):
        out[k] = early[k] - value * CONSTANTS[k]
    out[LATE], out[LATE + 1], out[LATE + 2] = 0.0, 2.5, x[1]
    return FINE


def expected(x):
    out = [None] * (LATE + 3)
    long_entry(x, out)
    return out


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("number", [np.float64, np.float32])
@pytest.mark.parametrize("by", ["lanes", "single states"])
def test_what_crosses_functions_arrives(number, by):
    single = number is np.float32
    x = np.random.default_rng(1).uniform(0.2, 0.7, (37, 2)).astype(number)
    found = np.empty((len(x), LATE + 3), number)
    if by == "lanes":
        assert specialized.batch_code(long_entry, (), [2], [LATE + 3], single).run([x, found], len(x)) == FINE
    else:
        call = specialized.single_code(long_entry, (), [(2,)], [(LATE + 3,)], number)
        assert all(call(one, out) == FINE for one, out in zip(x, found, strict=True))
    truth = np.array([expected(row) for row in x.astype(float)])
    np.testing.assert_allclose(found, truth, rtol=1e-5 if single else 1e-14, atol=1e-5 if single else 1e-14)


@pytest.mark.parametrize(("far", "loads"), [(RECENT, 2), (RECENT // 2, 1)])
def test_a_constant_is_loaded_again_where_its_last_use_is_far(far, loads):
    def entry(x, out):
        value = x[0] * 0.3
        for _ in range(RECENT // 2 - 2):
            value = value * x[0]
        near = value * 0.3
        for _ in range(far):
            near = near + x[0]
        out[0] = near * 0.3
        return FINE

    found = of_chunks(trace(entry, (), [1], [1]), Lanes(False, 8))
    assert (found["load"] - 1, found["shufflevector"]) == (loads, loads)  # one load is that of the input


def turning_entry(x, out):
    """Sines and cosines of angles that are not inputs: six at once, then one of each before it."""
    angles = [x[0] * (k + 1) for k in range(6)]
    for k in range(6):
        out[k] = sin(angles[k]) + 2 * cos(angles[k])
    for k in range(6, 9):
        out[k] = sin(out[k - 1])
    return FINE


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_angles_that_are_known_together_turn_in_one_call_with_the_same_bits(number):
    single = number is np.float32
    call = specialized.single_code(turning_entry, (), [(1,)], [(9,)], number)
    x, found, one = np.array([0.7], number), np.empty(9, number), np.empty((64, 9), number)
    assert call(x, found) == FINE
    specialized.batch_code(turning_entry, (), [1], [9], single).run([np.full((64, 1), x[0]), one], 64)
    assert np.array_equal(one[0], found)
    module = Module(Lanes(single, 4))
    chunk_functions(module, trace(turning_entry, (), [1], [9]), Lanes(single, 1))
    calls = Counter(re.findall(r"call .*@(sine_and_cosine\.\w+)", "\n".join(f.text() for f in module.functions)))
    kind = "f32" if single else "f64"
    assert calls == {f"sine_and_cosine.v4{kind}": 2, f"sine_and_cosine.{kind}": 3}
