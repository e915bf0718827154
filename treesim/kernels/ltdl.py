"""Sparse factorization H = L' D L, L unit lower triangular, without fill-in (F05, section 4).

All matrices are packed by ancestor depth: the row of an ancestor of k is a prefix of the path of k, so every update
is one run of neighbours in memory. D stands on the diagonal of L.
"""

from __future__ import annotations


def factorize(dof_parent, dof_depth, row_start, L):
    """Replace H by its factors (F05 algorithm LTDL). Cost D1 div + D2 (mul + add)."""
    for k in range(dof_parent.size - 1, -1, -1):
        row = row_start[k]
        D_inv = 1 / L[row + dof_depth[k]]
        i = dof_parent[k]
        while i >= 0:  # nearest ancestor first: the entries above are still unscaled
            row_i, depth = row_start[i], dof_depth[i]
            a = L[row + depth] * D_inv
            source, target = L[row : row + depth + 1], L[row_i : row_i + depth + 1]  # apart, as compilers then see
            for e in range(depth + 1):
                target[e] -= source[e] * a
            L[row + depth] = a
            i = dof_parent[i]


def multiply(dof_parent, dof_depth, row_start, L, x):
    """x <- L x, in place."""
    for i in range(dof_parent.size - 1, -1, -1):
        j = dof_parent[i]
        while j >= 0:
            x[i] += L[row_start[i] + dof_depth[j]] * x[j]
            j = dof_parent[j]


def multiply_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L' x, in place: row i is done with before any of its ancestors' entries is used as a factor."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0:
            x[j] += L[row_start[i] + dof_depth[j]] * x[i]
            j = dof_parent[j]


def solve_lower(dof_parent, dof_depth, row_start, L, x):
    """x <- L^-1 x, in place."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0:
            x[i] -= L[row_start[i] + dof_depth[j]] * x[j]
            j = dof_parent[j]


def solve_lower_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L'^-1 x, in place."""
    for i in range(dof_parent.size - 1, -1, -1):
        j = dof_parent[i]
        while j >= 0:
            x[j] -= L[row_start[i] + dof_depth[j]] * x[i]
            j = dof_parent[j]


def solve_diagonal(dof_depth, row_start, L, x):
    """x <- D^-1 x, in place."""
    for i in range(dof_depth.size):
        x[i] = x[i] / L[row_start[i] + dof_depth[i]]


def solve(dof_parent, dof_depth, row_start, L, x):
    """x <- H^-1 x = L^-1 D^-1 L'^-1 x, in place (F05 eq. 12)."""
    solve_lower_transposed(dof_parent, dof_depth, row_start, L, x)
    solve_diagonal(dof_depth, row_start, L, x)
    solve_lower(dof_parent, dof_depth, row_start, L, x)


def subtract_multiple(X, j, a, i):
    """Row j of X loses a times row i."""
    for c in range(X.shape[1]):
        X[j, c] -= a * X[i, c]


def solve_matrix(dof_parent, dof_depth, row_start, L, X):
    """X <- H^-1 X for a matrix, in place: `solve` with rows of X in the part of a vector's elements."""
    for i in range(dof_parent.size - 1, -1, -1):
        j = dof_parent[i]
        while j >= 0:
            subtract_multiple(X, j, L[row_start[i] + dof_depth[j]], i)
            j = dof_parent[j]
    for i in range(dof_parent.size):
        D_inv = 1 / L[row_start[i] + dof_depth[i]]
        for c in range(X.shape[1]):
            X[i, c] = X[i, c] * D_inv
        j = dof_parent[i]
        while j >= 0:
            subtract_multiple(X, i, L[row_start[i] + dof_depth[j]], j)
            j = dof_parent[j]
