"""Gaussian elimination of general and of symmetric matrices."""

import numpy as np
import pytest

from treesim.kernels.algebra.elimination import factor_in_order, solve_general, solve_in_order

pytestmark = pytest.mark.nojit


def solve_dense(A, b):
    """b <- A^-1 b of a matrix without zeros."""
    solve_general(A, b, np.zeros(b.size, int), np.full(b.size, b.size))


def banded(seed, n=30):
    """A matrix with a symmetric pattern of a variable band, and its begin and end."""
    rng = np.random.default_rng(seed)
    begin = np.minimum(np.maximum.accumulate(rng.integers(-6, n, size=n) - rng.integers(0, n, size=n)), np.arange(n))
    begin = np.maximum(begin, 0)
    end = np.array([np.flatnonzero(begin <= i)[-1] + 1 for i in range(n)])
    inside = (np.arange(n) >= begin[:, None]) & (np.arange(n) < end[:, None])
    return rng.normal(size=(n, n)) * inside, begin, end


@pytest.mark.parametrize("n", [0, 1, 2, 7, 20])
def test_solutions_are_those_of_lapack(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    expected = np.linalg.solve(A, b)
    solve_dense(A, b)
    np.testing.assert_allclose(b, expected, rtol=0, atol=1e-15 * n * 1e3 * (1 + np.abs(expected).max(initial=0)))


def test_a_matrix_that_cannot_be_solved_without_exchanges():
    A, b = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [4.0, 0.0, 0.0]]), np.array([1.0, 2.0, 3.0])
    solve_dense(A, b)
    assert b.tolist() == [0.75, 1.0, 1.0]


def test_small_pivots_are_not_taken():
    """Without exchanges 1 / 1e-20 swallows the second equation, and x = 0."""
    A, b = np.array([[1e-20, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    solve_dense(A, b)
    np.testing.assert_allclose(b, 1.0, rtol=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_a_band_changes_no_bit(seed):
    """Also where exchanges of rows widen it."""
    A, begin, end = banded(seed)
    assert (A == 0).any()
    b = np.random.default_rng(seed).normal(size=len(A))
    dense, expected = b.copy(), np.linalg.solve(A, b)
    solve_dense(A.copy(), dense)
    solve_general(A, b, begin, end)
    np.testing.assert_array_equal(b, dense)
    np.testing.assert_allclose(b, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_entries_outside_of_the_band_of_a_definite_matrix_are_not_read():
    """Without exchanges nothing is filled in outside; NaN there would be seen."""
    A, begin, end = banded(1)
    A = A + A.T + 1e3 * np.eye(len(A))
    inside = (np.arange(len(A)) >= begin[:, None]) & (np.arange(len(A)) < end[:, None])
    b = np.arange(float(len(A)))
    expected = np.linalg.solve(A, b)
    A[~inside & (np.arange(len(A)) < begin[:, None])] = np.nan
    solve_general(A, b, begin, end)
    np.testing.assert_allclose(b, expected, rtol=1e-12)


@pytest.mark.parametrize("n", range(1, 11))
def test_pivots_in_order(n):
    """One factor solves for several right-hand sides; pivots are taken by threes, and one by one at the end."""
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n)) + 2 * n * np.eye(n)
    factor = A.copy()
    factor_in_order(factor)
    for b in rng.normal(size=(2, n)):
        x = b.copy()
        solve_in_order(factor, x)
        np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-13)
