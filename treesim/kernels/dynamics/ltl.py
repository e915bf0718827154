"""Sparse factorization H = L' L without fill-in (F05, section 2); matrices packed by ancestor depth."""

from ..algebra.numbers import sqrt


def factorize(dof_parent, dof_depth, row_start, L):
    """Overwrite H by L (F05 algorithm LTL). Cost n sqrt + D1 div + D2 (mul + add)."""
    for k in range(dof_parent.size - 1, -1, -1):
        row, last = row_start[k], dof_depth[k]
        L[row + last] = sqrt(L[row + last])
        for e in range(last):
            L[row + e] = L[row + e] / L[row + last]
        i = dof_parent[k]
        while i >= 0:
            row_i, depth = row_start[i], dof_depth[i]
            a = L[row + depth]
            source, target = L[row : row + depth + 1], L[row_i : row_i + depth + 1]  # no alias, as compilers then see
            for e in range(depth + 1):
                target[e] -= source[e] * a
            i = dof_parent[i]


def multiply(dof_parent, dof_depth, row_start, L, x):
    """x <- L x, in place."""
    for i in range(dof_parent.size - 1, -1, -1):
        x[i] = L[row_start[i] + dof_depth[i]] * x[i]
        j = dof_parent[i]
        while j >= 0:
            x[i] += L[row_start[i] + dof_depth[j]] * x[j]
            j = dof_parent[j]


def multiply_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L' x, in place; row i is added to its ancestors before its own entry is scaled."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0:
            x[j] += L[row_start[i] + dof_depth[j]] * x[i]
            j = dof_parent[j]
        x[i] = L[row_start[i] + dof_depth[i]] * x[i]


def solve_lower(dof_parent, dof_depth, row_start, L, x):
    """x <- L^-1 x, in place."""
    for i in range(dof_parent.size):
        j = dof_parent[i]
        while j >= 0:
            x[i] -= L[row_start[i] + dof_depth[j]] * x[j]
            j = dof_parent[j]
        x[i] = x[i] / L[row_start[i] + dof_depth[i]]


def solve_lower_transposed(dof_parent, dof_depth, row_start, L, x):
    """x <- L'^-1 x, in place."""
    for i in range(dof_parent.size - 1, -1, -1):
        x[i] = x[i] / L[row_start[i] + dof_depth[i]]
        j = dof_parent[i]
        while j >= 0:
            x[j] -= L[row_start[i] + dof_depth[j]] * x[i]
            j = dof_parent[j]


def solve(dof_parent, dof_depth, row_start, L, x):
    """x <- H^-1 x = L^-1 L'^-1 x, in place."""
    solve_lower_transposed(dof_parent, dof_depth, row_start, L, x)
    solve_lower(dof_parent, dof_depth, row_start, L, x)
