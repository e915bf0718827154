"""Convex hulls of a link's shapes: volume, extents, and distance of points outside."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..errors import ModelError
from ..model.hulls import convex_hull, hull_vertices, mesh_points
from ..model.solids import BALLS, SOLIDS
from ..urdf.geometry import Geometry

FLAT = 1e-6  # thickness over extent below which points span no volume
ROUND = 24  # points on a circle; the polygon is at most 1 % too narrow


def _sphere() -> np.ndarray:
    """Return points (n, 3) on the unit sphere, on circles of latitude and at the poles."""
    turns = np.arange(ROUND) * (2 * np.pi / ROUND)
    heights = turns[: ROUND // 2 + 1]
    grid = [np.outer(np.sin(heights), np.cos(turns)), np.outer(np.sin(heights), np.sin(turns))]
    return np.stack([*grid, np.outer(np.cos(heights), np.ones(ROUND))], axis=-1).reshape(-1, 3)


SPHERE = _sphere()
CIRCLE = np.stack([SPHERE[:, 0], SPHERE[:, 1], 0 * SPHERE[:, 2]], axis=1)[np.abs(SPHERE[:, 2]) < FLAT]


class Meshes:
    """Vertices of the convex hulls of mesh files, each read once; `unreadable`: files that failed, and the reasons."""

    def __init__(self) -> None:
        self._read: dict[str, np.ndarray | None] = {}
        self.unreadable: dict[str, str] = {}

    def vertices(self, file: str) -> np.ndarray | None:
        """Return the vertices (n, 3) of a file's convex hull in its own axes; None if it cannot be read."""
        if file not in self._read:
            try:
                self._read[file] = hull_vertices(mesh_points(file))
            except ModelError as error:
                self._read[file], self.unreadable[file] = None, str(error)
        return self._read[file]


def points_of(geometry: Geometry) -> np.ndarray:
    """Return points (n, 3) [m] whose convex hull approximates a box, sphere, cylinder or capsule to 1 %.

    The points are in the shape's own axes.
    """
    solid, size = SOLIDS[geometry.kind], geometry.size
    points = solid.points(size)
    if not solid.round:
        return points
    return np.concatenate([(SPHERE if solid.round == BALLS else CIRCLE) * size[0] + point for point in points])


class Hull:
    """Convex hull of points (n, 3) [m]; for degenerate points `volume` is 0 and no point is outside."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = points

    @cached_property
    def _hull(self) -> tuple[float, np.ndarray]:
        """Volume, and faces (f, 4): outward normal n and offset d, n . x + d <= 0 inside."""
        extents = np.linalg.svd(self.points - self.points.mean(axis=0), compute_uv=False) if len(self.points) else [0.0]
        thick = len(self.points) >= 4 and extents[-1] > FLAT * extents[0]
        hull = convex_hull(self.points) if thick else None
        if hull is None:
            return 0.0, np.zeros((0, 4))
        return float(hull.volume), hull.equations

    @property
    def volume(self) -> float:
        """Volume [m^3]."""
        return self._hull[0]

    @property
    def diameter(self) -> float:
        """Length of the diagonal of the axis-aligned bounding box [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0))) if len(self.points) else 0.0

    def outside(self, x: np.ndarray) -> float:
        """Return a lower bound of a point's (3,) distance from the hull [m]; negative inside.

        It is the largest distance from the plane of a face.
        """
        faces = self._hull[1]
        return float((faces[:, :3] @ x + faces[:, 3]).max()) if len(faces) else -np.inf

    def widths(self, axes: np.ndarray) -> np.ndarray:
        """Return the extent (k,) [m] along each column of `axes` (3, k)."""
        return np.ptp(self.points @ axes, axis=0)
