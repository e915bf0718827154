"""Kernels on lanes do for each state what they do in plain Python for one: conditions, loops, calls, tuples."""

from __future__ import annotations

import numpy as np
import pytest

from treesim.engine.call import generic
from treesim.engine.trigonometry import LARGEST
from treesim.errors import UnsupportedError
from treesim.kernels.algebra.linear import Vector, dot, scale
from treesim.kernels.algebra.numbers import (
    absolute,
    less,
    maximum,
    minimum,
    select,
    sincos,
    some,
    sqrt,
    vectorized,
)
from treesim.kernels.algebra.state_lanes import OnLanes, gathered, lane_count, scattered
from treesim.kernels.entries.annotations import Integers, Reals

from .support import compiled_only, no_disk  # noqa: F401

pytestmark = compiled_only
STATES = np.random.default_rng(0).normal(size=(21, 4)) * 2


def write_where(x, out, limit):
    """A condition within a condition, and a store that only some lanes do."""
    out[0] = x[0]
    if x[0] > 0:
        out[0] = 2 * x[0]
        if x[1] > limit:
            out[0] += 100
    else:
        out[0] -= 1


def halvings(x):
    """A loop whose end differs from lane to lane."""
    taken = x * 0
    while taken < 50 and absolute(x) > 0.01:
        x = x / 2
        taken += 1
    return x, taken


def turned(x):
    """Tuples of numbers that differ, by an `if`, by `and`, `or` and by a choice of two."""
    a = Vector(x[0], x[1], x[2])
    if (x[3] > 0 and x[0] < 1) or x[1] > 2:
        a = scale(a, -1)
    b = a if dot(a, a) > 3 else Vector(x[3], x[3], 1.0)
    return sqrt(maximum(dot(b, b), 0)) + select(less(x[2], x[3]), 1, -1) * minimum(a.x, b.y)


def course(x, out):
    write_where(x, out, 0.5)
    out[1], out[2] = halvings(x[1])
    out[3] = turned(x)
    s, c = sincos(x[2] * 3)
    out[4], out[5] = s, c
    out[6] = -x[3] if not x[3] > 0 else x[3] ** 3
    if x[3] > 0:
        write_where(x, out, 0.0)
        out[2] += halvings(x[0])[1]


def group(states, first, last):
    """Write the indices of a group of states, one per lane."""
    for k in range(lane_count()):
        states[k] = min(first + k, last)
    return states


def course_on_lanes(given: Reals, found: Reals) -> int:
    count = given.size // 4
    x, out, states = np.empty(4, OnLanes), np.empty(7, OnLanes), np.empty(lane_count(), np.int64)
    for first in range(0, count, lane_count()):
        for k in range(4):
            x[k] = gathered(given, k, 4, group(states, first, count - 1))
        course(x, out)
        for k in range(7):
            scattered(found, k, 7, group(states, first, count - 1), out[k])
    return 0


def run(kernel, given, size):
    found = np.full((len(given), size), np.nan)
    assert generic.compiled(kernel)(given.reshape(-1), found.reshape(-1)) == 0
    return found


@pytest.mark.parametrize("count", [1, 8, 21])
def test_each_lane_does_what_python_does_with_its_state(count):
    wanted = np.empty((count, 7))
    for x, out in zip(STATES, wanted, strict=False):
        course(x, out)
    np.testing.assert_allclose(run(course_on_lanes, STATES[:count], 7), wanted, rtol=1e-13, atol=1e-15)


def test_no_lane_depends_on_the_others():
    all_of_them = run(course_on_lanes, STATES, 7)
    order = np.random.default_rng(1).permutation(len(STATES))
    assert np.array_equal(run(course_on_lanes, STATES[order], 7), all_of_them[order])
    assert np.array_equal(run(course_on_lanes, STATES[3:5], 7), all_of_them[3:5])


def circles(given: Reals, found: Reals) -> int:
    states = np.empty(lane_count(), np.int64)
    for first in range(0, given.size, lane_count()):
        s, c = sincos(gathered(given, 0, 1, group(states, first, given.size - 1)))
        scattered(found, 0, 2, group(states, first, given.size - 1), s)
        scattered(found, 1, 2, group(states, first, given.size - 1), c)
    return 0


