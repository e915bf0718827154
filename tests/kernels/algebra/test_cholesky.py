"""Cholesky factors in place, and the row that a singular matrix repeats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treesim.kernels.algebra.cholesky import factor, solve

pytestmark = pytest.mark.nojit


def gram(seed, n, rank):
    """A matrix R R' of random rows, of very different sizes."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-2, 2, size=(n, 1))
    return R @ R.T


@given(st.integers(0, 1000), st.integers(1, 8))
def test_solve_undoes_the_matrix(seed, n):
    A = gram(seed, n, n + 3)
    x = np.random.default_rng(seed).normal(size=n)
    L, y = A.copy(), A @ x
    assert factor(L) == -1
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-9, atol=1e-12 * np.abs(A).max())
    solve(L, y)
    assert np.abs(A @ (y - x)).max() <= 1e-12 * np.abs(A @ x).max() + 1e-12 * np.abs(A).max()


@given(st.integers(0, 1000), st.integers(2, 8), st.data())
def test_the_first_row_beyond_the_rank_is_reported(seed, n, data):
    rank = data.draw(st.integers(1, n - 1))
    assert factor(gram(seed, n, rank)) == rank


def test_a_row_of_zeros_is_reported():
    A = gram(0, 4, 4)
    A[2] = A[:, 2] = 0
    assert factor(A) == 2
