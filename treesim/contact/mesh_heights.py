"""Heights of the upper surface of a triangle mesh over a regular grid."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..meshes import read_parts
from ..validation.arrays import real_numbers
from ..validation.values import short_repr

ON_BORDER = 1e-9  # of a triangle: as far outside of it a node still counts as inside
UPRIGHT = 1e-12  # projected area of a triangle, relative to its area, below which it has no height


def triangles_of(mesh: Any) -> np.ndarray:
    """Return the triangles (m, 3, 3) of a mesh file, or of (vertices, faces); raises ArgumentError, ModelError."""
    if isinstance(mesh, str | os.PathLike):
        return np.concatenate([part.vertices[part.faces] for part in read_parts(os.fspath(mesh))])
    try:
        vertices, faces = mesh
    except (TypeError, ValueError):
        raise ArgumentError(f"mesh must be a file or (vertices, faces), got {short_repr(mesh)}") from None
    points, corners = real_numbers("vertices of a mesh", vertices), np.asarray(faces)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ArgumentError(f"vertices of a mesh must be finite, of shape (n, 3), got shape {points.shape}")
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu" or not corners.size:
        raise ArgumentError(f"faces of a mesh must be indices of shape (m, 3), got shape {corners.shape}")
    if corners.min() < 0 or corners.max() >= len(points):
        raise ArgumentError(
            f"faces of a mesh have indices {corners.min()} to {corners.max()}, of {len(points)} vertices"
        )
    return points[corners]


def axis_nodes(values: np.ndarray, spacing: float) -> np.ndarray:
    """Return nodes from the least to the largest value, at equal distances as near to `spacing` as possible."""
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, high, max(2, round((high - low) / spacing) + 1))


def upper_heights(triangles: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the largest height (nx, ny) of triangles (m, 3, 3) at nodes x (nx,), y (ny,); -inf where there is none."""
    heights = np.full((len(x), len(y)), -np.inf)
    low, high = triangles[:, :, :2].min(axis=1) - ON_BORDER, triangles[:, :, :2].max(axis=1) + ON_BORDER
    first = np.column_stack([np.searchsorted(x, low[:, 0]), np.searchsorted(y, low[:, 1])])
    end = np.column_stack([np.searchsorted(x, high[:, 0], "right"), np.searchsorted(y, high[:, 1], "right")])
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    leans = np.abs(normals[:, 2]) > UPRIGHT * np.linalg.norm(normals, axis=1)
    for k in np.flatnonzero(leans & (end > first).all(axis=1)):
        (i, j), (i_end, j_end), (a, b, c) = first[k], end[k], triangles[k]
        px, py = np.meshgrid(x[i:i_end] - a[0], y[j:j_end] - a[1], indexing="ij")
        u, w = b - a, c - a
        area = u[0] * w[1] - u[1] * w[0]
        s, t = (px * w[1] - py * w[0]) / area, (py * u[0] - px * u[1]) / area
        z = np.where(
            (s >= -ON_BORDER) & (t >= -ON_BORDER) & (s + t <= 1 + ON_BORDER), a[2] + s * u[2] + t * w[2], -np.inf
        )
        np.maximum(heights[i:i_end, j:j_end], z, out=heights[i:i_end, j:j_end])
    return heights


def field_of_mesh(mesh: Any, spacing: np.ndarray) -> tuple[np.ndarray, tuple[float, float], tuple[float, float]]:
    """Return heights, spacing and centre of the height field of a mesh's upper surface.

    Raises ArgumentError, with the place, if there is a node of the grid without a triangle above or below it.
    """
    triangles = triangles_of(mesh)
    x, y = (axis_nodes(triangles[:, :, axis], float(spacing[axis])) for axis in range(2))
    if not (x[0] < x[-1] and y[0] < y[-1]):
        raise ArgumentError("the mesh has no extent along x or y: it must lie below a rectangle of the plane z = 0")
    heights = upper_heights(triangles, x, y)
    if np.isneginf(heights).any():
        i, j = np.argwhere(np.isneginf(heights))[0]
        raise ArgumentError(
            f"the mesh has no triangle at x = {x[i]:g}, y = {y[j]:g}: it must cover its bounding rectangle, "
            f"from ({x[0]:g}, {y[0]:g}) to ({x[-1]:g}, {y[-1]:g})"
        )
    return heights, (x[1] - x[0], y[1] - y[0]), ((x[0] + x[-1]) / 2, (y[0] + y[-1]) / 2)
