"""Ground as grey, translucent shapes: planes, static boxes, height fields, static meshes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from meshcat.geometry import Box, Geometry, MeshPhongMaterial

from treesim import Ground, HeightField, StaticBox, StaticMesh, Surface
from treesim.viewing.surfaces import height_mesh, plane_pose, square, static_mesh

from .shapes import MeshGeometry

ROOT = "ground"
_COLOR, _OPACITY = 0x8A939E, 0.5


class GroundShape(NamedTuple):
    """Surface to draw: its name, geometry, and pose (4, 4) in the world."""

    name: str
    geometry: Geometry
    pose: np.ndarray


def ground_shapes(ground: Iterable[Surface], center: np.ndarray, reach: float) -> Iterator[GroundShape]:
    """Yield a shape for every surface.

    An infinite plane is drawn as a square about its point nearest to `center` (3,), with half-width `reach`
    [m].
    """
    for k, surface in enumerate(ground):
        name = f"{k} {type(surface).__name__}"
        if isinstance(surface, Ground):
            yield GroundShape(name, MeshGeometry(square(reach)), plane_pose(surface, center))
        elif isinstance(surface, StaticBox):
            lengths = [float(length) for length in np.asarray(surface.size)]
            yield GroundShape(name, Box(lengths), surface.placement.matrix())
        elif isinstance(surface, HeightField):
            yield GroundShape(name, MeshGeometry(height_mesh(surface)), np.eye(4))
        elif isinstance(surface, StaticMesh):
            yield GroundShape(name, MeshGeometry(static_mesh(surface)), surface.placement.matrix())


def ground_material() -> MeshPhongMaterial:
    """Return the material of the ground: drawn behind the lines of the grid, with sharp edges."""
    behind = {"polygonOffset": True, "polygonOffsetFactor": 1, "polygonOffsetUnits": 1}
    return MeshPhongMaterial(color=_COLOR, opacity=_OPACITY, depthWrite=False, flatShading=True, **behind)
