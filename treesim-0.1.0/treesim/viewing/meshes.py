"""Reading of mesh files as triangle meshes, with vertex colours and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..meshes import Image, MeshPart, read_colored


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangle mesh.

    vertices (n, 3): float32 [m]. faces (m, 3): indices. colors (n, 3): uint8, sRGB, or None if the file has
    none. uv (n, 2): float32, texture coordinates from the lower left of a repeating image, or None. image:
    multiplied by the colours, or None.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None
    uv: np.ndarray | None = None
    image: Image | None = None

    @property
    def has_look(self) -> bool:
        """True if the mesh has colours or an image, which take precedence over the colour of a visual."""
        return self.colors is not None or self.image is not None


class MeshReading(NamedTuple):
    """Result of reading a mesh file.

    meshes: None if the file cannot be read. fault: the reason, else "". lost_images: a sentence for each
    missing image.
    """

    meshes: tuple[TriangleMesh, ...] | None
    fault: str
    lost_images: tuple[str, ...]


@lru_cache(maxsize=1024)
def read_meshes(file: str, texture: str | None = None) -> MeshReading:
    """Read a mesh file of one of `treesim.meshes.FORMATS`: one mesh of all parts without image, and one per image.

    texture: image file for parts that have texture coordinates and no image of their own. COLLADA's unit is
    applied, its up axis is not, as robot descriptions expect.
    """
    try:
        parts, faults = read_colored(file, texture)
    except ModelError as error:
        return MeshReading(None, str(error), ())
    groups: dict[bytes | None, list[MeshPart]] = {}
    for part in parts:
        groups.setdefault(part.image and part.image.data, []).append(part)
    return MeshReading(tuple(_joined(group) for group in groups.values()), "", faults)


def read_mesh(file: str) -> TriangleMesh | None:
    """Return all triangles of a file as one mesh without images; None if it cannot be read."""
    meshes = read_meshes(file).meshes
    if meshes is None or len(meshes) == 1:
        return None if meshes is None else replace(meshes[0], uv=None, image=None)
    return _joined([MeshPart(mesh.vertices, mesh.faces, mesh.colors, None, None) for mesh in meshes])


def _joined(parts: Sequence[MeshPart]) -> TriangleMesh:
    """Merge parts with the same image, or none, into one mesh; equal vertices are merged."""
    colored, image = any(part.colors is not None for part in parts), parts[0].image
    starts = np.cumsum([0] + [len(part.vertices) for part in parts])
    vertices = np.concatenate([part.vertices for part in parts]).astype(np.float32)
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)])
    white = [np.full((len(part.vertices), 3), 255, np.uint8) for part in parts]
    colors = np.concatenate([w if part.colors is None else part.colors for part, w in zip(parts, white, strict=True)])
    uv = None if image is None else np.concatenate([part.uv for part in parts if part.uv is not None])
    rows = np.hstack([vertices, colors.astype(np.float32), *([] if uv is None else [uv])])
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    index_type = np.uint16 if len(first) < 2**16 else np.uint32
    return TriangleMesh(
        vertices[first], inverse[faces].astype(index_type), colors[first] if colored else None,
        None if uv is None else uv[first], image,
    )  # fmt: skip
