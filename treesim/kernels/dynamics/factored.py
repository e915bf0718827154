"""Entries for sparse factors of given matrices: factorization, and products and solves with many vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import select
from ..algebra.state_lanes import OnLanes, gathered, lane_count, scattered
from ..entries.annotations import Integer, Integers, Reals, TableOfReals
from ..entries.status import FINE, NOT_FINITE, status_of
from . import ltdl, ltl

MULTIPLY, MULTIPLY_TRANSPOSED, SOLVE_LOWER, SOLVE_LOWER_TRANSPOSED, SOLVE = 0, 1, 2, 3, 4


class Entries(NamedTuple):
    """Entries for the factors of one kind."""

    factorize: Any
    factorize_matrix: Any
    apply: Any
    apply_on_lanes: Any


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
        return apply(dof_parent, dof_depth, row_start, L, operation, 0, x, apply_to_each)

    def apply_on_lanes(
        dof_parent: Integers, dof_depth: Integers, row_start: Integers, L: Reals, operation: Integer, columns: Integer,
        x: Reals,
    ) -> int:  # fmt: skip
        """Apply an operation of the factors L (count, nnz) to the columns of x (count, n, columns), in place."""
        return apply(dof_parent, dof_depth, row_start, L, operation, columns, x, apply_to_columns)

    def apply(dof_parent, dof_depth, row_start, L, operation, columns, x, apply_to):
        """Apply an operation by `apply_to_each` or `apply_to_columns`."""
        if operation == MULTIPLY:
            apply_to(L, x, columns, dof_parent, dof_depth, row_start, multiply)
        elif operation == MULTIPLY_TRANSPOSED:
            apply_to(L, x, columns, dof_parent, dof_depth, row_start, multiply_transposed)
        elif operation == SOLVE_LOWER:
            apply_to(L, x, columns, dof_parent, dof_depth, row_start, solve_lower)
        elif operation == SOLVE_LOWER_TRANSPOSED:
            apply_to(L, x, columns, dof_parent, dof_depth, row_start, solve_lower_transposed)
        else:
            apply_to(L, x, columns, dof_parent, dof_depth, row_start, solve)
        return status_of(x)

    factorize_each.__name__, apply_each.__name__ = f"factorize_{name}", f"apply_{name}"
    factorize_matrix.__name__, apply_on_lanes.__name__ = f"factorize_matrix_{name}", f"apply_{name}_on_lanes"
    apply_on_lanes.fuses = False  # as of single vectors  # type: ignore[attr-defined]
    return Entries(factorize_each, factorize_matrix, apply_each, apply_on_lanes)


def is_packed(dof_parent, dof_depth, row_start, H, L):
    """Pack the lower triangle of H; return whether H is zero outside the pattern of the tree."""
    outside = 0
    for i in range(dof_parent.size):
        for j in range(dof_parent.size):
            outside += select(H[i, j] != 0, 1, 0)
    for i in range(dof_parent.size):
        at, j = row_start[i] + dof_depth[i], dof_parent[i]
        L[at] = H[i, i]
        outside -= select(H[i, i] != 0, 1, 0)
        while j >= 0:
            at -= 1
            L[at] = H[i, j]
            outside -= select(H[i, j] != 0, 1, 0) + select(H[j, i] != 0, 1, 0)
            j = dof_parent[j]
    return outside == 0


def apply_to_each(L, x, columns, dof_parent, dof_depth, row_start, operation):
    """Apply one operation of each of the factors L (count, nnz) to its vectors of x (count, k, n), in place."""
    n, nnz = dof_parent.size, packed_size(dof_depth, row_start)
    count = L.size // nnz if nnz > 0 else 0
    for s in range(x.size // n if n > 0 else 0):
        m = s // (x.size // n // count)  # number of the vector's matrix
        operation(dof_parent, dof_depth, row_start, L[m * nnz : (m + 1) * nnz], x[s * n : (s + 1) * n])


def apply_to_columns(L, x, columns, dof_parent, dof_depth, row_start, operation):
    """Apply one operation of each of the factors to its columns of x (count, n, columns), one on each SIMD lane."""
    n, nnz = dof_parent.size, packed_size(dof_depth, row_start)
    b, place = np.empty(n, OnLanes), np.empty(lane_count(), np.int64)
    for m in range(L.size // nnz if nnz > 0 else 0):
        for s in range(0, columns, place.size):
            for k in range(place.size):
                place[k] = m * n * columns + min(s + k, columns - 1)
            for i in range(n):
                b[i] = gathered(x, i * columns, 1, place)
            operation(dof_parent, dof_depth, row_start, L[m * nnz : (m + 1) * nnz], b)
            for i in range(n):
                scattered(x, i * columns, 1, place, b[i])


LTDL, LTL = _entries("ltdl", ltdl), _entries("ltl", ltl)
