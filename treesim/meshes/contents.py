"""Reading of one mesh file by trimesh, within the child process. Imports nothing of treesim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .collada import MOST_INSTANCES, Refused, check_collada, too_many
from .files import Files
from .images import Image, Images
from .looks import Look, Looks


class Part(NamedTuple):
    """One geometry; see reader.MeshPart."""

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray | None
    uv: np.ndarray | None
    image: Image | None


class Contents(NamedTuple):
    """The parts of a mesh file, and a sentence for each image of theirs that is not drawn."""

    parts: list[Part]
    faults: list[str]


def read_contents(file: str, colored: bool, texture: str | None = None, decode: bool = False) -> Contents:
    """Return what a mesh file holds.

    COLLADA's unit is applied and its up axis is not, as robot descriptions expect. colored: whether colours and images
    are read. texture: file of an image for parts with texture coordinates and no image of their own. decode: whether
    images are decoded, which only a child process may do. Raises Refused, and whatever the readers of formats raise.
    """
    if file.lower().endswith(".dae"):
        check_collada(file)
    import trimesh

    files: Any = Files(file)  # of no class of trimesh's, but with the methods that are called
    images = Images(files, decode)
    options: dict[str, Any] = {"process": False} if colored else {"process": False, "skip_materials": True}
    with np.errstate(all="ignore"), images.opening():  # what is not finite is refused by name
        scene = trimesh.load_scene(file, resolver=files, **options)
        names = list(scene.graph.nodes_geometry)
        if len(names) > MOST_INSTANCES:
            raise Refused(too_many(len(names)))
        looks = Looks(images, file.lower().endswith((".gltf", ".glb")), texture)
        parts = list(_placed(scene, names, looks if colored else None))
        if colored:
            looks.report()
    return Contents(parts, list(images.faults))


def _placed(scene: Any, nodes: list[str], looks: Looks | None) -> Iterator[Part]:
    """The triangle meshes of a scene at their places; points and lines that belong to no triangle are left out."""
    for node in nodes:
        matrix, name = scene.graph[node]
        mesh, matrix = scene.geometry[name], np.array(matrix)
        if not hasattr(mesh, "faces"):
            continue
        vertices = np.asarray(mesh.vertices, float) @ matrix[:3, :3].T + matrix[:3, 3]
        faces = mesh.faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0 else mesh.faces
        look = Look(None, None, None) if looks is None else looks.of(mesh)
        unit = _unit(mesh.metadata.get("units"))
        yield Part(vertices * unit, np.asarray(faces, np.int64).reshape(-1, 3), *look)


def _unit(units: str | None) -> float:
    """Metres per unit of a COLLADA file ("0.001 * meters"); other formats carry no unit."""
    return float(units.split("*")[0]) if units and units.endswith("* meters") else 1.0
