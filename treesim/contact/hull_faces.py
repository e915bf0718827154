"""Planes of the faces of a convex hull."""

from __future__ import annotations

import numpy as np

from ..model.hulls import convex_hull

SAME = 1e-9  # difference of two planes of one face that is cut in two


def face_planes(vertices: np.ndarray) -> np.ndarray:
    """Return normals and offsets (k, 4) of the planes n . x = d of a hull's faces; none if the hull is flat.

    vertices: (n, 3).
    """
    hull = convex_hull(vertices)
    if hull is None:
        return np.zeros((0, 4))
    planes = hull.equations
    kept = np.unique(np.round(planes / SAME).astype(np.int64), axis=0, return_index=True)[1]
    return planes[kept] * (1, 1, 1, -1)
