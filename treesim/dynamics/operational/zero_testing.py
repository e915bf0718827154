"""Products with a sparse matrix of any pattern, by testing every element (Featherstone 2010, Figure 7).

The baseline for `SparseJacobian`, whose loops follow the tree's paths. The arithmetic is the same, but every element is
read and tested.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ...engine.call.generic import compiled
from ...errors import ArgumentError
from ...kernels.published.zero_testing import product_states, transposed_product_states
from ...validation.arrays import Argument, real_numbers, refuse_non_finite
from .sparse_jacobian import on_columns


def multiply(A: ArrayLike, x: ArrayLike) -> np.ndarray:
    """Return A x (m,) or (m, k) for A (m, n) and x (n,) or (n, k), skipping the zeros of A.

    Raises ArgumentError (shape, type), NonFiniteError. Cost: m n tests per column, and one multiplication and addition
    for each non-zero element. Source: Featherstone 2010, Figure 7.

    Examples
    --------
    >>> from treesim.dynamics.operational import zero_testing
    >>> zero_testing.multiply([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]], [1.0, 1.0, 1.0])
    array([3., 7.])
    """
    matrix = _matrix(A)
    return _on_columns(product_states, matrix, x, matrix.shape[1], matrix.shape[0])


def multiply_transposed(A: ArrayLike, x: ArrayLike) -> np.ndarray:
    """Return A' x (n,) or (n, k) for A (m, n) and x (m,) or (m, k), skipping the zeros of A.

    Errors and cost as in `multiply`.

    Examples
    --------
    >>> from treesim.dynamics.operational import zero_testing
    >>> zero_testing.multiply_transposed([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]], [1.0, 1.0])
    array([4., 2., 4.])
    """
    matrix = _matrix(A)
    return _on_columns(transposed_product_states, matrix, x, *matrix.shape)


def _matrix(A: ArrayLike) -> np.ndarray:
    matrix = np.ascontiguousarray(real_numbers("A", A))
    if matrix.ndim != 2:
        raise ArgumentError(f"A must be one (m, n) matrix, got shape {matrix.shape}")
    refuse_non_finite([Argument("A", A, matrix.shape)], [matrix])
    return matrix


def _on_columns(entry: Callable[..., int], A: np.ndarray, x: ArrayLike, size: int, result: int) -> np.ndarray:
    return on_columns(partial(compiled(entry), *A.shape, A.reshape(-1)), x, size, result)
