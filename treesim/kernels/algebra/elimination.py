"""Gaussian elimination of small matrices, not necessarily symmetric, in place, with pivots in order."""

from typing import Any, NamedTuple

from .numbers import some, vectorized


class Band(NamedTuple):
    """Band of a matrix: entries (i, j) and (j, i) are zero for j < begin[i], and for i >= end[j].

    begin and end must not decrease. by: `FactorFunctions`.
    """

    begin: Any
    end: Any
    by: Any


class FactorFunctions(NamedTuple):
    """What differs between a matrix of one state and one on SIMD lanes, each entry of which is a vector.

    find (problem, band): determines the band. end_of (band, k, n): returns end[k]. store (A, L, i, k, x): stores x, the
    entry (i, k) of L, i > k, times the pivot k, when row k of U is complete. lower (A, L, i, k): returns it. upper
    (A, k, i): returns the entry (k, i) of U.
    """

    find: Any
    end_of: Any
    store: Any
    lower: Any
    upper: Any


def end_of_band(band, k, n):
    """Return the end of column k."""
    return band.end[k]


def store_columns(A, L, i, k, x):
    """Store x in row k of L, and the entry (k, i) of U below the diagonal, so that columns are contiguous."""
    L[k, i], A[i, k] = x, A[k, i]


def lower_of_columns(A, L, i, k):
    """Return what `store_columns` stored."""
    return L[k, i]


def upper_of_columns(A, k, i):
    """Return the entry (k, i) of U from below the diagonal."""
    return A[i, k]


def whole_band(problem, band):
    """Leave a band that begins at the first row, as its memory is made: bands of lanes differ."""


def end_of_rows(band, k, n):
    """Return the end of a matrix of n rows."""
    return n


def store_in_place(A, L, i, k, x):
    """Store x below the diagonal of A."""
    A[i, k] = x


def lower_in_place(A, L, i, k):
    """Return what `store_in_place` stored."""
    return A[i, k]


def upper_in_place(A, k, i):
    """Return the entry (k, i) of U."""
    return A[k, i]


ON_LANES = FactorFunctions(whole_band, end_of_rows, store_in_place, lower_in_place, upper_in_place)


def put_ends(band, n):
    """Determine `end` of n rows from `begin`, in whole threes; rows behind them are those of the unit matrix."""
    end = 0
    for k in range(in_threes(n)):
        while end < n and band.begin[end] <= k:
            end += 3
        band.end[k] = end


def in_threes(n):
    """Return a number of rows in whole threes."""
    return n + 2 - (n + 2) % 3


def compact(A, n):
    """Return the memory of a matrix as a contiguous one of n rows, in whole threes."""
    size = in_threes(n)
    return A.reshape(A.size)[: size * size].reshape((size, size))


def put_unit_rows(A, n):
    """Make the rows and columns from n on those of the unit matrix."""
    for i in range(n, A.shape[0]):
        for j in range(A.shape[0]):
            A[i, j], A[j, i] = 0.0, 0.0
        A[i, i] = 1.0


def factor_in_order(A, L, band):
    """Factorize A = L U, with pivots in order, so that it also runs on SIMD lanes (`state_lanes`).

    Rows are in whole threes (`compact`, `put_unit_rows`). A becomes U on and above the diagonal, with reciprocal
    pivots. L is stored by `FactorFunctions.store`. Each number changes in the order of columns: the result does not
    depend, to the bit, on the band, nor on rows that are those of the unit matrix.
    """
    n = A.shape[0]
    for k in range(0, n, 3):
        end = band.by.end_of(band, k + 2, n)
        put_pivots(A, L, k, end, band.by)
        for i in range(k + 3, end, 3):
            eliminate_three(A, L, k, i, end, band.by)


def put_pivots(A, L, k, end, by):
    """Eliminate columns k and k + 1 from rows k + 1 and k + 2; pivots become their inverses."""
    A[k, k] = 1 / A[k, k]
    f, p = A[k + 1, k] * A[k, k], A[k + 2, k] * A[k, k]
    by.store(A, L, k + 1, k, A[k + 1, k])
    by.store(A, L, k + 2, k, A[k + 2, k])
    A[k + 1, k + 1] = 1 / (A[k + 1, k + 1] - f * A[k, k + 1])
    z = A[k + 2, k + 1] - p * A[k, k + 1]
    q = z * A[k + 1, k + 1]
    for j in vectorized(range(k + 2, end)):
        y = A[k + 1, j] - f * A[k, j]
        A[k + 1, j], A[k + 2, j] = y, A[k + 2, j] - p * A[k, j] - q * y
    A[k + 2, k + 2] = 1 / A[k + 2, k + 2]
    by.store(A, L, k + 2, k + 1, z)


def multipliers(A, L, k, i, by):
    """Return the multipliers of rows k, k + 1 and k + 2 in row i; store its entries of L."""
    f = A[i, k] * A[k, k]
    y = A[i, k + 1] - f * A[k, k + 1]
    g = y * A[k + 1, k + 1]
    z = A[i, k + 2] - f * A[k, k + 2] - g * A[k + 1, k + 2]
    by.store(A, L, i, k, A[i, k])
    by.store(A, L, i, k + 1, y)
    by.store(A, L, i, k + 2, z)
    return f, g, z * A[k + 2, k + 2]


def eliminate_three(A, L, k, i, end, by):
    """Eliminate columns k, k + 1 and k + 2 from rows i, i + 1 and i + 2: every number read serves three rows."""
    f, g, h = multipliers(A, L, k, i, by)
    p, q, r = multipliers(A, L, k, i + 1, by)
    s, t, u = multipliers(A, L, k, i + 2, by)
    if some(f != 0 or g != 0 or h != 0 or p != 0 or q != 0 or r != 0 or s != 0 or t != 0 or u != 0):
        for j in vectorized(range(k + 3, end)):
            x, y, z = A[k, j], A[k + 1, j], A[k + 2, j]
            A[i, j] = A[i, j] - f * x - g * y - h * z
            A[i + 1, j] = A[i + 1, j] - p * x - q * y - r * z
            A[i + 2, j] = A[i + 2, j] - s * x - t * y - u * z


def solve_in_order(A, L, b, band):
    """b <- (L U)^-1 b, for the factors of `factor_in_order`: column by column, so that no sum waits for another."""
    n, lower, upper = A.shape[0], band.by.lower, band.by.upper
    for k in range(0, n, 3):
        f = A[k, k] * b[k]
        y = b[k + 1] - lower(A, L, k + 1, k) * f
        g = A[k + 1, k + 1] * y
        b[k + 1], b[k + 2] = y, b[k + 2] - lower(A, L, k + 2, k) * f - lower(A, L, k + 2, k + 1) * g
        h = A[k + 2, k + 2] * b[k + 2]
        for i in range(k + 3, band.by.end_of(band, k + 2, n)):
            b[i] = b[i] - lower(A, L, i, k) * f - lower(A, L, i, k + 1) * g - lower(A, L, i, k + 2) * h
    for k in range(n - 3, -1, -3):
        h = A[k + 2, k + 2] * b[k + 2]
        g = A[k + 1, k + 1] * (b[k + 1] - A[k + 1, k + 2] * h)
        f = A[k, k] * (b[k] - A[k, k + 2] * h - A[k, k + 1] * g)
        b[k], b[k + 1], b[k + 2] = f, g, h
        for i in vectorized(range(band.begin[k], k)):
            b[i] = b[i] - upper(A, i, k + 2) * h - upper(A, i, k + 1) * g - upper(A, i, k) * f
