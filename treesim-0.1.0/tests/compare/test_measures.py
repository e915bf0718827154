"""Errors are relative to physical scales, and NaN is never small."""

import numpy as np
import pytest

from treesim.compare.measures import CHAOS, errors, valid_steps, worst


def test_error_is_relative_to_the_reference_or_to_the_scale():
    theirs = np.array([[100.0, 1.0], [0.01, 0.0]])
    assert errors(theirs + 1.0, theirs, scale=10.0) == pytest.approx([0.01, 0.1])


@pytest.mark.parametrize("side", [0, 1])
def test_nan_on_either_side_is_an_error_that_no_tolerance_admits(side):
    pair = [np.zeros((2, 3)), np.zeros((2, 3))]
    pair[side][1, 2] = np.nan
    found = errors(*pair, scale=1.0)
    assert found[0] == 0.0 and not found[1] <= 1e300


def test_other_shapes_are_not_compared():
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 4\)"):
        errors(np.zeros((2, 3)), np.zeros((2, 4)), 1.0)


def test_nan_is_the_worst():
    assert worst(np.array([1.0, np.nan, 1e300])) == 1


@pytest.mark.parametrize(("last", "steps"), [(0.1 * CHAOS, 4), (10 * CHAOS, 3), (np.nan, 4)])
def test_valid_steps_end_where_the_perturbed_run_departs(last, steps):
    assert valid_steps(np.array([0.0, 1e-15, 1e-13, last])) == steps
