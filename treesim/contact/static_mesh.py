"""Static triangle meshes as surfaces of a world."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError, ShapeWarning, quoted
from ..kernels.contact.signed_distance import MESH
from ..meshes import read_triangles
from ..meshes.triangles import checked_triangles, checked_vertices, outwards
from ..model.frozen import frozen
from ..model.inertia import Placement
from ..model.matrices import product
from ..system.display import vector
from ..system.user_warnings import warn
from ..validation.values import checked_part, positive_number, short_repr
from .mesh_heights import HeightTable, height_table, upper_heights
from .mesh_tables import MeshEdges, MeshTable, has_area, mesh_table
from .solid import Solid
from .solid_surface import SolidSurface
from .surface import FARTHEST, Drawing


@dataclass(frozen=True, repr=False, eq=False)
class StaticMesh(SolidSurface):
    """An open or closed triangle mesh that does not move, such as terrain with stairs, walls and overhangs.

    All shapes collide with the triangles, convex edges, vertices and border edges of the mesh. Edges between triangles
    in one plane have no contacts of their own. The corners of each triangle must be in counterclockwise order, seen
    from outside. The normal by the right-hand rule then points out of the solid.

    Parameters
    ----------
    vertices : array_like
        (n, 3) vertices [m]. Vertices with equal coordinates are merged.
    triangles : array_like
        (m, 3) indices of vertices. Triangles without area are dropped.
    placement : Placement
        Pose of the mesh's axes in the world. Identity by default.
    friction, restitution, stiffness, dissipation_time, torsional_friction, rolling_friction, name
        As in `treesim.Surface`.

    Raises
    ------
    ArgumentError
        If a value is not finite or out of bounds. If an edge has more than two triangles. If two neighbouring triangles
        have opposite orientations.

    Warns
    -----
    ShapeWarning
        If the mesh has triangles without area, closed parts that face inwards, or open ones that look down everywhere.

    Notes
    -----
    Closed parts whose triangles face inwards are turned, except the walls of cavities. Several solids of one mesh may
    share edges and faces.

    A mesh must not intersect itself. Faces that another part of the mesh or another surface covers have no contacts,
    for example the faces between two boxes side by side.

    Points inside the mesh are detected only near its surface. A point behind the surface touches the nearest triangle
    if its distance is below the radius of the bounding ball of the colliding shape. Up to this distance, an open mesh
    acts from both sides, so nothing should move behind it.

    Examples
    --------
    >>> vertices = [[0, 0, 0], [2, 0, 1], [2, 1, 1], [0, 1, 0]]
    >>> treesim.StaticMesh(vertices, [[0, 1, 2], [0, 2, 3]], friction=0.5)
    <StaticMesh: 2 triangles at (0, 0, 0), friction 0.5, restitution 0, rigid>
    """

    _hides_shapes = True

    vertices: ArrayLike
    triangles: ArrayLike
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_part("placement of a static mesh", self.placement, Placement)
        vertices = checked_vertices(self.vertices, FARTHEST)
        triangles = checked_triangles(self.triangles, len(vertices))
        sound = has_area(vertices[triangles])
        if not sound.any():
            raise ArgumentError("none of the triangles has an area: their vertices are equal or on one line")
        if not sound.all():
            warn(
                f"{np.count_nonzero(~sound)} of {len(sound)} triangles of the mesh have no area and are dropped, the "
                f"first is triangle {int(np.flatnonzero(~sound)[0])}",
                ShapeWarning,
            )
        numbers = np.flatnonzero(sound)
        what = f"mesh {quoted(self.name)}" if self.name else "static mesh"
        triangles = outwards(vertices, triangles[sound], numbers, self.placement.rotation, what)
        object.__setattr__(self, "vertices", frozen(vertices))
        object.__setattr__(self, "triangles", frozen(triangles, np.int64))
        object.__setattr__(self, "_edges", MeshEdges(vertices, triangles, numbers))

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
            Contact parameters and name, as in `treesim.Surface`.

        Returns
        -------
        StaticMesh
            The mesh.

        Raises
        ------
        ArgumentError
            If an argument does not fit, or the triangles do not form a surface.
        ModelError
            If the file cannot be read.
        """
        factor = positive_number("scale", scale, "metres per unit of the file")
        if not isinstance(file, str | os.PathLike):
            raise ArgumentError(f"file must be a path, got {short_repr(file)}")
        vertices, triangles = read_triangles(os.fspath(file))
        with warnings.catch_warnings(record=True, action="always") as found:
            mesh = cls(vertices * factor, triangles, placement or Placement(), **parameters)
        for one in found:
            warn(f"{quoted(os.fspath(file))}: {one.message}", one.category)
        return mesh

    @property
    def edges(self) -> MeshEdges:
        """Edges and vertices of the mesh, after vertices with equal coordinates were merged."""
        return vars(self)["_edges"]

    @cached_property
    def table(self) -> MeshTable:
        """Table of the mesh, which kernels take as an argument."""
        return mesh_table(self.edges)

    @property
    def convex(self) -> bool:
        """True if the mesh is closed and none of its edges is concave."""
        return self.edges.closed and bool((self.edges.bends >= 0).all())

    @property
    def world_vertices(self) -> np.ndarray:
        """Vertices (n, 3) of the mesh in world coordinates [m]."""
        R = self.placement.rotation
        return np.asarray(product(np.asarray(self.vertices), R.T) + self.placement.translation)

    def _place(self) -> str:
        return f"{len(np.asarray(self.triangles))} triangles at {vector(self.placement.translation)}"

    @property
    def _has_internal_edges(self) -> bool:  # type: ignore[override]
        return self.edges.has_internal_edges

    def _solid(self) -> Solid:
        table, own = self.table, self.placement
        place = Placement(own.rotation, own.translation + product(own.rotation, np.array([*table.center, 0.0])))
        return Solid(0, MESH, (*table.spacing, 0.0, 0.0), place, table.nodes, table.numbers)

    @cached_property
    def _height_table(self) -> HeightTable:
        return height_table(self.world_vertices[np.asarray(self.triangles)])

    def _heights(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return upper_heights(self._height_table, x, y, z)

    def _depth_of(self, p: np.ndarray) -> float:
        """Return the depth of a point inside the mesh, along the mesh's z axis.

        The point is inside if the surface next above it faces up, and the one next below it does not.
        """
        p, edges = product(self.placement.rotation.T, p - self.placement.translation), self.edges
        items = self.table.triangles_at(p)
        a, b, c = np.moveaxis(edges.points[items], 1, 0)
        n = edges.normals[items]
        left = np.stack([_left_of(a, b, p), _left_of(b, c, p), _left_of(c, a, p)])
        crossed = (n[:, 2] != 0) & ((left >= 0).all(axis=0) | (left <= 0).all(axis=0))
        height = ((a - p) * n).sum(axis=1)[crossed] / n[crossed, 2]  # of the surface over p
        up = n[crossed, 2] > 0
        above = height >= 0
        if not above.any() or not up[above][height[above].argmin()]:
            return 0.0
        below = ~above
        if below.any() and up[below][height[below].argmax()]:
            return 0.0
        return float(height[above].min())

    def _upward(self) -> tuple[np.ndarray, float, float]:
        z = self.world_vertices[:, 2]
        return np.array([0.0, 0.0, 1.0]), float(z.max()), float(np.ptp(z))

    def _drawing(self, center: np.ndarray, reach: float) -> Drawing:
        vertices, triangles = np.asarray(self.vertices), np.asarray(self.triangles)
        drawn = vertices.astype(np.float32), triangles.astype(np.uint32)
        return Drawing(self.placement.matrix(), triangles=drawn)


def _left_of(one: np.ndarray, other: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return a positive number where p is on the left of the lines from `one` to `other`, seen from above."""
    d, w = other - one, p - one
    return np.asarray(d[:, 0] * w[:, 1] - d[:, 1] * w[:, 0])
