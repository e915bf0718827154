"""Cholesky factors of small matrices, in place."""

from __future__ import annotations

from typing import Any

from .numbers import sqrt

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
