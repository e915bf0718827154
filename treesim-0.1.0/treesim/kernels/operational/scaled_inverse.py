"""Inverse of symmetric positive definite matrices whose rows have different units, by Cholesky factors.

Rows in metres and radians are not comparable, so A is scaled to a unit diagonal, C = S^-1 A S^-1, and C^-1 back. No
eigenvalue of C exceeds m, as its diagonal is 1, and none of C^-1 exceeds m times its largest entry. If these bounds
exclude the tolerance, C has full rank for certain.
"""

from __future__ import annotations

import numpy as np

from ..algebra.cholesky import factor
from ..algebra.numbers import maximum, sqrt
from ..entries.annotations import Integer, Reals, TableOfReals


def largest_diagonal(A):
    """Return the largest entry of A's diagonal, which is the largest of a definite matrix."""
    largest = A[0, 0]
    for i in range(1, A.shape[0]):
        largest = maximum(largest, A[i, i])
    return largest


def scale(A, floor, largest, S, C):
    """C = S^-1 A S^-1; S: roots of A's diagonal, with entries raised to `floor` times the largest."""
    m = A.shape[0]
    for i in range(m):
        S[i] = sqrt(maximum(A[i, i], floor * largest))
    for i in range(m):
        for j in range(m):
            C[i, j] = A[i, j] / (S[i] * S[j])


def invert_triangle(L, row):
    """L <- L^-1, lower triangular, row by row: L_i = -(sum of l_ik times the rows k < i) / l_ii."""
    for i in range(L.shape[0]):
        row[:i] = L[i, :i]
        L[i, :i] = 0
        for k in range(i):
            for j in range(k + 1):
                L[i, j] -= row[k] * L[k, j]
        for j in range(i):
            L[i, j] = L[i, j] / L[i, i]
        L[i, i] = 1 / L[i, i]


def product_with_transpose(L, P):
    """P = L' L in the lower triangle, L lower triangular."""
    P[:] = 0
    for k in range(L.shape[0]):
        for i in range(k + 1):
            for j in range(i + 1):
                P[i, j] += L[k, i] * L[k, j]


def scaled_inverse(A, rtol, floor, work, C, B):
    """B = A^-1 of one symmetric matrix (m, m), m > 0; return whether it has full rank for certain.

    Full rank means that no eigenvalue of C is below rtol times the largest. work: memory (2, m). Cost: O(m^3).
    """
    S, row = work[0], work[1]
    largest = largest_diagonal(A)
    if not largest > 0:
        return False
    scale(A, floor, largest, S, C)
    if factor(C) >= 0:
        return False
    invert_triangle(C, row)
    product_with_transpose(C, B)
    m = A.shape[0]
    if not largest_diagonal(B) * m * m * rtol < 1:
        return False
    for i in range(m):
        for j in range(i + 1):
            B[i, j] = B[i, j] / (S[i] * S[j])
            B[j, i] = B[i, j]
    return True


def scaled_inverses(matrices: Reals, m: Integer, limits: TableOfReals, inverses: Reals) -> int:
    """Invert symmetric matrices (count, m, m), m > 0; return the first without certain full rank, or -1.

    limits: rtol and floor. Full rank means that no eigenvalue of C is below rtol times the largest. Cost: O(m^3).
    """
    work, C = np.empty((2, m), matrices.dtype), np.empty((m, m), matrices.dtype)
    for s in range(matrices.size // (m * m)):
        A = matrices[s * m * m : (s + 1) * m * m].reshape((m, m))
        B = inverses[s * m * m : (s + 1) * m * m].reshape((m, m))
        if not scaled_inverse(A, limits[0], limits[1], work, C, B):
            return s
    return -1
