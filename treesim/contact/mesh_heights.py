"""Heights of the upper surface of a triangle mesh: over points of the plane z = 0, and as a height field."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..meshes import read_parts
from ..validation.arrays import real_numbers
from ..validation.values import short_repr
from .surface import ON_BORDER, UPRIGHT

CELLS = 256  # of a table, at most, along x and along y
POINTS = 1 << 14  # looked up together, to limit the memory


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


class Lists(NamedTuple):
    """Items of the cells of a grid: of cell c, items[starts[c] : starts[c + 1]]."""

    starts: np.ndarray
    items: np.ndarray


class HeightTable(NamedTuple):
    """Triangles of a mesh by the cells of a regular grid over the plane.

    triangles (m, 3, 3): in the world, those that are not upright. low (2,), size (2,): corner of the grid, and lengths
    of its cells [m]. first (nx ny + 1,): where each cell's triangles begin among `members`.
    """

    triangles: np.ndarray
    low: np.ndarray
    size: np.ndarray
    shape: tuple[int, int]
    first: np.ndarray
    members: np.ndarray


def height_table(triangles: np.ndarray) -> HeightTable:
    """Return the table of triangles (m, 3, 3) in the world, whose cells are about as large as the triangles."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    triangles = triangles[np.abs(normals[:, 2]) > UPRIGHT * np.linalg.norm(normals, axis=1)]
    if not len(triangles):
        return HeightTable(triangles, np.zeros(2), np.ones(2), (1, 1), np.zeros(2, int), np.empty(0, int))
    least, most = triangles[:, :, :2].min(axis=1) - ON_BORDER, triangles[:, :, :2].max(axis=1) + ON_BORDER
    low, extent = least.min(axis=0), most.max(axis=0) - least.min(axis=0)
    shape = np.clip(np.ceil(extent / np.mean(most - least, axis=0)), 1, CELLS).astype(int)
    size = extent / shape
    first, last = (np.clip((x - low) // size, 0, shape - 1).astype(int) for x in (least, most))
    return HeightTable(triangles, low, size, (int(shape[0]), int(shape[1])), *lists_of_cells(first, last, shape))


def lists_of_cells(first: np.ndarray, last: np.ndarray, shape: np.ndarray) -> Lists:
    """Return lists of items for the cells of a grid (nx, ny): item k is in the cells first[k] to last[k], both (2,)."""
    spans = last - first + 1
    count = spans.prod(axis=1)
    item = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(item)) - np.repeat(np.cumsum(count) - count, count)
    i, j = first[item, 0] + within // spans[item, 1], first[item, 1] + within % spans[item, 1]
    cell = i * shape[1] + j
    order = np.argsort(cell, kind="stable")
    return Lists(np.searchsorted(cell[order], np.arange(shape.prod() + 1)), item[order])


def upper_heights(table: HeightTable, x: np.ndarray, y: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
    """Return the largest height (n,) of a mesh over points x, y (n,); -inf where there is none.

    z (n,): of the parts of the solid that begin at most there.
    """
    parts = [slice(k, k + POINTS) for k in range(0, len(x), POINTS)]
    of = [_upper_heights(table, x[part], y[part], None if z is None else z[part]) for part in parts]
    return np.concatenate([np.empty(0), *of])


def _upper_heights(table: HeightTable, x: np.ndarray, y: np.ndarray, z: np.ndarray | None) -> np.ndarray:
    at = np.stack([x, y], axis=-1)
    cell = np.floor((at - table.low) / table.size)
    inside = ((cell >= 0) & (cell < table.shape)).all(axis=-1)
    number = np.where(inside, cell[..., 0] * table.shape[1] + cell[..., 1], 0).astype(int)
    count = np.where(inside, table.first[number + 1] - table.first[number], 0)
    point = np.repeat(np.arange(len(x)), count)
    within = np.arange(len(point)) - np.repeat(np.cumsum(count) - count, count)
    a, b, c = np.moveaxis(table.triangles[table.members[table.first[number[point]] + within]], 1, 0)
    (px, py), u, w = (at[point] - a[:, :2]).T, b - a, c - a
    area = u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]
    s, t = (px * w[:, 1] - py * w[:, 0]) / area, (py * u[:, 0] - px * u[:, 1]) / area
    on = (s >= -ON_BORDER) & (t >= -ON_BORDER) & (s + t <= 1 + ON_BORDER)
    heights = np.full(len(x), -np.inf)
    point, height = point[on], (a[:, 2] + s * u[:, 2] + t * w[:, 2])[on]
    if z is not None and np.isfinite(z).any():
        begins = _begins(point, height, area[on] > 0)
        met = begins <= z[point] + ON_BORDER
        point, height = point[met], height[met]
    np.maximum.at(heights, point, height)
    return heights


def _begins(point: np.ndarray, height: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return the height (k,) at which the solid under each crossing of a vertical line with a mesh begins.

    point, height, up (k,): the line, the height, and whether the triangle faces up. That is the crossing next below of
    a triangle that faces down, -inf without one, and inf for triangles that face down.
    """
    order = np.lexsort((~up, height, point))
    last = np.maximum.accumulate(np.where(up[order], -1, np.arange(len(order))))
    known = (last >= 0) & (point[order[last]] == point[order])
    begins = np.empty(len(order))
    begins[order] = np.where(up[order], np.where(known, height[order[last]], -np.inf), np.inf)
    return begins


def field_of_mesh(mesh: Any, spacing: np.ndarray) -> tuple[np.ndarray, tuple[float, float], tuple[float, float]]:
    """Return heights, spacing and centre of the height field of a mesh's upper surface.

    Raises ArgumentError, with the place, if there is a node of the grid without a triangle above or below it.
    """
    triangles = triangles_of(mesh)
    x, y = (axis_nodes(triangles[:, :, axis], float(spacing[axis])) for axis in range(2))
    if not (x[0] < x[-1] and y[0] < y[-1]):
        raise ArgumentError("the mesh has no extent along x or y: it must lie below a rectangle of the plane z = 0")
    nodes = np.meshgrid(x, y, indexing="ij")
    heights = upper_heights(height_table(triangles), *(each.ravel() for each in nodes)).reshape(len(x), len(y))
    if np.isneginf(heights).any():
        i, j = np.argwhere(np.isneginf(heights))[0]
        raise ArgumentError(
            f"the mesh has no triangle at x = {x[i]:g}, y = {y[j]:g}: it must cover its bounding rectangle, "
            f"from ({x[0]:g}, {y[0]:g}) to ({x[-1]:g}, {y[-1]:g})"
        )
    return heights, (x[1] - x[0], y[1] - y[0]), ((x[0] + x[-1]) / 2, (y[0] + y[-1]) / 2)
