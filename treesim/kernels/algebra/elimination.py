"""Gaussian elimination with partial pivoting of small dense matrices, not necessarily symmetric, in place."""

from __future__ import annotations

from .numbers import absolute, some


def exchange(A, b, k, p):
    """Exchange rows k and p of A, from column k on, and of b."""
    for j in range(k, b.size):
        A[k, j], A[p, j] = A[p, j], A[k, j]
    b[k], b[p] = b[p], b[k]


def solve_general(A, b):
    """b <- A^-1 b. Overwrites A. If A is singular, b is invalid."""
    n = b.size
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if absolute(A[i, k]) > absolute(A[p, k]):
                p = i
        if p != k:
            exchange(A, b, k, p)
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            if f != 0:
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                b[i] -= f * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] = b[k] / A[k, k]


def solve_in_order(A, b):
    """b <- A^-1 b, with pivots in order, so that it also runs on SIMD lanes (`state_lanes`). Overwrites A."""
    n = b.size
    for k in range(n):
        inverse = 1 / A[k, k]
        for i in range(k + 1, n):
            f = A[i, k] * inverse
            if some(f != 0):
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
                b[i] -= f * b[k]
        A[k, k] = inverse
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] *= A[k, k]
