"""Heights of static surfaces over points of the plane z = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .ground import Ground, HeightField, StaticBox, Surface
from .mesh_heights import ON_BORDER, UPRIGHT
from .static_mesh import StaticMesh

TABLE = "_height_table"  # attribute of a static mesh, made when it is first needed
CELLS = 256  # of a mesh's table, at most, along x and along y


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


def surface_heights(surface: Surface, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the largest height z (n,) of a surface over points x, y (n,); -inf where there is none."""
    found: np.ndarray = HEIGHTS[type(surface)](surface, x, y)
    return found


def _of_plane(plane: Ground, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    nx, ny, nz = np.asarray(plane.normal)
    if nz <= UPRIGHT:  # a wall, or a ceiling
        return np.full(x.shape, -np.inf)
    return np.asarray((plane.height - nx * x - ny * y) / nz)


def _of_box(box: StaticBox, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where vertical lines leave a box, which is the part between three pairs of planes."""
    R, half = np.asarray(box.placement.rotation), np.asarray(box.size) / 2
    center = np.asarray(box.placement.translation)
    enters, leaves = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    for k in range(3):
        at, slope = (x - center[0]) * R[0, k] + (y - center[1]) * R[1, k], R[2, k]
        if abs(slope) <= UPRIGHT:  # the line is parallel to these planes
            leaves[np.abs(at) > half[k] + ON_BORDER] = -np.inf
            continue
        ends = np.stack([(-half[k] - at) / slope, (half[k] - at) / slope])
        np.maximum(enters, ends.min(axis=0), out=enters)
        np.minimum(leaves, ends.max(axis=0), out=leaves)
    return np.where(enters <= leaves + ON_BORDER, center[2] + leaves, -np.inf)


def _of_field(field: HeightField, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return heights on the two triangles of each cell, which share the diagonal from its corner of least x and y."""
    heights, last = np.asarray(field.heights), np.array(np.shape(field.heights)) - 1
    places = []
    for at, spacing, center, n in zip((x, y), np.asarray(field.spacing), np.asarray(field.center), last, strict=True):
        places.append((at - center) / spacing + n / 2)
    inside = np.all([(at >= -ON_BORDER) & (at <= n + ON_BORDER) for at, n in zip(places, last, strict=True)], axis=0)
    (i, u), (j, w) = (_cell(at, int(n)) for at, n in zip(places, last, strict=True))
    low, high = heights[i, j], heights[i + 1, j + 1]
    along_x = low + u * (heights[i + 1, j] - low) + w * (high - heights[i + 1, j])
    along_y = low + w * (heights[i, j + 1] - low) + u * (high - heights[i, j + 1])
    return np.where(inside, np.where(u >= w, along_x, along_y), -np.inf)


def _cell(at: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of places in units of cells, within the grid, and the place in the cell."""
    k = np.clip(np.floor(at), 0, cells - 1).astype(int)
    return k, at - k


def _of_mesh(mesh: StaticMesh, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if TABLE not in vars(mesh):
        object.__setattr__(mesh, TABLE, height_table(mesh.world_vertices[np.asarray(mesh.triangles)]))
    table: HeightTable = vars(mesh)[TABLE]
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
    heights = np.full(x.shape, -np.inf)
    np.maximum.at(heights, point[on], (a[:, 2] + s * u[:, 2] + t * w[:, 2])[on])
    return heights


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
    spans = last - first + 1
    count = spans.prod(axis=1)
    owner = np.repeat(np.arange(len(triangles)), count)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    i, j = first[owner, 0] + within // spans[owner, 1], first[owner, 1] + within % spans[owner, 1]
    number = i * shape[1] + j
    order = np.argsort(number, kind="stable")
    begins = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=int(shape.prod())))])
    return HeightTable(triangles, low, size, (int(shape[0]), int(shape[1])), begins, owner[order])


HEIGHTS: dict[type, Callable[[Any, np.ndarray, np.ndarray], np.ndarray]] = {
    Ground: _of_plane,
    StaticBox: _of_box,
    HeightField: _of_field,
    StaticMesh: _of_mesh,
}
