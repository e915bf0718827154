"""Checks of triangle meshes that are given as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, shortened, text_of
from ..validation.arrays import check_copy, real_numbers


def checked_vertices(values: Any, most: float) -> np.ndarray:
    """Return a copy of vertices (n, 3), of coordinates up to `most` [m].

    Raises ArgumentError, naming the first vertex that is out of bounds.
    """
    found = real_numbers("vertices", values)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ArgumentError(f"vertices must have shape (n, 3), got {found.shape}")
    check_copy("vertices", found.shape)
    bad = ~(np.abs(found) <= most).all(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"vertices must be finite, none beyond {most:g} m, but vertex {k} is {found[k]}")
    return found.copy()


def checked_triangles(values: Any, count: int) -> np.ndarray:
    """Return a copy of triangles (m, 3); raises ArgumentError, naming the first with an index that does not exist."""
    try:
        found = np.asarray(values)
    except Exception as error:  # whatever a user's class raises
        problem = shortened(text_of(error, str))
        raise ArgumentError(f"triangles must be indices of vertices (m, 3): {problem}") from None
    if found.ndim != 2 or found.shape[1] != 3 or not len(found) or found.dtype.kind not in "iu":
        raise ArgumentError(
            f"triangles must be whole numbers of shape (m, 3), one or more, got {found.dtype} of shape {found.shape}"
        )
    check_copy("triangles", found.shape)
    bad = ((found < 0) | (found >= count)).any(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"triangle {k} has vertices {found[k].tolist()}, but they are 0 to {count - 1}")
    return found.astype(np.int64)
