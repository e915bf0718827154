"""Triangle meshes of visuals and surfaces, for viewers that draw nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..contact.surface import Drawing, StaticSurface
from ..model.tree import Visual
from .meshes import TriangleMesh, read_meshes

if TYPE_CHECKING:
    import trimesh

SPHERE = 3  # times that the faces of an icosahedron are divided


def triangles_of(visual: Visual) -> tuple[TriangleMesh, ...]:
    """Return the triangle meshes of a visual in its own axes.

    A solid is one mesh about its centre. A mesh file's meshes are not scaled; it must be readable (see
    treesim.viewing.protocols.drawables).

    Examples
    --------
    >>> from treesim.viewing.solids import triangles_of
    >>> (box,) = triangles_of(treesim.Visual(1, treesim.Placement(), "box", (1.0, 2.0, 3.0)))
    >>> len(box.faces), box.vertices.max(axis=0).tolist()
    (12, [0.5, 1.0, 1.5])
    """
    if visual.kind == "mesh":
        meshes = read_meshes(visual.file or "", visual.texture).meshes
        assert meshes is not None  # `drawables` removed unreadable ones
        return meshes
    return (_plain(_solid(visual.kind, visual.size)),)


def _solid(kind: str, size: tuple[float, ...]) -> trimesh.Trimesh:
    from trimesh import creation

    solids: dict[str, Any] = {
        "box": lambda *size: creation.box(size),
        "sphere": lambda radius: creation.icosphere(SPHERE, radius),
        "cylinder": lambda radius, length: creation.cylinder(radius, length),
        "capsule": lambda radius, length: creation.capsule(length, radius),
    }
    return solids[kind](*size)


def _plain(mesh: trimesh.Trimesh) -> TriangleMesh:
    """Return the triangles of a solid, about the centre of its bounding box."""
    return TriangleMesh(np.asarray(mesh.vertices - mesh.bounds.mean(axis=0)), np.asarray(mesh.faces), None)


def surface_drawing(surface: StaticSurface, center: np.ndarray, reach: float) -> Drawing:
    """Return what viewers draw of a surface.

    An infinite plane becomes a square about its point nearest to `center` (3,), with half-width `reach` [m].
    """
    return surface._drawing(center, reach)


def surface_triangles(surface: StaticSurface, center: np.ndarray, reach: float) -> tuple[TriangleMesh, np.ndarray]:
    """Return the triangle mesh of a surface, and its pose (4, 4) in the world, as `surface_drawing` does."""
    pose, box, triangles = surface_drawing(surface, center, reach)
    return TriangleMesh(*triangles, None) if triangles else _plain(_solid("box", box)), pose
