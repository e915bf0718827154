"""Entries for sparse factors of given matrices: factorization, and products and solves with many vectors."""

from __future__ import annotations

from ..entries.annotations import Integer, Integers, Reals
from ..entries.status import status_of
from . import ltdl, ltl

MULTIPLY, MULTIPLY_TRANSPOSED, SOLVE_LOWER, SOLVE_LOWER_TRANSPOSED, SOLVE = 0, 1, 2, 3, 4

ltdl_factorize, ltl_factorize = ltdl.factorize, ltl.factorize
ltdl_multiply, ltl_multiply = ltdl.multiply, ltl.multiply
ltdl_multiply_transposed, ltl_multiply_transposed = ltdl.multiply_transposed, ltl.multiply_transposed
ltdl_solve_lower, ltl_solve_lower = ltdl.solve_lower, ltl.solve_lower
ltdl_solve_lower_transposed, ltl_solve_lower_transposed = ltdl.solve_lower_transposed, ltl.solve_lower_transposed
ltdl_solve, ltl_solve = ltdl.solve, ltl.solve


def packed_size(dof_depth, row_start):
    """Return nnz, the number of entries of one packed matrix."""
    n = dof_depth.size
    return row_start[n - 1] + dof_depth[n - 1] + 1 if n > 0 else 0


def factorize_each(L, dof_parent, dof_depth, row_start, operation):
    """Factorize every packed matrix of L (count, nnz), in place."""
    nnz = packed_size(dof_depth, row_start)
    for s in range(L.size // nnz if nnz > 0 else 0):
        operation(dof_parent, dof_depth, row_start, L[s * nnz : (s + 1) * nnz])


def factorize_ltdl(dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals) -> int:
    """Overwrite packed matrices H (count, nnz) by their factors L, D."""
    factorize_each(L, dof_parent, dof_depth, row_start, ltdl_factorize)
    return status_of(L)


def factorize_ltl(dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals) -> int:
    """Overwrite packed matrices H (count, nnz) by their factors L."""
    factorize_each(L, dof_parent, dof_depth, row_start, ltl_factorize)
    return status_of(L)


def apply_to_each(L, x, dof_parent, dof_depth, row_start, operation):
    """Apply one operation of each of the factors L (count, nnz) to its vectors of x (count, k, n), in place."""
    n, nnz = dof_parent.size, packed_size(dof_depth, row_start)
    count = L.size // nnz if nnz > 0 else 0
    for s in range(x.size // n if n > 0 else 0):
        m = s // (x.size // n // count)  # number of the vector's matrix
        operation(dof_parent, dof_depth, row_start, L[m * nnz : (m + 1) * nnz], x[s * n : (s + 1) * n])


def apply_ltdl(
    dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, x: Reals
) -> int:
    """Apply an operation of the LTDL factors L (count, nnz) to their vectors of x (count, k, n), in place."""
    if operation == MULTIPLY:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltdl_multiply)
    elif operation == MULTIPLY_TRANSPOSED:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltdl_multiply_transposed)
    elif operation == SOLVE_LOWER:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltdl_solve_lower)
    elif operation == SOLVE_LOWER_TRANSPOSED:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltdl_solve_lower_transposed)
    else:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltdl_solve)
    return status_of(x)


def apply_ltl(
    dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, x: Reals
) -> int:
    """Apply an operation of the LTL factors L (count, nnz) to their vectors of x (count, k, n), in place."""
    if operation == MULTIPLY:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltl_multiply)
    elif operation == MULTIPLY_TRANSPOSED:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltl_multiply_transposed)
    elif operation == SOLVE_LOWER:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltl_solve_lower)
    elif operation == SOLVE_LOWER_TRANSPOSED:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltl_solve_lower_transposed)
    else:
        apply_to_each(L, x, dof_parent, dof_depth, row_start, ltl_solve)
    return status_of(x)
