"""Convex hulls of mesh files, as the few vertices that touch what a robot stands on."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..errors import ModelError, quoted
from ..meshes import read_parts
from .frozen import frozen

MOST_VERTICES = 16  # of a hull: more cost time in every step, and hardly change where a link touches a plane
LARGEST = 1e9  # [m] of a coordinate
FLAT = 1e-9  # thickness over extent below which points are a plane's or a line's


@lru_cache(maxsize=4096)
def hull_of_file(file: str, scale: tuple[float, ...]) -> np.ndarray:
    """Return the (n, 3) vertices, at most MOST_VERTICES, that stand for the convex hull of a scaled mesh file.

    A file is read once in a process. Raises ModelError for what cannot be read, and for a scale that makes it too
    large.
    """
    with np.errstate(over="ignore"):
        points = mesh_points(file) * scale
    if np.abs(points).max() > LARGEST:
        raise ModelError(f"mesh {quoted(file)}, scaled by {scale}, reaches beyond {LARGEST:g} m")
    return frozen(spread(hull_vertices(points)))


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return those of `points` (n, 3) that are vertices of their convex hull, which may be flat, a line or a point."""
    points = distinct(points)
    centred = points - points.mean(axis=0)
    _, extents, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((extents > FLAT * extents[0]).sum()) if extents[0] > 0 else 0
    if rank == 0:
        return points[:1]
    along = centred @ axes[:rank].T  # coordinates in the plane or on the line that holds them
    if rank == 1:
        return points[[along[:, 0].argmin(), along[:, 0].argmax()]]
    from scipy.spatial import ConvexHull

    return points[ConvexHull(along).vertices]


def distinct(points: np.ndarray) -> np.ndarray:
    """Return each of `points` (n, 3) once, ordered by x, then y, then z; faster than np.unique of rows."""
    ordered = points[np.lexsort(points.T[::-1])]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    return ordered[new]


def spread(points: np.ndarray, most: int = MOST_VERTICES) -> np.ndarray:
    """Return at most `most` of `points` (n, 3), each the farthest from those before it, beginning with the one that is
    farthest from their mean: farthest-point selection. O(n most)."""
    distance = np.linalg.norm(points - points.mean(axis=0), axis=1)
    chosen: list[int] = []
    while len(chosen) < min(most, len(points)):
        chosen.append(int(distance.argmax()))
        from_last = np.linalg.norm(points - points[chosen[-1]], axis=1)
        distance = from_last if len(chosen) == 1 else np.minimum(distance, from_last)
    return points[chosen]


def mesh_points(file: str) -> np.ndarray:
    """Return the vertices (n, 3) of all triangles in a mesh file [m]; raises ModelError for what cannot be read."""
    return np.concatenate([part.vertices for part in read_parts(file)])
