"""Entries for sparse operations on a Jacobian's rows: one vector or matrix per call."""

from __future__ import annotations

import numpy as np

from ..entries.annotations import Integer, Integers, Reals
from ..entries.status import status_of
from . import sparse_rows

multiply, multiply_transposed = sparse_rows.product, sparse_rows.add_transposed_product
divide_ltl, divide_ltdl = sparse_rows.divide_ltl, sparse_rows.divide_ltdl
multiply_rows, null_space = sparse_rows.multiply_rows, sparse_rows.null_space


def product_states(dof_parent: Integers, dof_depth: Integers, last: Integers, J: Reals, x: Reals, y: Reals) -> int:
    """y = J x for every vector of x (count, n), y (count, m)."""
    n, m = dof_parent.size, last.size
    for s in range(x.size // n):
        multiply(dof_parent, dof_depth, last, J.reshape((m, n)), x[s * n : (s + 1) * n], y[s * m : (s + 1) * m])
    return status_of(y)


def transposed_product_states(
    dof_parent: Integers, dof_depth: Integers, last: Integers, J: Reals, x: Reals, y: Reals
) -> int:
    """y += J' x for every vector of x (count, m), y (count, n)."""
    n, m = dof_parent.size, last.size
    for s in range(x.size // m):
        rows = J.reshape((m, n))
        multiply_transposed(dof_parent, dof_depth, last, rows, x[s * m : (s + 1) * m], y[s * n : (s + 1) * n])
    return status_of(y)


def divide(
    dof_parent: Integers,
    dof_depth: Integers,
    row_start: Integers,
    L: Reals,
    unit: Integer,
    last: Integers,
    Y: Reals,
    Z: Reals,
) -> int:
    """Y <- J L^-1 and, for unit L, Z <- Y D^-1; else Z <- Y."""
    shape = (last.size, dof_parent.size)
    if unit == 1:
        divide_ltdl(dof_parent, dof_depth, row_start, L, last, Y.reshape(shape), Z.reshape(shape))
    else:
        divide_ltl(dof_parent, dof_depth, row_start, L, last, Y.reshape(shape), Z.reshape(shape))
    return status_of(Z)


def products_of_rows(dof_parent: Integers, dof_depth: Integers, last: Integers, Y: Reals, Z: Reals, out: Reals) -> int:
    """out = Y Z', symmetric."""
    n, m = dof_parent.size, last.size
    multiply_rows(dof_parent, dof_depth, last, Y.reshape((m, n)), Z.reshape((m, n)), out.reshape((m, m)))
    return status_of(out)


def null_space_of(dof_parent: Integers, dof_depth: Integers, last: Integers, J: Reals, jbar: Reals, N: Reals) -> int:
    """N = 1 - Jbar J, for N initialized with zeros."""
    n, m = dof_parent.size, last.size
    path = np.empty(n, np.int64)
    null_space(dof_parent, dof_depth, last, J.reshape((m, n)), jbar.reshape((n, m)), N.reshape((n, n)), path)
    return status_of(N)
