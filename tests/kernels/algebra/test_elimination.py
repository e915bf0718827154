"""Elimination with pivots in order, for several right-hand sides, and what changes no bit of it."""

import numpy as np
import pytest

from treesim.kernels.algebra.elimination import (
    ON_LANES,
    Band,
    compact,
    factor_in_order,
    in_threes,
    put_ends,
    put_unit_rows,
    solve_in_order,
)
from treesim.kernels.contact.active_set_equations import ONE_STATE

pytestmark = pytest.mark.nojit


def band_of(begin):
    """Band that begins at these rows, as of one state, and that of all rows, as of lanes."""
    n = len(begin)
    band = Band(begin, np.zeros(in_threes(n), int), ONE_STATE)
    put_ends(band, n)
    return band, Band(np.zeros(n, int), np.zeros(n, int), ON_LANES)


def in_order(A, right_sides, band):
    """Solutions by one factor, in memory that is filled with NaN."""
    n = len(A)
    factor, L = (compact(np.full((in_threes(n), in_threes(n)), np.nan), n) for _ in range(2))
    factor[:n, :n] = A
    put_unit_rows(factor, n)
    factor_in_order(factor, L, band)
    solutions = np.zeros((len(right_sides), len(factor)))
    solutions[:, :n] = right_sides
    for x in solutions:
        solve_in_order(factor, L, x, band)
    assert not solutions[:, n:].any()
    return solutions[:, :n]


@pytest.mark.parametrize("n", range(1, 11))
def test_pivots_in_order(n):
    """One factor solves for several right-hand sides, of any number of rows."""
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
