"""Gaussian elimination of general and of symmetric matrices."""

import numpy as np
import pytest

from treesim.kernels.algebra.elimination import (
    Band,
    end_of_band,
    end_of_rows,
    factor_in_order,
    put_ends,
    solve_general,
    solve_in_order,
)

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


def band_of(begin):
    """Band that begins at these rows, and that of all rows."""
    n = len(begin)
    band = Band(begin, np.zeros(n, int), None, end_of_band)
    put_ends(band, n)
    return band, Band(np.zeros(n, int), np.zeros(n, int), None, end_of_rows)


def in_order(A, right_sides, band):
    """Solutions by one factor."""
    factor, L = A.copy(), np.full_like(A, np.nan)
    factor_in_order(factor, L, band)
    solutions = right_sides.copy()
    for x in solutions:
        solve_in_order(factor, L, x, band)
    return solutions


@pytest.mark.parametrize("n", range(1, 11))
def test_pivots_in_order(n):
    """One factor solves for several right-hand sides; pivots are taken by threes, and one by one at the end."""
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(n, n)) + 2 * n * np.eye(n), rng.normal(size=(2, n))
    x = in_order(A, b, band_of(np.zeros(n, int))[1])
    np.testing.assert_allclose(x @ A.T, b, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_neither_a_band_nor_rows_of_the_unit_matrix_change_a_bit_of_pivots_in_order(seed):
    rng = np.random.default_rng(seed)
    n = 14
    begin = np.minimum(np.maximum.accumulate(rng.integers(-3, n, size=n)), np.arange(n)).clip(0)
    inside = np.arange(n) >= begin[:, None]
    inside &= inside.T | (np.arange(n) <= np.arange(n)[:, None])
    inside = np.tril(inside) | np.tril(inside).T
    A, b = np.where(inside, rng.normal(size=(n, n)), 0) + 2 * n * np.eye(n), rng.normal(size=(2, n))
    (banded, whole), unit = band_of(begin), np.sort(rng.choice(n + 5, size=5, replace=False))
    x = in_order(A, b, whole)
    np.testing.assert_array_equal(in_order(A, b, banded), x)
    own = np.setdiff1d(np.arange(n + 5), unit)
    larger, longer = np.eye(n + 5), np.zeros((2, n + 5))
    larger[np.ix_(own, own)], longer[:, own] = A, b
    np.testing.assert_array_equal(in_order(larger, longer, band_of(np.zeros(n + 5, int))[1])[:, own], x)
