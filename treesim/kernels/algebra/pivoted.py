"""Gaussian elimination of full matrices, with and without pivots; loops run along rows, and are vectorized."""

from .numbers import absolute, sqrt, vectorized


def factor_from_last(A, L, Lt):
    """Factorize a positive definite matrix A = L' L, L lower triangular; Lt is its transpose.

    Elimination begins with the last row. So entries of a mass matrix that are zero off the paths of a tree stay zero.
    On the diagonals of L and Lt are the reciprocals.
    """
    n = A.shape[0]
    for k in range(n):
        copy(A[k], L[k])
    for k in range(n - 1, -1, -1):
        row, root = L[k], 1 / sqrt(L[k, k])
        for j in vectorized(range(k + 1)):
            row[j] *= root
        for i in range(k):
            f, other = row[i], L[i]
            if f != 0:
                for j in vectorized(range(i + 1)):
                    other[j] -= f * row[j]
        row[k] = root
        for i in range(n):
            Lt[i, k] = row[i] if i <= k else row[k] * 0


def solve_upper(L, x):
    """x <- L'^-1 x, for the factor of `factor_from_last`."""
    for k in range(x.size - 1, -1, -1):
        row = L[k]
        x[k] *= row[k]
        f = x[k]
        if f != 0:
            for j in vectorized(range(k)):
                x[j] -= f * row[j]


def solve_upper_columns(L, X, n):
    """X <- L'^-1 X, as `solve_upper`, for the first n columns of X."""
    for k in range(X.shape[0] - 1, -1, -1):
        row, x = L[k], X[k, :n]
        if not is_zero(x):
            scale(row[k], x)
            for i in range(k):
                if row[i] != 0:
                    add_multiple(-row[i], x, X[i, :n])


def solve_lower(Lt, x):
    """x <- L^-1 x, for the transposed factor of `factor_from_last`."""
    for k in range(x.size):
        row = Lt[k]
        x[k] *= row[k]
        f = x[k]
        for j in vectorized(range(k + 1, x.size)):
            x[j] -= f * row[j]


def copy(x, y):
    """y = x."""
    for k in vectorized(range(y.size)):
        y[k] = x[k]


def scale(f, x):
    """x *= f."""
    for k in vectorized(range(x.size)):
        x[k] *= f


def is_zero(x):
    """Return whether all numbers are zero."""
    found = True
    for k in range(x.size):
        found = found and x[k] == 0
    return found


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
    """Factorize the first n rows of F = P' L U by Gaussian elimination with partial pivoting.

    L has a unit diagonal, and on the diagonal of U are the reciprocals.
    """
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if absolute(F[i, k]) > absolute(F[best, k]):
                best = i
        order[k] = best
        for j in range(n if best != k else 0):
            F[k, j], F[best, j] = F[best, j], F[k, j]
        F[k, k] = 1 / F[k, k]
        for i in range(k + 1, n):
            f = F[i, k] * F[k, k]
            F[i, k] = f
            if f != 0:
                for j in vectorized(range(k + 1, n)):
                    F[i, j] -= f * F[k, j]


def solve_transposed(F, n, order, x):
    """x <- F'^-1 x, for the factors of `factor_pivoted`."""
    for k in range(n):
        x[k] *= F[k, k]
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
