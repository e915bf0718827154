"""Mesh files to one triangle mesh each, with the file's own colours at the vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ModelError
from ..meshes import MeshPart, read_parts


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangles: `vertices` (n, 3) float32 [m], `faces` (m, 3) indices, `colors` (n, 3) uint8 or None if the file
    names none."""

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None


def read_mesh(file: str) -> TriangleMesh | None:
    """Return the mesh in `file`, of any of `treesim.meshes.FORMATS`, or None if it cannot be read.

    A scene of several parts becomes one mesh. Textures are sampled at the vertices. COLLADA's unit is applied and its
    up axis is not, as robot descriptions expect.
    """
    return read_or_fault(file)[0]


@lru_cache(maxsize=1024)
def read_or_fault(file: str) -> tuple[TriangleMesh | None, str]:
    """Return what `read_mesh` does, and the reason why a mesh cannot be read, "" for one that can."""
    try:
        return _joined(read_parts(file, colored=True)), ""
    except ModelError as error:
        return None, str(error)


def _joined(parts: Sequence[MeshPart]) -> TriangleMesh:
    """One mesh of all parts, in which vertices of equal place and colour are one."""
    colored = any(part.colors is not None for part in parts)
    starts = np.cumsum([0] + [len(part.vertices) for part in parts])
    vertices = np.concatenate([part.vertices for part in parts]).astype(np.float32)
    faces = np.concatenate([part.faces + start for part, start in zip(parts, starts, strict=False)])
    white = [np.full((len(part.vertices), 3), 255, np.uint8) for part in parts]
    colors = np.concatenate([w if part.colors is None else part.colors for part, w in zip(parts, white, strict=True)])
    rows = np.hstack([vertices, colors.astype(np.float32)])
    keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    index_type = np.uint16 if len(first) < 2**16 else np.uint32
    return TriangleMesh(vertices[first], inverse[faces].astype(index_type), colors[first] if colored else None)
