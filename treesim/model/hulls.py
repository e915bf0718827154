"""Convex hulls of mesh files, reduced to few vertices within 0.1 % of the mesh's size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError, quoted
from ..meshes import read_parts
from .frozen import frozen

ERROR = 1e-3  # of a hull's size: largest distance of omitted vertices from the reduced hull
_DIAGONALS = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]]) / np.sqrt(3)
LARGEST = 1e9  # [m] of a coordinate
FLAT = 1e-9  # thickness over extent below which points are a plane's or a line's


@lru_cache(maxsize=4096)
def hull_of_file(file: str, scale: tuple[float, ...]) -> np.ndarray:
    """Return vertices (n, 3) of the convex hull of a scaled mesh file, reduced to within 0.1 % of its size.

    The result is cached. Raises ModelError for a file that cannot be read and for a scale that makes it too large.
    """
    with np.errstate(over="ignore"):
        points = _unscaled_hull(file) * scale
    if np.abs(points).max() > LARGEST:
        raise ModelError(f"mesh {quoted(file)}, scaled by {scale}, reaches beyond {LARGEST:g} m")
    return frozen(reduced(points if set(scale) == {1.0} else hull_vertices(points)))


@lru_cache(maxsize=4096)
def _unscaled_hull(file: str) -> np.ndarray:
    """Return vertices of the convex hull of a mesh file: the file is read once, whatever the scales of its shapes."""
    return frozen(hull_vertices(mesh_points(file)))


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return the vertices of the convex hull of `points` (n, 3), which may be flat, a line or a point."""
    points = distinct(points)
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((extents > FLAT * extents[0]).sum()) if extents[0] > 0 else 0
    if rank == 0:
        return points[:1]
    along = centred @ axes[:rank].T  # coordinates in their plane or on their line
    if rank == 1:
        return points[[along[:, 0].argmin(), along[:, 0].argmax()]]
    from scipy.spatial import ConvexHull

    return points[ConvexHull(along).vertices]


def convex_hull(points: np.ndarray) -> Any:
    """Return SciPy's convex hull of points (n, 3), None if they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(points)
    except (QhullError, ValueError):  # ValueError: no points
        return None


def distinct(points: np.ndarray) -> np.ndarray:
    """Return `points` (n, 3) without duplicates, ordered by x, then y, then z; faster than np.unique of rows."""
    ordered = points[np.lexsort(points.T[::-1])]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    return ordered[new]


def reduced(points: np.ndarray, error: float = ERROR) -> np.ndarray:
    """Return a subset of the vertices (n, 3) of a convex hull, whose hull approximates the full one.

    All other vertices lie beyond the reduced hull by at most `error` times the diagonal of the bounding box. The
    subset starts with the extreme vertices along 7 directions. The farthest vertex beyond each face is added until none
    is farther than allowed (as in quickhull, Barber et al. 1996). A flat hull is returned unchanged.
    """
    beyond = error * float(np.linalg.norm(np.ptp(points, axis=0)))
    along = points @ np.vstack([np.eye(3), _DIAGONALS]).T
    kept = np.unique([along.argmin(axis=0), along.argmax(axis=0)])
    others = np.setdiff1d(np.arange(len(points)), kept)  # that may be too far beyond; the hull only grows
    while len(others):
        hull = convex_hull(points[kept])
        if hull is None:  # flat, so far
            return points
        faces = hull.equations
        distance = faces[:, :3] @ points[others].T + faces[:, 3:]
        too_far = distance.max(axis=0) > beyond
        farthest = distance.argmax(axis=1)
        new = others[farthest[distance[np.arange(len(faces)), farthest] > beyond]]
        kept, others = np.union1d(kept, new), np.setdiff1d(others[too_far], new)
    return points[kept]


def mesh_points(file: str) -> np.ndarray:
    """Return the vertices (n, 3) of all triangles in a mesh file [m]; raises ModelError if it cannot be read."""
    return np.concatenate([part.vertices for part in read_parts(file)])
