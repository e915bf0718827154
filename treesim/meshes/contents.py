"""Reading of one mesh file by trimesh, which the child process runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..system.input_files import open_input
from .collada import MOST_INSTANCES, Refused, check_collada, too_many
from .files import Files
from .images import Image, Images
from .looks import Look, Looks

LARGEST = 1 << 30  # bytes of a mesh file
READY = "ready"  # what the child process sends once it can read files


class Request(NamedTuple):
    """Arguments of read_contents, and the time limit [s] of the process that reads."""

    file: str
    colored: bool
    texture: str | None
    seconds: float


class MeshPart(NamedTuple):
    """One geometry of a mesh file, transformed to its place in the file.

    vertices: (n, 3) [m], finite once `reader` has checked them. faces: (m, 3), indices of vertices. colors: (n, 3)
    uint8, sRGB, or None if the file has none or they were not requested. uv: texture coordinates (n, 2) with v upwards,
    or None. image: the texture, multiplied by the colours, or None.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None
    uv: np.ndarray | None
    image: Image | None


class MeshContents(NamedTuple):
    """Parts of a mesh file, and a message for each of their images that is not drawn."""

    parts: tuple[MeshPart, ...]
    faults: tuple[str, ...]


def read_contents(file: str, colored: bool, texture: str | None = None, decode: bool = False) -> MeshContents:
    """Return the contents of a mesh file.

    COLLADA's unit is applied and its up axis is not, as robot descriptions expect. colored: read colours and
    images. texture: image file for parts with texture coordinates and no image of their own. decode: decode
    images, which only a child process may do. Raises Refused, and any exception of the format's reader.
    """
    import trimesh

    files: Any = Files(file)  # duck-typed resolver of trimesh
    images = Images(files, decode)
    options: dict[str, Any] = {"process": False} if colored else {"process": False, "skip_materials": True}
    kind = os.path.splitext(file)[1][1:].lower()
    with open_input(file, LARGEST) as stream, np.errstate(all="ignore"), images.opening():
        if kind == "dae":
            check_collada(stream)
            stream.seek(0)
        scene = trimesh.load_scene(stream, file_type=kind, resolver=files, **options)  # numbers are checked later
        names = list(scene.graph.nodes_geometry)
        if len(names) > MOST_INSTANCES:
            raise Refused(too_many(len(names)))
        looks = Looks(images, file.lower().endswith((".gltf", ".glb")), texture)
        parts = tuple(_placed(scene, names, looks if colored else None))
        if colored:
            looks.report()
    return MeshContents(parts, tuple(images.faults))


def _placed(scene: Any, nodes: list[str], looks: Looks | None) -> Iterator[MeshPart]:
    """Yield the triangle meshes of a scene, transformed to their places; points and lines are left out."""
    for node in nodes:
        matrix, name = scene.graph[node]
        mesh, matrix = scene.geometry[name], np.array(matrix)
        if not hasattr(mesh, "faces"):
            continue
        vertices = np.asarray(mesh.vertices, float) @ matrix[:3, :3].T + matrix[:3, 3]
        faces = mesh.faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else mesh.faces
        look = Look(None, None, None) if looks is None else looks.of(mesh)
        unit = _unit(mesh.metadata.get("units"))
        yield MeshPart(vertices * unit, np.asarray(faces, np.int64).reshape(-1, 3), *look)


def _unit(units: str | None) -> float:
    """Return metres per unit of a COLLADA file ("0.001 * meters"); 1 for other formats, which have no unit."""
    return float(units.split("*")[0]) if units and units.endswith("* meters") else 1.0
