"""Distributions: what they draw, and what they refuse."""

import numpy as np
import pytest
from scipy import stats

from treesim import ArgumentError
from treesim.sweeps import Choice, LogUniform, Normal, Uniform, around, scale
from treesim.sweeps.distributions import as_distribution

U = (np.arange(4000)[:, None] + 0.5) / 4000
ENDS = np.array([[0.5 * 2.0**-52], [1 - 0.5 * 2.0**-52]])


@pytest.mark.parametrize(
    ("distribution", "law"),
    [
        (Normal(2.0, 0.5), stats.norm(2, 0.5)),
        (Uniform(-1.0, 3.0), stats.uniform(-1, 4)),
        (LogUniform(1e-3, 10.0), stats.loguniform(1e-3, 10)),
    ],
)
def test_equally_spaced_numbers_become_quantiles(distribution, law):
    assert np.allclose(distribution.values(U), law.ppf(U[:, 0]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1000])
def test_each_option_is_chosen_as_often_and_none_beyond_the_last(count):
    found = Choice(range(count)).values(U)
    times = np.bincount(found.astype(int), minlength=count)
    assert len(times) == count and np.ptp(times) <= 1
    assert Choice(range(count)).values(ENDS).tolist() == [0, count - 1]


def test_bounds_hold_at_the_ends():
    assert ((Uniform(0.4, 1.2).values(ENDS) >= 0.4) & (Uniform(0.4, 1.2).values(ENDS) <= 1.2)).all()


def test_the_largest_deviation_draws_finite_numbers():
    assert np.isfinite(Normal(0, 2.1e307).values(ENDS)).all()


def test_arrays_draw_each_number_by_itself():
    one = Normal([1.0, 2.0], 0.0)
    assert (one.shape, one.needs) == ((2,), 2)
    assert one.values(np.full((3, 2), 0.9)).tolist() == [[1, 2]] * 3
    assert Choice([[1, 2], [3, 4]]).values(np.array([[0.9]])).tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Normal(1, -1), "sd of Normal must not be negative"),
        (lambda: Normal("x", 1), "mean of Normal must be a number"),
        (lambda: Normal([1, 2], [1, 2, 3]), "mean and sd of Normal have shapes"),
        (lambda: Uniform(2, 1), "low of Uniform must not be above high"),
        (lambda: Uniform(0, np.inf), "must be finite"),
        (lambda: Uniform(-1e308, 1e308), "low and high of Uniform are too large"),
        (lambda: Normal(0, 2.2e307), "mean and sd of Normal are too large"),
        (lambda: LogUniform(0, 1), "bounds of LogUniform must be above 0"),
        (lambda: Choice([]), "must be a list of values"),
        (lambda: around(sd=-1), "sd of around must not be negative"),
        (lambda: as_distribution("kp", 3.0), r"vary\['kp'\] must be a distribution"),
        (lambda: scale("much"), "must be a distribution"),
    ],
)
def test_what_is_wrong_is_told(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()
