"""Gaussian elimination with partial pivoting of small matrices, not necessarily symmetric, in place."""

from __future__ import annotations

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


def factor_in_order(A):
    """Factorize A = L U, with pivots in order, so that it also runs on SIMD lanes (`state_lanes`).

    U is above the diagonal, its reciprocal pivots on it, and L times the pivots below.
    """
    n, k = A.shape[0], 0
    while k + 3 <= n:
        three_pivots(A, k)
        k += 3
    for p in range(k, n):
        pivot(A, p, n)


def pivot(A, k, end):
    """Eliminate column k from the rows behind row k, before `end`; A[k, k] becomes its inverse."""
    A[k, k] = 1 / A[k, k]
    for i in range(k + 1, end):
        f = A[i, k] * A[k, k]
        if some(f != 0):
            for j in vectorized(range(k + 1, A.shape[0])):
                A[i, j] -= f * A[k, j]


def three_pivots(A, k):
    """Eliminate columns k, k + 1 and k + 2 in one pass over the rows behind them, which are read and written once."""
    n = A.shape[0]
    for p in range(k, k + 3):
        pivot(A, p, k + 3)
    for i in range(k + 3, n):
        f = A[i, k] * A[k, k]
        y = A[i, k + 1] - f * A[k, k + 1]
        g = y * A[k + 1, k + 1]
        z = A[i, k + 2] - f * A[k, k + 2] - g * A[k + 1, k + 2]
        h = z * A[k + 2, k + 2]
        A[i, k + 1], A[i, k + 2] = y, z
        if some(f != 0 or g != 0 or h != 0):
            for j in vectorized(range(k + 3, n)):
                A[i, j] = A[i, j] - f * A[k, j] - g * A[k + 1, j] - h * A[k + 2, j]


def solve_in_order(A, b):
    """b <- (L U)^-1 b, for the factors of `factor_in_order`."""
    n = b.size
    for k in range(n):
        f = A[k, k] * b[k]
        for i in vectorized(range(k + 1, n)):
            b[i] -= A[i, k] * f
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] *= A[k, k]
