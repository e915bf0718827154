"""Cholesky factors of small matrices, dense or with a band, in place."""

from __future__ import annotations

from typing import Any

from .numbers import sqrt, vectorized

VANISHING = 1e-12  # a pivot smaller than this part of its diagonal entry is rounding error
SMALL_ENTRY = 1e-12  # a diagonal entry smaller than this part of the largest one counts no further


def factor(A: Any) -> int:
    """Factorize A = L L', with L in its lower triangle; return the first row that depends on those before it, or -1.

    A row depends on others if its pivot vanishes; the factor is then invalid.
    """
    n = A.shape[0]
    largest = A[0, 0] * 0
    for j in range(n):
        if A[j, j] > largest:
            largest = A[j, j]
    for j in range(n):
        smallest = VANISHING * (A[j, j] if A[j, j] > SMALL_ENTRY * largest else SMALL_ENTRY * largest)
        for k in range(j):
            for i in range(j, n):
                A[i, j] -= A[i, k] * A[j, k]
        if not A[j, j] > smallest:
            return j
        root = sqrt(A[j, j])
        for i in range(j, n):
            A[i, j] = A[i, j] / root
    return -1


def factor_definite(A: Any) -> None:
    """Factorize a positive definite matrix A = L L', with L in its lower triangle.

    Unlike `factor` it does not test pivots, so it also runs on SIMD lanes (`state_lanes`).
    """
    for j in range(A.shape[0]):
        for k in range(j):
            for i in range(j, A.shape[0]):
                A[i, j] -= A[i, k] * A[j, k]
        root = sqrt(A[j, j])
        for i in range(j, A.shape[0]):
            A[i, j] = A[i, j] / root


def factor_banded(A: Any, begin: Any) -> None:
    """Factorize a positive definite matrix A = L D L' with a variable band, L in its lower triangle, D L' in its upper.

    Reads the upper triangle, where the entry (k, i) is zero if k < begin[i]; begin must not decrease. The diagonal is
    that of D^-1. Pivots are not tested. Four columns with the same band are eliminated in one pass.
    """
    n, end, k = A.shape[0], 0, 0
    while k < n:
        while end < n and begin[end] <= k:
            end += 1
        if k + 4 <= n and (end == n or begin[end] > k + 3):
            for p in range(4):
                eliminate(A, k + p, k + 4, end)
            eliminate_four(A, k, end)
            k += 4
        else:
            eliminate(A, k, end, end)
            k += 1


def eliminate(A, k, last, end):
    """Subtract multiples of row k from the rows up to `last`; the multipliers are written below the diagonal."""
    A[k, k] = 1 / A[k, k]
    for i in range(k + 1, last):
        f = A[k, i] * A[k, k]
        A[i, k] = f
        for j in vectorized(range(i, end)):
            A[i, j] -= f * A[k, j]


def eliminate_four(A, k, end):
    """Subtract multiples of the rows k to k + 3 from the rows below, in one pass over each."""
    for i in range(k + 4, end):
        a, b = A[k, i] * A[k, k], A[k + 1, i] * A[k + 1, k + 1]
        c, d = A[k + 2, i] * A[k + 2, k + 2], A[k + 3, i] * A[k + 3, k + 3]
        A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3] = a, b, c, d
        for j in vectorized(range(i, end)):
            A[i, j] -= a * A[k, j] + b * A[k + 1, j] + c * A[k + 2, j] + d * A[k + 3, j]


def solve_banded(A: Any, x: Any, begin: Any) -> None:
    """x <- (L D L')^-1 x, for the factors of `factor_banded`; four columns with the same band in one pass."""
    n, end, k = x.size, 0, 0
    while k < n:
        while end < n and begin[end] <= k:
            end += 1
        if k + 4 <= n and (end == n or begin[end] > k + 3):
            solve_four(A, x, k, end)
            k += 4
        else:
            a = x[k] * A[k, k]
            x[k] = a
            for i in vectorized(range(k + 1, end)):
                x[i] -= A[k, i] * a
            k += 1
    k = n
    while k > 0:
        if k >= 4 and begin[k - 4] == begin[k - 1]:
            k -= 4
            solve_four_back(A, x, k, begin[k])
        else:
            k -= 1
            a = x[k]
            for i in vectorized(range(begin[k], k)):
                x[i] -= A[k, i] * a


def solve_four(A, x, k, end):
    """Eliminate the unknowns k to k + 3 from those up to `end`, and divide them by D."""
    a = x[k] * A[k, k]
    b = (x[k + 1] - A[k, k + 1] * a) * A[k + 1, k + 1]
    c = (x[k + 2] - A[k, k + 2] * a - A[k + 1, k + 2] * b) * A[k + 2, k + 2]
    d = (x[k + 3] - A[k, k + 3] * a - A[k + 1, k + 3] * b - A[k + 2, k + 3] * c) * A[k + 3, k + 3]
    x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, d
    for i in vectorized(range(k + 4, end)):
        x[i] -= A[k, i] * a + A[k + 1, i] * b + A[k + 2, i] * c + A[k + 3, i] * d


def solve_four_back(A, x, k, begin):
    """Compute the unknowns k to k + 3, and eliminate them from those from `begin` on."""
    d = x[k + 3]
    c = x[k + 2] - A[k + 3, k + 2] * d
    b = x[k + 1] - A[k + 3, k + 1] * d - A[k + 2, k + 1] * c
    a = x[k] - A[k + 3, k] * d - A[k + 2, k] * c - A[k + 1, k] * b
    x[k], x[k + 1], x[k + 2] = a, b, c
    for i in vectorized(range(begin, k)):
        x[i] -= A[k, i] * a + A[k + 1, i] * b + A[k + 2, i] * c + A[k + 3, i] * d


def solve(L, x):
    """x <- (L L')^-1 x."""
    n = x.size
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] = x[i] / L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] = x[i] / L[i, i]
