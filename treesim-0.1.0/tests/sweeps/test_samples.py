"""Random numbers by sample: those of NumPy's Philox, in any order and company."""

import numpy as np
import pytest
from scipy import stats

from treesim.sweeps.samples import stream_number, uniforms


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
@pytest.mark.parametrize("sample", [0, 12345, 10**15])
def test_numbers_are_those_of_numpys_philox(seed, sample):
    bits = np.random.Philox(
        key=np.array([seed, sample], np.uint64), counter=np.array([0, 0, stream_number("mass"), 0], np.uint64)
    )
    expected = ((bits.random_raw(9) >> np.uint64(12)).astype(float) + 0.5) / 2**52
    assert np.array_equal(uniforms(seed, np.array([sample]), "mass", 9)[0], expected)


def test_a_samples_numbers_do_not_depend_on_the_others():
    together = uniforms(3, np.arange(100), "kp", 5)
    order = np.random.default_rng(0).permutation(100)
    assert np.array_equal(uniforms(3, order, "kp", 5), together[order])
    assert np.array_equal(uniforms(3, np.array([42]), "kp", 2)[0], together[42, :2])


def test_streams_seeds_and_samples_are_independent_and_uniform():
    found = [uniforms(seed, np.arange(2000), name, 1)[:, 0] for seed in (0, 1) for name in ("a", "b")]
    for u in found:
        assert u.min() > 0 and u.max() < 1
        assert stats.kstest(u, "uniform").pvalue > 1e-3  # the draws are fixed: so is the outcome
    correlation = np.corrcoef(found)[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < 4 / np.sqrt(2000)
