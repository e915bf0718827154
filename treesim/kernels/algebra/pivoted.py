"""Gaussian elimination of matrices with partial pivoting, and inverses; loops run along rows, and are vectorized."""

from .numbers import absolute, vectorized


def invert_definite(A):
    """Replace a positive definite matrix by its inverse, by Gauss-Jordan elimination."""
    n = A.shape[0]
    for k in range(n):
        pivot = 1 / A[k, k]
        A[k, k] = 1.0
        for j in vectorized(range(n)):
            A[k, j] *= pivot
        for i in range(n):
            f = A[i, k]
            if i != k and f != 0:
                A[i, k] = 0.0
                for j in vectorized(range(n)):
                    A[i, j] -= f * A[k, j]


def copy(x, y):
    """y = x."""
    for k in vectorized(range(y.size)):
        y[k] = x[k]


def add_multiple(f, x, y):
    """y += f x."""
    for k in vectorized(range(y.size)):
        y[k] += f * x[k]


def add_product(A, n, x, y):
    """y += A' x, of the first n rows of A and numbers of x."""
    for i in range(n):
        f, row = x[i], A[i]
        if f != 0:
            for j in vectorized(range(y.size)):
                y[j] += f * row[j]


def factor_pivoted(F, n, order):
    """Factorize the first n rows of F = P' L U by Gaussian elimination with partial pivoting; L has a unit diagonal."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if absolute(F[i, k]) > absolute(F[best, k]):
                best = i
        order[k] = best
        for j in range(n if best != k else 0):
            F[k, j], F[best, j] = F[best, j], F[k, j]
        for i in range(k + 1, n):
            f = F[i, k] / F[k, k]
            F[i, k] = f
            if f != 0:
                for j in vectorized(range(k + 1, n)):
                    F[i, j] -= f * F[k, j]


def solve_transposed(F, n, order, x):
    """x <- F'^-1 x, for the factors of `factor_pivoted`."""
    for k in range(n):
        x[k] = x[k] / F[k, k]
        f, row = x[k], F[k]
        for j in vectorized(range(k + 1, n)):
            x[j] -= f * row[j]
    for k in range(n - 1, -1, -1):
        f, row = x[k], F[k]
        for j in vectorized(range(k)):
            x[j] -= f * row[j]
    for k in range(n - 1, -1, -1):
        j = order[k]
        x[k], x[j] = x[j], x[k]
