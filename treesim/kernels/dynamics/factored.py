"""Entries for sparse factors of given matrices: factorization, and products and solves with many vectors."""

from __future__ import annotations

from ..entries.annotations import Integer, Integers, Reals, TableOfReals
from ..entries.status import FINE, NOT_FINITE, status_of
from . import ltdl, ltl

MULTIPLY, MULTIPLY_TRANSPOSED, SOLVE_LOWER, SOLVE_LOWER_TRANSPOSED, SOLVE = 0, 1, 2, 3, 4


def packed_size(dof_depth, row_start):
    """Return nnz, the number of entries of one packed matrix."""
    n = dof_depth.size
    return row_start[n - 1] + dof_depth[n - 1] + 1 if n > 0 else 0


def _entries(name, factors):
    """Return the entries for the factors of a module: factorization of matrices, and operations on vectors."""
    factorize, multiply, multiply_transposed = factors.factorize, factors.multiply, factors.multiply_transposed
    solve_lower, solve_lower_transposed, solve = factors.solve_lower, factors.solve_lower_transposed, factors.solve

    def factorize_each(dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals) -> int:
        """Overwrite packed matrices H (count, nnz) by their factors."""
        nnz = packed_size(dof_depth, row_start)
        for s in range(L.size // nnz if nnz > 0 else 0):
            factorize(dof_parent, dof_depth, row_start, L[s * nnz : (s + 1) * nnz])
        return status_of(L)

    def factorize_matrix(
        dof_parent: Integers, dof_depth: Integers, row_start: Integers, H: TableOfReals, L: Reals
    ) -> int:
        """Pack a matrix H (n, n), and overwrite L by its factors; NOT_FINITE if H is none of a tree, or singular."""
        n = dof_parent.size
        if status_of(H) != FINE or not is_packed(dof_parent, dof_depth, row_start, H.reshape((n, n)), L):
            return NOT_FINITE
        factorize(dof_parent, dof_depth, row_start, L)
        if status_of(L) != FINE:
            return NOT_FINITE
        for k in range(n):
            if not L[row_start[k] + dof_depth[k]] > 0:
                return NOT_FINITE
        return FINE

    def apply_each(
        dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, x: Reals
    ) -> int:
        """Apply an operation of the factors L (count, nnz) to their vectors of x (count, k, n), in place."""
        if operation == MULTIPLY:
            apply_to_each(L, x, dof_parent, dof_depth, row_start, multiply)
        elif operation == MULTIPLY_TRANSPOSED:
            apply_to_each(L, x, dof_parent, dof_depth, row_start, multiply_transposed)
        elif operation == SOLVE_LOWER:
            apply_to_each(L, x, dof_parent, dof_depth, row_start, solve_lower)
        elif operation == SOLVE_LOWER_TRANSPOSED:
            apply_to_each(L, x, dof_parent, dof_depth, row_start, solve_lower_transposed)
        else:
            apply_to_each(L, x, dof_parent, dof_depth, row_start, solve)
        return status_of(x)

    factorize_each.__name__, apply_each.__name__ = f"factorize_{name}", f"apply_{name}"
    factorize_matrix.__name__ = f"factorize_matrix_{name}"
    return factorize_each, apply_each, factorize_matrix


def is_packed(dof_parent, dof_depth, row_start, H, L):
    """Pack the lower triangle of H; return whether H is zero outside the pattern of the tree."""
    outside = 0
    for i in range(dof_parent.size):
        ancestor = dof_parent[i]
        L[row_start[i] + dof_depth[i]] = H[i, i]
        for j in range(i - 1, -1, -1):
            if j == ancestor:
                L[row_start[i] + dof_depth[j]] = H[i, j]
                ancestor = dof_parent[j]
            elif not (H[i, j] == 0 and H[j, i] == 0):
                outside = 1
    return outside == 0


def apply_to_each(L, x, dof_parent, dof_depth, row_start, operation):
    """Apply one operation of each of the factors L (count, nnz) to its vectors of x (count, k, n), in place."""
    n, nnz = dof_parent.size, packed_size(dof_depth, row_start)
    count = L.size // nnz if nnz > 0 else 0
    for s in range(x.size // n if n > 0 else 0):
        m = s // (x.size // n // count)  # number of the vector's matrix
        operation(dof_parent, dof_depth, row_start, L[m * nnz : (m + 1) * nnz], x[s * n : (s + 1) * n])


factorize_ltdl, apply_ltdl, factorize_matrix_ltdl = _entries("ltdl", ltdl)
factorize_ltl, apply_ltl, factorize_matrix_ltl = _entries("ltl", ltl)
