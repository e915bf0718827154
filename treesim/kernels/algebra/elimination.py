"""Gaussian elimination with partial pivoting of small matrices, not necessarily symmetric, in place."""

from __future__ import annotations

from typing import Any, NamedTuple

from .numbers import absolute, some, vectorized


def exchange(A, b, end, k, p):
    """Exchange rows k and p of A, from column k on, and of b and end."""
    for j in range(k, end[k] if end[k] > end[p] else end[p]):
        A[k, j], A[p, j] = A[p, j], A[k, j]
    b[k], b[p] = b[p], b[k]
    end[k], end[p] = end[p], end[k]


def solve_general(A, b, begin, end):
    """b <- A^-1 b for a matrix with a variable band. Overwrites A and end. If A is singular, b is invalid.

    The nonzero entries of row i are in columns from begin[i] to end[i] - 1; begin must not decrease with i. The cost is
    that of a banded matrix, and the result is equal to that of a dense one, to the bit.
    """
    n = b.size
    below = 0  # rows from this one on have no entry in column k
    for k in range(n):
        while below < n and begin[below] <= k:
            below += 1
        p = k
        for i in range(k + 1, below):
            if absolute(A[i, k]) > absolute(A[p, k]):
                p = i
        if p != k:
            exchange(A, b, end, k, p)
        for i in range(k + 1, below):
            f = A[i, k] / A[k, k]
            if f != 0:
                end[i] = end[i] if end[i] > end[k] else end[k]
                for j in vectorized(range(k + 1, end[k])):
                    A[i, j] -= f * A[k, j]
                b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, end[k]):
            b[k] -= A[k, j] * b[j]
        b[k] = b[k] / A[k, k]


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
    """Determine `end` of n rows from `begin`."""
    end = 0
    for k in range(n):
        while end < n and band.begin[end] <= k:
            end += 1
        band.end[k] = end


def factor_in_order(A, L, band):
    """Factorize A = L U, with pivots in order, so that it also runs on SIMD lanes (`state_lanes`).

    A becomes U on and above the diagonal, with reciprocal pivots, and U' below. L[k, i] becomes the entry (i, k) of L,
    times the pivot k. So columns of both are contiguous. Each number changes in the order of columns: the result does
    not depend, to the bit, on the band, nor on rows that are those of the unit matrix.
    """
    n = A.shape[0]
    for k in range(0, n - 2, 3):
        three_pivots(A, L, k, band.end_of(band, k + 2, n))
    for k in range(n - n % 3, n):
        pivot(A, L, k, n)


def pivot(A, L, k, end):
    """Eliminate column k from the rows behind row k, before `end`; A[k, k] becomes its inverse."""
    A[k, k] = 1 / A[k, k]
    for i in range(k + 1, end):
        f = A[i, k] * A[k, k]
        L[k, i], A[i, k] = A[i, k], A[k, i]
        if some(f != 0):
            for j in vectorized(range(k + 1, end)):
                A[i, j] -= f * A[k, j]


def three_pivots(A, L, k, end):
    """Eliminate columns k, k + 1 and k + 2 in one pass over the rows behind them, before `end`, three at a time."""
    put_pivots(A, L, k, end)
    for i in range(k + 3, end - 2, 3):
        eliminate_three(A, L, k, i, end)
    for i in range(end - (end - k) % 3, end):
        f, g, h = multipliers(A, L, k, i)
        for j in vectorized(range(k + 3, end)):
            A[i, j] = A[i, j] - f * A[k, j] - g * A[k + 1, j] - h * A[k + 2, j]


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
    n, rest = b.size, b.size % 3
    for k in range(0, n - 2, 3):
        solve_three_forward(A, L, b, k, band.end_of(band, k + 2, n))
    for k in range(n - rest, n):
        subtract(L, b, k, A[k, k] * b[k], k + 1, n)
    for k in range(n - 1, n - rest - 1, -1):
        b[k] *= A[k, k]
        subtract(A, b, k, b[k], band.begin[k], k)
    for k in range(n - rest - 3, -1, -3):
        solve_three_backward(A, b, k, band.begin[k])


def subtract(A, b, k, f, first, end):
    """b[i] -= A[k, i] f for the rows i from `first` up to `end`."""
    for i in vectorized(range(first, end)):
        b[i] -= A[k, i] * f


def solve_three_forward(A, L, b, k, end):
    """Solve rows k, k + 1 and k + 2 of L x = b, and subtract their columns from the rows behind, before `end`."""
    f = A[k, k] * b[k]
    g = A[k + 1, k + 1] * (b[k + 1] - L[k, k + 1] * f)
    b[k + 1], b[k + 2] = b[k + 1] - L[k, k + 1] * f, b[k + 2] - L[k, k + 2] * f - L[k + 1, k + 2] * g
    h = A[k + 2, k + 2] * b[k + 2]
    for i in vectorized(range(k + 3, end)):
        b[i] = b[i] - L[k, i] * f - L[k + 1, i] * g - L[k + 2, i] * h


def solve_three_backward(A, b, k, begin):
    """Solve rows k, k + 1 and k + 2 of U x = b, and subtract their columns from the rows from `begin` on."""
    h = A[k + 2, k + 2] * b[k + 2]
    g = A[k + 1, k + 1] * (b[k + 1] - A[k + 1, k + 2] * h)
    f = A[k, k] * (b[k] - A[k, k + 2] * h - A[k, k + 1] * g)
    b[k], b[k + 1], b[k + 2] = f, g, h
    for i in vectorized(range(begin, k)):
        b[i] = b[i] - A[k + 2, i] * h - A[k + 1, i] * g - A[k, i] * f
