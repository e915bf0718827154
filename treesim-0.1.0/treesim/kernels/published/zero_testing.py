"""Products with a matrix whose elements are tested for zero before they are used (F10 Figure 7).

The common method for sparse matrices, for comparison with the loops along paths of `sparse_rows`. It needs no pattern,
does the same arithmetic, and reads every element.
"""

from __future__ import annotations

from ..entries.annotations import Integer, Reals
from ..entries.status import status_of


def product(A, x, y):
    """y = A x (F10 Figure 7)."""
    for i in range(A.shape[0]):
        y[i] = 0
        for j in range(A.shape[1]):
            if A[i, j] != 0:
                y[i] += A[i, j] * x[j]


def transposed_product(A, x, y):
    """y = A' x, A read by rows as in Figure 7."""
    for j in range(A.shape[1]):
        y[j] = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] != 0:
                y[j] += A[i, j] * x[i]


def product_states(m: Integer, n: Integer, A: Reals, x: Reals, y: Reals) -> int:
    """y = A x, A (m, n), for every vector of x (count, n), y (count, m)."""
    for s in range(x.size // n):
        product(A.reshape((m, n)), x[s * n : (s + 1) * n], y[s * m : (s + 1) * m])
    return status_of(y)


def transposed_product_states(m: Integer, n: Integer, A: Reals, x: Reals, y: Reals) -> int:
    """y = A' x, A (m, n), for every vector of x (count, m), y (count, n)."""
    for s in range(x.size // m):
        transposed_product(A.reshape((m, n)), x[s * m : (s + 1) * m], y[s * n : (s + 1) * n])
    return status_of(y)
