"""Selections of the six rows of a frame's velocity, for tasks and constraints."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, NonFiniteError
from ...types import RowNames
from ...validation.arrays import Argument, coerce
from ...validation.values import is_name_of, known_name

ROWS = {"all": np.eye(6), "linear": np.eye(6)[:3], "angular": np.eye(6)[3:]}
Rows: TypeAlias = RowNames | ArrayLike | None  # None is "all"


def is_all(rows: Any) -> bool:
    """Return whether `rows` selects all rows by name."""
    return rows is None or is_name_of(rows, ("all",))


def row_matrix(label: str, rows: Rows, width: int = 6) -> np.ndarray:
    """Return the matrix (r, width) of `rows`: a name or an array; only six rows have "linear" and "angular" ones.

    Raises UnknownNameError, ArgumentError (shape) and NonFiniteError with the label.
    """
    if is_all(rows):
        return ROWS["all"] if width == 6 else np.eye(width)
    if isinstance(rows, str):
        known = tuple(ROWS) if width == 6 else ("all",)
        return ROWS[known_name("name", rows, known, of=label)]
    matrix = coerce(Argument(label, rows, (width,)))  # type: ignore[arg-type]
    if matrix.ndim != 2:
        raise ArgumentError(f"{label} must be a (r, {width}) matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise NonFiniteError(f"{label} contain NaN or infinity")
    return matrix
