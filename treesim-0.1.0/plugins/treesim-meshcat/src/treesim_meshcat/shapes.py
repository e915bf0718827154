"""Conversion of treesim's visuals to meshcat's objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from meshcat.geometry import Box, Cylinder, Geometry, MeshPhongMaterial, Sphere

from treesim import Visual
from treesim.meshes import Image
from treesim.viewing.meshes import TriangleMesh
from treesim.viewing.solids import triangles_of

DEFAULT_COLOR = (0.70, 0.72, 0.75, 1.0)
_Z_FROM_Y = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])  # three.js cylinders stand along y
_CAP_ROWS, _COLUMNS = 8, 32


@dataclass(frozen=True, eq=False)
class Shape:
    """Drawable shape.

    geometry. colors: whether it has vertex colours. image: multiplied by the colours. sharp: whether its edges
    are sharp. matrix (4, 4): from the geometry's to the visual's frame. lower, upper: its bounding box.
    """

    geometry: Geometry
    lower: np.ndarray
    upper: np.ndarray
    matrix: np.ndarray
    colors: bool = False
    sharp: bool = False
    image: Image | None = None

    def corners(self) -> np.ndarray:
        """Return the (8, 3) corners of the shape's bounding box in the visual's frame."""
        box = np.array([self.lower, self.upper])
        corners = box[np.indices((2, 2, 2)).reshape(3, 8), np.arange(3)[:, None]].T
        return corners @ self.matrix[:3, :3].T + self.matrix[:3, 3]


class MeshGeometry(Geometry):  # type: ignore[misc] # meshcat has no types
    """Triangle mesh in three.js' format; its arrays stay numpy arrays for `encoding.to_json`."""

    def __init__(self, mesh: TriangleMesh) -> None:
        super().__init__()
        self.mesh = mesh

    def lower(self, object_data: dict[str, Any]) -> dict[str, Any]:
        """Return the three.js dictionary of this geometry."""
        attributes = {"position": _attribute("Float32Array", self.mesh.vertices)}
        if self.mesh.colors is not None:
            attributes["color"] = _attribute("Uint8Array", self.mesh.colors, normalized=True)
        if self.mesh.uv is not None:
            attributes["uv"] = _attribute("Float32Array", self.mesh.uv)
        index_type = "Uint16Array" if self.mesh.faces.dtype == np.uint16 else "Uint32Array"
        index = {"type": index_type, "array": self.mesh.faces}
        return {"uuid": self.uuid, "type": "BufferGeometry", "data": {"attributes": attributes, "index": index}}


def _attribute(kind: str, array: np.ndarray, normalized: bool = False) -> dict[str, Any]:
    return {"itemSize": array.shape[1], "type": kind, "array": array, "normalized": normalized}


def shapes_of(visual: Visual) -> tuple[Shape, ...]:
    """Return the shapes of a visual, one for each image of its mesh file; the file must be readable."""
    if visual.kind == "mesh":
        scale = np.broadcast_to(visual.size, 3)
        return tuple(_mesh_shape(mesh, scale, sharp=True) for mesh in triangles_of(visual))
    return (solid_of(visual),)


def solid_of(visual: Visual) -> Shape:
    """Return the shape of a visual that is not a mesh."""
    if visual.kind == "box":
        half = np.array(visual.size) / 2
        return Shape(Box([float(length) for length in visual.size]), -half, half, np.eye(4))
    if visual.kind == "sphere":
        radius = visual.size[0]
        return Shape(Sphere(radius), np.full(3, -radius), np.full(3, radius), np.eye(4))
    if visual.kind == "cylinder":
        radius, length = visual.size
        box = np.array([radius, length / 2, radius])
        return Shape(Cylinder(length, radius), -box, box, _Z_FROM_Y)
    return _mesh_shape(capsule(*visual.size), np.ones(3), sharp=False)


def _mesh_shape(mesh: TriangleMesh, scale: np.ndarray, sharp: bool) -> Shape:
    lower, upper = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    matrix, colors = np.diag([*scale, 1.0]), mesh.colors is not None
    return Shape(MeshGeometry(mesh), lower, upper, matrix, colors, sharp, mesh.image)


def capsule(radius: float, length: float) -> TriangleMesh:
    """Return a cylinder along z of the given radius and length [m], centred, with a hemisphere at either end."""
    half_turn = np.linspace(-np.pi / 2, 0, _CAP_ROWS + 1)
    latitude = np.concatenate([half_turn, -half_turn[::-1]])
    shift = np.repeat([-length / 2, length / 2], _CAP_ROWS + 1)
    return revolved(radius * np.cos(latitude), radius * np.sin(latitude) + shift)


def revolved(radii: np.ndarray, heights: np.ndarray) -> TriangleMesh:
    """Return the surface of revolution about z of points with these radii and heights (n,) [m], from below."""
    longitude = np.linspace(0, 2 * np.pi, _COLUMNS, endpoint=False)
    ring = np.stack([np.cos(longitude), np.sin(longitude), np.zeros(_COLUMNS)], axis=1)
    vertices = radii[:, None, None] * ring
    vertices[..., 2] = heights[:, None]
    rows, columns = np.meshgrid(np.arange(len(radii) - 1), np.arange(_COLUMNS), indexing="ij")
    a = (rows * _COLUMNS + columns).ravel()
    b = (rows * _COLUMNS + (columns + 1) % _COLUMNS).ravel()
    triangles = [np.stack([a, b, b + _COLUMNS], 1), np.stack([a, b + _COLUMNS, a + _COLUMNS], 1)]
    faces = np.concatenate(triangles).astype(np.uint16)
    return TriangleMesh(vertices.reshape(-1, 3).astype(np.float32), faces, None)


def material_of(visual: Visual, shape: Shape) -> MeshPhongMaterial:
    """Return the material of a visual. Colours: the mesh file's, else the visual's, else grey."""
    own = shape.colors or shape.image is not None
    red, green, blue, opacity = (1.0, 1.0, 1.0, 1.0) if own else visual.color or DEFAULT_COLOR
    levels = np.clip(np.rint(np.array([red, green, blue]) * 255), 0, 255).astype(int)
    return MeshPhongMaterial(
        color=int(levels[0] << 16 | levels[1] << 8 | levels[2]),
        opacity=float(opacity),
        vertexColors=shape.colors,
        flatShading=shape.sharp,
    )
