"""Heights of static surfaces over points of the plane z = 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ground import Ground, HeightField, StaticBox, Surface
from .mesh_heights import ON_BORDER, UPRIGHT, height_table, upper_heights
from .static_mesh import StaticMesh

TABLE = "_height_table"  # attribute of a static mesh, made when it is first needed


def surface_heights(surface: Surface, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the largest height (n,) on the lines through points x, y, z (n,) of solids that begin at most at z.

    -inf where there is none. Everything below a plane, a height field, and a mesh without an underside is solid.
    """
    found: np.ndarray = HEIGHTS[type(surface)](surface, x, y, z)
    return found


def _of_plane(plane: Ground, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    nx, ny, nz = np.asarray(plane.normal)
    if nz <= UPRIGHT:  # a wall, or a ceiling
        return np.full(x.shape, -np.inf)
    return np.asarray((plane.height - nx * x - ny * y) / nz)


def _of_box(box: StaticBox, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return where vertical lines leave a box that they enter at most at z: the part between three pairs of planes."""
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
    begins = (enters <= leaves + ON_BORDER) & (center[2] + enters <= z + ON_BORDER)
    return np.where(begins, center[2] + leaves, -np.inf)


def _of_field(field: HeightField, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
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


def _of_mesh(mesh: StaticMesh, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    if TABLE not in vars(mesh):
        object.__setattr__(mesh, TABLE, height_table(mesh.world_vertices[np.asarray(mesh.triangles)]))
    return upper_heights(vars(mesh)[TABLE], x, y, z)


HEIGHTS: dict[type, Callable[[Any, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    Ground: _of_plane,
    StaticBox: _of_box,
    HeightField: _of_field,
    StaticMesh: _of_mesh,
}