def test_sines_and_cosines_in_every_quadrant_and_far_out():
    x = np.r_[np.linspace(-20, 20, 301), 0.0, LARGEST, -LARGEST, 3 * LARGEST, 1e9]
    np.testing.assert_allclose(run(circles, x, 2), np.column_stack([np.sin(x), np.cos(x)]), rtol=0, atol=3e-16)


def any_positive(given: Reals, found: Integers) -> int:
    found[0] = 0
    states = np.empty(lane_count(), np.int64)
    for first in range(0, given.size, lane_count()):
        x = gathered(given, 0, 1, group(states, first, given.size - 1))
        if some(x > 0):
            found[0] += 1
    return 0


def test_some_asks_all_lanes_of_a_vector():
    found = np.empty(1, np.int64)
    generic.compiled(any_positive)(np.r_[-np.ones(8), 1.0, 3.0, -np.ones(6)], found)
    assert found.tolist() == [1]


def halve_some(x, most):
    """A loop for as long as it goes on on any lane, from a start that only some lanes make."""
    going, taken = x > most, x * 0
    while some(going):
        taken += select(going, 1, 0)
        x = select(going, x / 2, x)
        going = going and x > most
    return taken


def halve_positive(given: Reals, found: Reals) -> int:
    states = np.empty(lane_count(), np.int64)
    for first in range(0, given.size, lane_count()):
        x = gathered(given, 0, 1, group(states, first, given.size - 1))
        taken = x * 0
        if x > 2:
            taken = halve_some(x, 1.0)
        scattered(found, 0, 1, group(states, first, given.size - 1), taken)
    return 0


def test_some_asks_active_lanes_only():
    """Lanes between 1 and 2 would go on for ever: their assignments are without effect."""
    given = np.array([0.5, 1.5, 3.0, 5.0, 1.5, -1.0, 9.0, 1.5, 1.5])
    found = np.full((9, 1), np.nan)
    generic.compiled(halve_positive)(given, found.reshape(-1))
    assert found[:, 0].tolist() == [0, 0, 2, 3, 0, 0, 4, 0, 0]


def count_under_mask(given: Reals, found: Reals) -> int:
    n, x = 0, gathered(given, 0, 1, np.zeros(lane_count(), np.int64))
    if x > 0:
        n += 1
    scattered(found, 0, 1, np.zeros(lane_count(), np.int64), x * n)
    return 0


def early(x):
    if x > 0:
        return x
    return -x


def return_under_mask(given: Reals, found: Reals) -> int:
    scattered(
        found, 0, 1, np.zeros(lane_count(), np.int64), early(gathered(given, 0, 1, np.zeros(lane_count(), np.int64)))
    )
    return 0


def round_on_lanes(given: Reals, found: Reals) -> int:
    found[int(gathered(given, 0, 1, np.zeros(lane_count(), np.int64)))] = 0.0
    return 0


@pytest.mark.parametrize(
    "kernel, message",
    [
        (count_under_mask, "an integer cannot differ from lane to lane"),
        (return_under_mask, "lanes cannot return one before the other"),
        (round_on_lanes, "whole numbers are the same on all lanes"),
    ],
)
def test_what_lanes_cannot_do_is_refused(kernel, message):
    with pytest.raises(UnsupportedError, match=message):
        generic.compiled(kernel)


def double_all(given: Reals, found: Reals) -> int:
    x, states = np.empty(given.size, OnLanes), np.empty(lane_count(), np.int64)
    for k in range(given.size):
        x[k] = gathered(given, k, 1, group(states, 0, 0))
    for k in vectorized(range(given.size)):
        x[k] = 2 * x[k]
    for k in range(given.size):
        scattered(found, k, 1, group(states, 0, 0), x[k])
    return 0


def test_loops_over_vectors_are_not_vectorized_again_which_llvm_would_report(capfd):
    x = np.arange(9.0)
    assert np.array_equal(run(double_all, x, 1).ravel(), 2 * x)
    assert capfd.readouterr().err == ""
