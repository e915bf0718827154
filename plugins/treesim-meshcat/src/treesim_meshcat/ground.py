"""Ground as grey, translucent shapes: planes, static boxes, height fields, static meshes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from meshcat.geometry import Box, Geometry, MeshPhongMaterial

from treesim.contact.surface import StaticSurface
from treesim.viewing.meshes import TriangleMesh
from treesim.viewing.solids import surface_drawing

from .shapes import MeshGeometry

ROOT = "ground"
_COLOR, _OPACITY = 0x8A939E, 0.5


class GroundShape(NamedTuple):
    """Surface to draw: its name, geometry, and pose (4, 4) in the world."""

    name: str
    geometry: Geometry
    pose: np.ndarray


def ground_shapes(ground: Iterable[StaticSurface], center: np.ndarray, reach: float) -> Iterator[GroundShape]:
    """Yield a shape for every surface.

    An infinite plane is drawn as a square about its point nearest to `center` (3,), with half-width `reach`
    [m].
    """
    for k, surface in enumerate(ground):
        name = f"{k} {type(surface).__name__}"
        pose, box, triangles = surface_drawing(surface, center, reach)
        yield GroundShape(name, MeshGeometry(TriangleMesh(*triangles, None)) if triangles else Box(list(box)), pose)


def ground_material() -> MeshPhongMaterial:
    """Return the material of the ground: drawn behind the lines of the grid, with sharp edges."""
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}
    return MeshPhongMaterial(color=_COLOR, opacity=_OPACITY, depthWrite=False, flatShading=True, **behind)
