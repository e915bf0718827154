"""Triangle meshes of planes, height fields and static meshes, and height of the grid."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..contact.ground import Ground, HeightField, Surface
from ..contact.static_mesh import StaticMesh
from ..model.pack import axis_rotation
from .meshes import TriangleMesh

_LEVEL = 1e-9  # sine of the steepest slope of a level plane


def floor_height(ground: Iterable[Surface]) -> float | None:
    """Return the height [m] of the highest horizontal plane that faces up, for the grid; None without one."""
    return max((plane.height for plane in ground if isinstance(plane, Ground) and _is_level(plane)), default=None)


def _is_level(plane: Ground) -> bool:
    x, y, z = np.asarray(plane.normal)
    return bool(np.hypot(x, y) < _LEVEL and z > 0)


def plane_pose(plane: Ground, center: np.ndarray) -> np.ndarray:
    """Return the pose (4, 4) of a plane at its point nearest to `center` (3,), with z along its normal."""
    n = np.asarray(plane.normal)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axis_rotation(n), center + (plane.height - n @ center) * n
    return pose


def square(reach: float) -> TriangleMesh:
    """Return a square in the plane z = 0 about the origin, with half-width `reach` [m]."""
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
    return TriangleMesh(reach * corners, np.array([[0, 1, 2], [0, 2, 3]], np.uint16), None)


def height_mesh(field: HeightField) -> TriangleMesh:
    """Return the triangles of a height field in the world: two between four heights, as in its collision surface."""
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


def static_mesh(surface: StaticMesh) -> TriangleMesh:
    """Return the triangles of a static mesh in its own axes."""
    vertices, triangles = np.asarray(surface.vertices), np.asarray(surface.triangles)
    return TriangleMesh(vertices.astype(np.float32), triangles.astype(np.uint32), None)
