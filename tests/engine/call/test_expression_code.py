"""Compiled expressions: NumPy's numbers to rounding, and for each state the same bits whatever the others are."""

import numpy as np

from treesim.engine.call.expression_code import columns_of
from treesim.engine.graph.expressions import Expression

W = np.random.default_rng(0).normal(size=(6, 40))


def network(t, x, nothing, y):
    hidden = np.tanh(W.T @ np.concatenate([x, y]) + t[0])
    return [*(W @ hidden), t[0] * x[0]]


LAYER = Expression((1, 4, 0, 2), network)


def states(count):
    rng = np.random.default_rng(1)
    return rng.normal(size=(count, 4)), np.empty((count, 0)), rng.normal(size=(count, 2))


def test_expressions_are_compiled_and_give_what_numpy_gives():
    columns, given = columns_of(LAYER, "auto"), states(9)
    assert columns != LAYER.columns
    np.testing.assert_allclose(columns(0.5, *given), LAYER.columns(0.5, *given), rtol=0, atol=1e-13)
    times = np.linspace(0, 1, 9)[:, None]
    every = columns(times, *given)
    np.testing.assert_allclose(every, LAYER.columns(times, *given), rtol=0, atol=1e-13)
    for k in (0, 8):
        np.testing.assert_array_equal(columns(times[k, 0], *(x[k : k + 1] for x in given))[0], every[k])


def test_strided_states_are_read_as_they_are():
    columns, (x, nothing, y) = columns_of(LAYER, "auto"), states(10)
    np.testing.assert_array_equal(columns(0.0, x[::2], nothing[::2], y[::2]), columns(0.0, x, nothing, y)[::2])


def test_plain_python_is_left_to_numpy():
    assert columns_of(LAYER, "generic") == LAYER.columns
