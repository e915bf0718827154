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


def factorize_ltdl(dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals) -> int:
    """Overwrite a packed H by its factors L, D."""
    ltdl_factorize(dof_parent, dof_depth, row_start, L)
    return status_of(L)


def factorize_ltl(dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals) -> int:
    """Overwrite a packed H by its factor L."""
    ltl_factorize(dof_parent, dof_depth, row_start, L)
    return status_of(L)


def apply_to_each(n, x, dof_parent, dof_depth, row_start, L, operation):
    """Apply one operation of the factors to every vector of x (count, n), in place."""
    for s in range(x.size // n):
        operation(dof_parent, dof_depth, row_start, L, x[s * n : (s + 1) * n])


def apply_ltdl(
    dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, x: Reals
) -> int:
    """Apply an operation of the LTDL factors to every vector of x (count, n), in place."""
    n = dof_parent.size
    if operation == MULTIPLY:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltdl_multiply)
    elif operation == MULTIPLY_TRANSPOSED:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltdl_multiply_transposed)
    elif operation == SOLVE_LOWER:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltdl_solve_lower)
    elif operation == SOLVE_LOWER_TRANSPOSED:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltdl_solve_lower_transposed)
    else:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltdl_solve)
    return status_of(x)


def apply_ltl(
    dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, x: Reals
) -> int:
    """Apply an operation of the LTL factors to every vector of x (count, n), in place."""
    n = dof_parent.size
    if operation == MULTIPLY:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltl_multiply)
    elif operation == MULTIPLY_TRANSPOSED:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltl_multiply_transposed)
    elif operation == SOLVE_LOWER:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltl_solve_lower)
    elif operation == SOLVE_LOWER_TRANSPOSED:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltl_solve_lower_transposed)
    else:
        apply_to_each(n, x, dof_parent, dof_depth, row_start, L, ltl_solve)
    return status_of(x)
