"""Inverses of matrices whose rows have units of their own: beside LAPACK's, and what has none for certain."""

import numpy as np
import pytest

from treesim.engine.call.generic import compiled
from treesim.kernels.operational.scaled_inverse import scaled_inverses

LIMITS = np.array([1e-9, 1e-3])


def inverses(matrices):
    """The inverses, and the first state without one, or -1."""
    found = np.full(matrices.shape, np.nan)
    m = matrices.shape[-1]
    return found, compiled(scaled_inverses)(matrices.ravel(), m, LIMITS, found.ravel())


def definite(m, count, seed):
    A = np.random.default_rng(seed).standard_normal((count, m, m + 3))
    return A @ A.swapaxes(-1, -2)


@pytest.mark.nojit
@pytest.mark.parametrize("m", [1, 2, 3, 6, 12, 24])
def test_inverses_are_lapack_s_and_symmetric(m):
    A = definite(m, 3, m)
    found, bad = inverses(A)
    assert bad == -1
    np.testing.assert_allclose(found, np.linalg.inv(A), rtol=1e-9, atol=1e-11 * np.abs(found).max())
    assert np.array_equal(found, found.swapaxes(-1, -2))


@pytest.mark.nojit
def test_units_of_rows_cost_no_digits():
    """Rows in other units give the same inverse in these units, unless a diagonal entry is below a thousandth."""
    units = 2.0 ** np.array([0, 1, -1, 1, 0, -1])
    A = definite(6, 1, 0)
    plain, scaled = inverses(A)[0], inverses(A * np.outer(units, units))[0]
    np.testing.assert_array_equal(scaled * np.outer(units, units), plain)


@pytest.mark.nojit
@pytest.mark.parametrize("spoil", ["redundant", "nearly", "zero", "fixed row", "nan", "nan aside"])
def test_what_may_lack_rank_is_told_by_its_place(spoil):
    A = definite(4, 5, 1)
    if spoil == "zero":
        A[3] = 0
    elif spoil == "nan":
        A[3, 0, 0] = np.nan
    elif spoil == "nan aside":
        A[3, 2, 1] = A[3, 1, 2] = np.nan
    elif spoil == "fixed row":
        A[3, 2], A[3, :, 2] = 0, 0
    else:
        B = definite(4, 1, 2)[0]
        B[3], B[:, 3] = B[0], B[:, 0]
        B[3, 3] = B[0, 0] * (1 + (1e-11 if spoil == "nearly" else 0))
        A[3] = B
    found, bad = inverses(A)
    assert bad == 3
    np.testing.assert_allclose(found[:3], np.linalg.inv(A[:3]), rtol=1e-8, atol=1e-10)


def test_no_states_have_no_bad_one():
    assert inverses(np.empty((0, 6, 6)))[1] == -1
