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
    n = A.shape[0]
    for k in range(0, n - 2, 3):
        three_pivots(A, k)
    for k in range(n - n % 3, n):
        pivot(A, k, n)


def pivot(A, k, end):
    """Eliminate column k from the rows behind row k, before `end`; A[k, k] becomes its inverse."""
    A[k, k] = 1 / A[k, k]
    for i in range(k + 1, end):
        f = A[i, k] * A[k, k]
        if some(f != 0):
            for j in vectorized(range(k + 1, A.shape[0])):
                A[i, j] -= f * A[k, j]


def three_pivots(A, k):
    """Eliminate columns k, k + 1 and k + 2 in one pass over the rows behind them, three at a time."""
    n = A.shape[0]
    put_pivots(A, k)
    for i in range(k + 3, n - 2, 3):
        eliminate_three(A, k, i)
    for i in range(n - n % 3, n):
        f, g, h = multipliers(A, k, i)
        for j in vectorized(range(k + 3, n)):
            A[i, j] = A[i, j] - f * A[k, j] - g * A[k + 1, j] - h * A[k + 2, j]


def put_pivots(A, k):
    """Eliminate columns k and k + 1 from rows k + 1 and k + 2; pivots become their inverses."""
    A[k, k] = 1 / A[k, k]
    f, p = A[k + 1, k] * A[k, k], A[k + 2, k] * A[k, k]
    A[k + 1, k + 1] = 1 / (A[k + 1, k + 1] - f * A[k, k + 1])
    A[k + 2, k + 1] -= p * A[k, k + 1]
    q = A[k + 2, k + 1] * A[k + 1, k + 1]
    for j in vectorized(range(k + 2, A.shape[0])):
        y = A[k + 1, j] - f * A[k, j]
        A[k + 1, j], A[k + 2, j] = y, A[k + 2, j] - p * A[k, j] - q * y
    A[k + 2, k + 2] = 1 / A[k + 2, k + 2]


def multipliers(A, k, i):
    """Return the multipliers of rows k, k + 1 and k + 2 in row i, and write the entries of L there."""
    f = A[i, k] * A[k, k]
    y = A[i, k + 1] - f * A[k, k + 1]
    g = y * A[k + 1, k + 1]
    z = A[i, k + 2] - f * A[k, k + 2] - g * A[k + 1, k + 2]
    A[i, k + 1], A[i, k + 2] = y, z
    return f, g, z * A[k + 2, k + 2]


def eliminate_three(A, k, i):
    """Eliminate columns k, k + 1 and k + 2 from rows i, i + 1 and i + 2: every number read serves three rows."""
    f, g, h = multipliers(A, k, i)
    p, q, r = multipliers(A, k, i + 1)
    s, t, u = multipliers(A, k, i + 2)
    if some(f != 0 or g != 0 or h != 0 or p != 0 or q != 0 or r != 0 or s != 0 or t != 0 or u != 0):
        for j in vectorized(range(k + 3, A.shape[0])):
            x, y, z = A[k, j], A[k + 1, j], A[k + 2, j]
            A[i, j] = A[i, j] - f * x - g * y - h * z
            A[i + 1, j] = A[i + 1, j] - p * x - q * y - r * z
            A[i + 2, j] = A[i + 2, j] - s * x - t * y - u * z


def solve_in_order(A, b):
    """b <- (L U)^-1 b, for the factors of `factor_in_order`: column by column, so that no sum waits for another."""
    n, rest = b.size, b.size % 3
    for k in range(0, n - 2, 3):
        solve_three_forward(A, b, k)
    for k in range(n - rest, n):
        subtract_column(A, b, k, A[k, k] * b[k], k + 1, n)
    for k in range(n - 1, n - rest - 1, -1):
        b[k] *= A[k, k]
        subtract_column(A, b, k, b[k], 0, k)
    for k in range(n - rest - 3, -1, -3):
        solve_three_backward(A, b, k)


def subtract_column(A, b, k, f, first, end):
    """b[i] -= A[i, k] f for the rows i from `first` up to `end`."""
    for i in vectorized(range(first, end)):
        b[i] -= A[i, k] * f


def solve_three_forward(A, b, k):
    """Solve rows k, k + 1 and k + 2 of L x = b, and subtract their columns from the rows behind."""
    f = A[k, k] * b[k]
    g = A[k + 1, k + 1] * (b[k + 1] - A[k + 1, k] * f)
    b[k + 1], b[k + 2] = b[k + 1] - A[k + 1, k] * f, b[k + 2] - A[k + 2, k] * f - A[k + 2, k + 1] * g
    h = A[k + 2, k + 2] * b[k + 2]
    for i in vectorized(range(k + 3, b.size)):
        b[i] = b[i] - A[i, k] * f - A[i, k + 1] * g - A[i, k + 2] * h


def solve_three_backward(A, b, k):
    """Solve rows k, k + 1 and k + 2 of U x = b, and subtract their columns from the rows before."""
    h = A[k + 2, k + 2] * b[k + 2]
    g = A[k + 1, k + 1] * (b[k + 1] - A[k + 1, k + 2] * h)
    f = A[k, k] * (b[k] - A[k, k + 2] * h - A[k, k + 1] * g)
    b[k], b[k + 1], b[k + 2] = f, g, h
    for i in vectorized(range(k)):
        b[i] = b[i] - A[i, k + 2] * h - A[i, k + 1] * g - A[i, k] * f
