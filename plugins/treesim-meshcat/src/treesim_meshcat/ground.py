"""What a robot stands on as grey, translucent shapes: planes, static boxes, height fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from meshcat.geometry import Box, Geometry, MeshPhongMaterial

from treesim import Ground, HeightField, StaticBox, Surface
from treesim.model.pack import axis_rotation

from .meshes import TriangleMesh
from .shapes import MeshGeometry

ROOT = "ground"
_COLOR, _OPACITY = 0x8A939E, 0.5
_LEVEL = 1e-9  # sine of the steepest slope on which the grid lies


class GroundShape(NamedTuple):
    """A surface to draw: its name, geometry, and pose (4, 4) in the world."""

    name: str
    geometry: Geometry
    pose: np.ndarray


def floor_height(ground: Iterable[Surface]) -> float | None:
    """Return the height [m] of the highest level plane that faces up, where the grid is to lie; None without."""
    return max((plane.height for plane in ground if isinstance(plane, Ground) and _is_level(plane)), default=None)


def _is_level(plane: Ground) -> bool:
    x, y, z = np.asarray(plane.normal)
    return bool(np.hypot(x, y) < _LEVEL and z > 0)


def ground_shapes(ground: Iterable[Surface], center: np.ndarray, reach: float) -> Iterator[GroundShape]:
    """Yield a shape for every surface.

    A plane has no end: it is drawn as a square about its point nearest to `center` (3,), `reach` to each side [m].
    """
    for k, surface in enumerate(ground):
        name = f"{k} {type(surface).__name__}"
        if isinstance(surface, Ground):
            yield GroundShape(name, MeshGeometry(_square(reach)), _plane_pose(surface, center))
        elif isinstance(surface, StaticBox):
            lengths = [float(length) for length in np.asarray(surface.size)]
            yield GroundShape(name, Box(lengths), surface.placement.matrix())
        elif isinstance(surface, HeightField):
            yield GroundShape(name, MeshGeometry(height_mesh(surface)), np.eye(4))


def ground_material() -> MeshPhongMaterial:
    """Return what the ground is made of: behind the lines of the grid, which lie in it, and with its edges sharp."""
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}
    return MeshPhongMaterial(color=_COLOR, opacity=_OPACITY, depthWrite=False, flatShading=True, **behind)


def _plane_pose(plane: Ground, center: np.ndarray) -> np.ndarray:
    n = np.asarray(plane.normal)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axis_rotation(n), center + (plane.height - n @ center) * n
    return pose


def _square(reach: float) -> TriangleMesh:
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
    return TriangleMesh(reach * corners, np.array([[0, 1, 2], [0, 2, 3]], np.uint16), None)


def height_mesh(field: HeightField) -> TriangleMesh:
    """Return the triangles of a height field, in the world: two between four heights, as the field's surface is."""
    heights = np.asarray(field.heights)
    nx, ny = heights.shape
    x, y = (
        middle + spacing * (np.arange(n) - (n - 1) / 2)
        for middle, spacing, n in zip(np.asarray(field.center), np.asarray(field.spacing), (nx, ny), strict=True)
    )
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=2).reshape(-1, 3)
    a = (ny * np.arange(nx - 1)[:, None] + np.arange(ny - 1)).ravel()  # corners of least x and y
    b, c, d = a + ny, a + ny + 1, a + 1
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return TriangleMesh(vertices.astype(np.float32), faces.astype(np.uint32), None)
