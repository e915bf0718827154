"""Mesh files to one triangle mesh each, with the file's own colours at the vertices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangles: `vertices` (n, 3) float32 [m], `faces` (m, 3) indices, `colors` (n, 3) uint8 or None if the file
    names none."""

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None


@lru_cache(maxsize=1024)
def read_mesh(file: str) -> TriangleMesh | None:
    """Return the mesh in `file` (STL, COLLADA, OBJ and whatever else trimesh reads), or None if it cannot be read.

    A scene of several parts becomes one mesh. Textures are sampled at the vertices. COLLADA's unit is applied and its
    up axis is not, as robot descriptions expect.
    """
    import trimesh

    try:
        scene = trimesh.load_scene(file, process=False)
        parts = [_part(scene.geometry[name], matrix) for matrix, name in _placed(scene)]
    except Exception:  # trimesh and the parsers below it raise anything for a bad file
        return None
    parts = [part for part in parts if len(part.faces)]
    return _joined(parts) if parts else None


def _placed(scene: Any) -> list[tuple[np.ndarray, str]]:
    return [scene.graph[node] for node in scene.graph.nodes_geometry]


def _part(mesh: Any, matrix: np.ndarray) -> TriangleMesh:
    matrix = np.array(matrix)
    vertices = mesh.vertices @ matrix[:3, :3].T + matrix[:3, 3]
    faces = mesh.faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else mesh.faces
    return TriangleMesh(vertices * _unit(mesh.metadata.get("units")), faces, _colors(mesh))


def _unit(units: str | None) -> float:
    """Metres per unit of a COLLADA file ("0.001 * meters"); other formats carry no unit."""
    return float(units.split("*")[0]) if units and units.endswith("* meters") else 1.0


def _colors(mesh: Any) -> np.ndarray | None:
    """The (n, 3) colours of the vertices. Opacity is left out: COLLADA files get it wrong more often than right."""
    visual = mesh.visual
    if visual.kind is None:
        return None
    if visual.kind == "texture" and (visual.uv is None or not _has_image(visual.material)):
        return np.tile(np.asarray(visual.material.main_color[:3], np.uint8), (len(mesh.vertices), 1))
    colors = visual.to_color() if visual.kind == "texture" else visual
    return np.asarray(colors.vertex_colors[:, :3], np.uint8)


def _has_image(material: Any) -> bool:
    return any(getattr(material, name, None) is not None for name in ("image", "baseColorTexture"))


def _joined(parts: list[TriangleMesh]) -> TriangleMesh:
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
