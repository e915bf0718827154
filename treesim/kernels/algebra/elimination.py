"""Gaussian elimination of small matrices, not necessarily symmetric, in place, with pivots in order."""

from __future__ import annotations

from typing import Any, NamedTuple

from .numbers import some, vectorized


class Band(NamedTuple):
    """Band of a matrix: entries (i, j) and (j, i) are zero for j < begin[i], and for i >= end[j].

    begin and end must not decrease. find (problem, band): determines them. end_of (band, k, n): returns end[k]. On SIMD
    lanes, whose bands differ, these are `whole_band` and `end_of_rows`.
    """

    begin: Any
    end: Any
    find: Any
    end_of: Any


def whole_band(problem, band):
    """Leave a band that begins at the first row, as its memory is made."""


def end_of_rows(band, k, n):
    """Return the end of a matrix of n rows."""
    return n


def end_of_band(band, k, n):
    """Return the end of column k."""
    return band.end[k]


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
    pivots, and U' below. L[k, i] becomes the entry (i, k) of L, times the pivot k. So columns of both are contiguous.
    Each number changes in the order of columns: the result does not depend, to the bit, on the band, nor on rows that
    are those of the unit matrix.
    """
    n = A.shape[0]
    for k in range(0, n, 3):
        end = band.end_of(band, k + 2, n)
        put_pivots(A, L, k, end)
        for i in range(k + 3, end, 3):
            eliminate_three(A, L, k, i, end)


def put_pivots(A, L, k, end):
    """Eliminate columns k and k + 1 from rows k + 1 and k + 2; pivots become their inverses."""
    A[k, k] = 1 / A[k, k]
    f, p = A[k + 1, k] * A[k, k], A[k + 2, k] * A[k, k]
    L[k, k + 1], L[k, k + 2] = A[k + 1, k], A[k + 2, k]
    A[k + 1, k + 1] = 1 / (A[k + 1, k + 1] - f * A[k, k + 1])
    L[k + 1, k + 2] = A[k + 2, k + 1] - p * A[k, k + 1]
    q = L[k + 1, k + 2] * A[k + 1, k + 1]
    for j in vectorized(range(k + 2, end)):
        y = A[k + 1, j] - f * A[k, j]
        A[k + 1, j], A[k + 2, j] = y, A[k + 2, j] - p * A[k, j] - q * y
    A[k + 2, k + 2] = 1 / A[k + 2, k + 2]
    A[k + 1, k], A[k + 2, k], A[k + 2, k + 1] = A[k, k + 1], A[k, k + 2], A[k + 1, k + 2]


def multipliers(A, L, k, i):
    """Return the multipliers of rows k, k + 1 and k + 2 in row i; write its entries of L and U'."""
    f = A[i, k] * A[k, k]
    y = A[i, k + 1] - f * A[k, k + 1]
    g = y * A[k + 1, k + 1]
    z = A[i, k + 2] - f * A[k, k + 2] - g * A[k + 1, k + 2]
    L[k, i], L[k + 1, i], L[k + 2, i] = A[i, k], y, z
    A[i, k], A[i, k + 1], A[i, k + 2] = A[k, i], A[k + 1, i], A[k + 2, i]
    return f, g, z * A[k + 2, k + 2]


def eliminate_three(A, L, k, i, end):
    """Eliminate columns k, k + 1 and k + 2 from rows i, i + 1 and i + 2: every number read serves three rows."""
    f, g, h = multipliers(A, L, k, i)
    p, q, r = multipliers(A, L, k, i + 1)
    s, t, u = multipliers(A, L, k, i + 2)
    if some(f != 0 or g != 0 or h != 0 or p != 0 or q != 0 or r != 0 or s != 0 or t != 0 or u != 0):
        for j in vectorized(range(k + 3, end)):
            x, y, z = A[k, j], A[k + 1, j], A[k + 2, j]
            A[i, j] = A[i, j] - f * x - g * y - h * z
            A[i + 1, j] = A[i + 1, j] - p * x - q * y - r * z
            A[i + 2, j] = A[i + 2, j] - s * x - t * y - u * z


def solve_in_order(A, L, b, band):
    """b <- (L U)^-1 b, for the factors of `factor_in_order`: column by column, so that no sum waits for another."""
    n = A.shape[0]
    for k in range(0, n, 3):
        f = A[k, k] * b[k]
        g = A[k + 1, k + 1] * (b[k + 1] - L[k, k + 1] * f)
        b[k + 1], b[k + 2] = b[k + 1] - L[k, k + 1] * f, b[k + 2] - L[k, k + 2] * f - L[k + 1, k + 2] * g
        h = A[k + 2, k + 2] * b[k + 2]
        for i in vectorized(range(k + 3, band.end_of(band, k + 2, n))):
            b[i] = b[i] - L[k, i] * f - L[k + 1, i] * g - L[k + 2, i] * h
    for k in range(n - 3, -1, -3):
        h = A[k + 2, k + 2] * b[k + 2]
        g = A[k + 1, k + 1] * (b[k + 1] - A[k + 1, k + 2] * h)
        f = A[k, k] * (b[k] - A[k, k + 2] * h - A[k, k + 1] * g)
        b[k], b[k + 1], b[k + 2] = f, g, h
        for i in vectorized(range(band.begin[k], k)):
            b[i] = b[i] - A[k + 2, i] * h - A[k + 1, i] * g - A[k, i] * f
