"""Convex hulls of mesh files, as the few vertices that touch what a robot stands on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError, quoted, shortened
from .frozen import frozen

MOST_VERTICES = 16  # of a hull: more cost time in every step, and hardly change where a link touches a plane
FLAT = 1e-9  # thickness over extent below which points are a plane's or a line's


@lru_cache(maxsize=4096)
def hull_of_file(file: str, scale: tuple[float, ...]) -> np.ndarray:
    """Return the (n, 3) vertices, at most MOST_VERTICES, that stand for the convex hull of a scaled mesh file.

    A file is read once in a process. Raises ModelError for what cannot be read and for meshes without points.
    """
    return frozen(spread(hull_vertices(mesh_points(file) * scale)))


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
    """Return the points (n, 3) of all meshes in a file, in its own axes; raises ModelError for what cannot be read."""
    import trimesh

    try:
        loaded = trimesh.load(file, process=False, skip_materials=True)
        parts = [np.asarray(part, float).reshape(-1, 3) for part in _parts(loaded)]
    except Exception as error:  # whatever readers of a dozen formats raise
        reason = shortened(f"{type(error).__name__}: {error}", 200)
        raise ModelError(f"mesh {quoted(file)} cannot be read: {reason}") from None
    points = np.concatenate([np.zeros((0, 3)), *parts])
    if not len(points) or not np.isfinite(points).all():
        raise ModelError(f"mesh {quoted(file)} has no points, or some that are not finite")
    return points


def _parts(loaded: Any) -> Iterator[np.ndarray]:
    """The points of each geometry of what trimesh has read, placed in the scene if it is one."""
    if not hasattr(loaded, "graph"):
        yield loaded.vertices
        return
    for node in loaded.graph.nodes_geometry:
        transform, name = loaded.graph[node]
        yield loaded.geometry[name].vertices @ transform[:3, :3].T + transform[:3, 3]
