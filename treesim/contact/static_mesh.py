"""Static triangle meshes as surfaces of a world."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ShapeWarning
from ..meshes import read_parts
from ..model.inertia import Placement
from ..model.matrices import product
from ..system.display import vector
from ..validation.arrays import real_numbers
from ..validation.values import checked_part, positive_number, short_repr
from .ground import FARTHEST, SolidSurface
from .mesh_tables import MeshEdges, MeshTable, has_area, mesh_table


@dataclass(frozen=True, repr=False, eq=False)
class StaticMesh(SolidSurface):
    """A triangle mesh that does not move, open or closed, such as a terrain with stairs, walls and overhangs.

    All shapes collide with its triangles, convex edges, vertices and border edges. Edges inside a flat part have no
    contacts of their own. The corners of a triangle are counterclockwise, seen from outside: the normal by the
    right-hand rule points out of the solid.

    Parameters
    ----------
    vertices : array_like
        (n, 3) vertices [m]. Those with equal coordinates are one.
    triangles : array_like
        (m, 3) indices of vertices. Triangles without area are dropped.
    placement : Placement
        Pose of the mesh's axes in the world. Identity by default.
    friction, restitution : float
        As in `treesim.Surface`.
    stiffness : float, optional
        As in `treesim.Surface`.
    dissipation_time : float
        As in `treesim.Surface`.
    torsional_friction, rolling_friction : float
        As in `treesim.Surface`.
    name : str
        As in `treesim.Surface`.

    Raises
    ------
    ArgumentError
        If a value is not finite or out of bounds, if an edge has more than two triangles, or if two triangles run along
        their common edge in the same direction.

    Warns
    -----
    ShapeWarning
        If there are triangles without area.

    Notes
    -----
    A mesh must not intersect itself. Faces that another part of it or another surface of the world covers, such as
    those between two boxes side by side, have no contacts.

    What is inside is known near the surface only: a point behind it, within the radius of the shape's bounding ball,
    touches the nearest triangle. An open mesh acts from both sides so near to it: nothing should move behind it.

    Examples
    --------
    >>> vertices = [[0, 0, 0], [2, 0, 1], [2, 1, 1], [0, 1, 0]]
    >>> treesim.StaticMesh(vertices, [[0, 1, 2], [0, 2, 3]], friction=0.5)
    <StaticMesh: 2 triangles at (0, 0, 0), friction 0.5, restitution 0, rigid>
    """

    vertices: ArrayLike
    triangles: ArrayLike
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_part("placement of a static mesh", self.placement, Placement)
        vertices = _vertices(self.vertices)
        triangles = _triangles(self.triangles, len(vertices))
        sound = has_area(vertices[triangles])
        if not sound.any():
            raise ArgumentError("none of the triangles has an area: their vertices are equal or on one line")
        if not sound.all():
            warnings.warn(
                f"{np.count_nonzero(~sound)} of {len(sound)} triangles of the mesh have no area and are dropped, the "
                f"first is triangle {int(np.flatnonzero(~sound)[0])}",
                ShapeWarning,
                stacklevel=3,
            )
        triangles = triangles[sound]
        for array in (vertices, triangles):
            array.setflags(write=False)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)
        object.__setattr__(self, "_edges", MeshEdges(vertices, triangles, np.flatnonzero(sound)))

    @classmethod
    def from_file(
        cls, file: str | os.PathLike[str], scale: float = 1.0, placement: Placement | None = None, **parameters: Any
    ) -> StaticMesh:
        """Return the static mesh of all geometries of a file.

        Parameters
        ----------
        file : str
            Mesh file (STL, COLLADA, OBJ, PLY, OFF, glTF).
        scale : float
            Metres per unit of the file, 0.001 for millimetres. 1 by default.
        placement : Placement, optional
            Pose of the file's axes in the world. Identity by default.
        **parameters
            Contact parameters and name, as of `treesim.Surface`.

        Returns
        -------
        StaticMesh
            The mesh.

        Raises
        ------
        ArgumentError
            If an argument does not fit, or the triangles are not those of a surface.
        ModelError
            If the file cannot be read.
        """
        factor = positive_number("scale", scale, "metres per unit of the file")
        if not isinstance(file, str | os.PathLike):
            raise ArgumentError(f"file must be a path, got {short_repr(file)}")
        parts = read_parts(os.fspath(file))
        starts = np.cumsum([0] + [len(part.vertices) for part in parts])
        vertices = np.concatenate([np.asarray(part.vertices, float) for part in parts]) * factor
        triangles = np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)])
        return cls(vertices, triangles, placement or Placement(), **parameters)

    @property
    def edges(self) -> MeshEdges:
        """Vertices without doubles, and edges."""
        found: MeshEdges = vars(self)["_edges"]
        return found

    @cached_property
    def table(self) -> MeshTable:
        """Table for kernels."""
        return mesh_table(self.edges)

    @property
    def convex(self) -> bool:
        """True if the mesh is closed and none of its edges is concave."""
        return self.edges.closed and bool((self.edges.bends >= 0).all())

    @property
    def world_vertices(self) -> np.ndarray:
        """Vertices (n, 3) in the world [m]."""
        R = self.placement.rotation
        return np.asarray(product(np.asarray(self.vertices), R.T) + self.placement.translation)

    def _place(self) -> str:
        return f"{len(np.asarray(self.triangles))} triangles at {vector(self.placement.translation)}"


def _vertices(values: Any) -> np.ndarray:
    """Return a copy of vertices (n, 3); raises ArgumentError, naming the first that is out of bounds."""
    found = real_numbers("vertices", values).copy()
    if found.ndim != 2 or found.shape[1] != 3:
        raise ArgumentError(f"vertices must have shape (n, 3), got {found.shape}")
    bad = ~(np.abs(found) <= FARTHEST).all(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"vertices must be finite, none beyond {FARTHEST:g} m, but vertex {k} is {found[k]}")
    return found


def _triangles(values: Any, count: int) -> np.ndarray:
    """Return a copy of triangles (m, 3); raises ArgumentError, naming the first with an index that does not exist."""
    try:
        found = np.array(values)
    except ValueError as error:
        raise ArgumentError(f"triangles must be indices of vertices (m, 3): {error}") from None
    if found.ndim != 2 or found.shape[1] != 3 or not len(found) or found.dtype.kind not in "iu":
        raise ArgumentError(
            f"triangles must be whole numbers of shape (m, 3), one or more, got {found.dtype} of shape {found.shape}"
        )
    bad = ((found < 0) | (found >= count)).any(axis=1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise ArgumentError(f"triangle {k} has vertices {found[k].tolist()}, but they are 0 to {count - 1}")
    return found.astype(np.int64)
