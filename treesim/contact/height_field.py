"""Height fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..kernels.contact.signed_distance import GRID
from ..model.frozen import frozen
from ..model.inertia import Placement
from ..validation.arrays import check_copy, real_numbers
from ..validation.values import finite_vector, short_repr
from .mesh_heights import field_of_mesh
from .solid import Solid
from .solid_surface import SolidSurface
from .surface import FARTHEST, LEAST, ON_BORDER, Drawing


@dataclass(frozen=True, repr=False, eq=False)
class HeightField(SolidSurface):
    """Terrain given by heights over a regular grid.

    Each cell of the grid consists of two triangles. Their common edge is the diagonal from the corner with the least x
    and y. All shapes collide with triangles, ridges, peaks and border edges of the terrain. Outside of the grid there
    is no ground.

    Parameters
    ----------
    heights : array_like
        (nx, ny) heights of the grid's nodes [m].
    spacing : array_like
        (2,) distances of the nodes along x and y [m]. 0.1 by default.
    center : array_like
        (2,) x and y of the grid's centre [m]. Origin by default.
    friction, restitution, stiffness, dissipation_time, torsional_friction, rolling_friction, name
        As in `treesim.Surface`.

    Examples
    --------
    >>> treesim.HeightField(np.zeros((20, 20)), spacing=(0.1, 0.1))
    <HeightField: 20 x 20 heights, friction 0.8, restitution 0, rigid>
    """

    heights: ArrayLike
    spacing: ArrayLike = (0.1, 0.1)
    center: ArrayLike = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        heights = real_numbers("heights", self.heights)
        grid = heights.ndim == 2 and min(heights.shape) >= 2
        if grid:
            check_copy("heights", heights.shape)
        if not grid or not (np.abs(heights) <= FARTHEST).all():
            raise ArgumentError(
                f"heights must be finite numbers (nx, ny), two or more each way, none beyond {FARTHEST:g} m, got "
                f"{short_repr(self.heights)}"
            )
        object.__setattr__(self, "heights", frozen(heights))
        for name in ("spacing", "center"):
            object.__setattr__(self, name, tuple(finite_vector(name, getattr(self, name), 2, FARTHEST).tolist()))
        if not (np.asarray(self.spacing) >= LEAST).all():
            given = short_repr(self.spacing)
            raise ArgumentError(f"spacing must be two positive lengths [m], {LEAST:g} at least, got {given}")

    @classmethod
    def from_mesh(cls, mesh: Any, spacing: ArrayLike = (0.1, 0.1), **parameters: Any) -> HeightField:
        """Return a height field that approximates the upper surface of a triangle mesh.

        At the nodes of the grid, heights are equal to those of the mesh. Between the nodes, they are linear on each
        triangle. A vertical wall of the mesh therefore becomes a slope of one cell. The space below an overhang is
        filled.

        Parameters
        ----------
        mesh : str or tuple
            Mesh file (STL, COLLADA, OBJ, PLY, OFF, glTF); or a pair of vertices (n, 3) [m] and faces (m, 3), which are
            indices of vertices. Seen from above, the mesh must cover its bounding rectangle.
        spacing : array_like
            (2,) distances of the nodes along x and y [m]. They are adjusted so that the field ends at the border of the
            mesh. 0.1 by default.
        **parameters
            Contact parameters and name, as in `treesim.Surface`.

        Returns
        -------
        HeightField
            Height field with the same border as the mesh.

        Raises
        ------
        ArgumentError
            If an argument does not fit, or the mesh has a hole.
        ModelError
            If the file cannot be read.

        Examples
        --------
        >>> vertices = [[0, 0, 0], [2, 0, 1], [2, 1, 1], [0, 1, 0]]
        >>> treesim.HeightField.from_mesh((vertices, [[0, 1, 2], [0, 2, 3]]), spacing=(0.5, 0.5), friction=0.5)
        <HeightField: 5 x 3 heights, friction 0.5, restitution 0, rigid>
        """
        lengths = finite_vector("spacing", spacing, 2, FARTHEST)
        if not (lengths >= LEAST).all():
            raise ArgumentError(f"spacing must be two positive lengths [m], got {short_repr(spacing)}")
        heights, own, center = field_of_mesh(mesh, lengths)
        return cls(heights, own, center, **parameters)

    def _place(self) -> str:
        nx, ny = np.shape(self.heights)
        return f"{nx} x {ny} heights"

    def _solid(self) -> Solid:
        heights = np.asarray(self.heights)
        nx, ny = heights.shape
        place = Placement(translation=(*np.asarray(self.center, float), 0.0))
        return Solid(0, GRID, (*np.asarray(self.spacing, float), np.max(heights), 0.0), place, (nx, ny), heights)

    def _heights(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return heights on the two triangles of each cell, whose diagonal is that from the corner of least x and y."""
        heights, last = np.asarray(self.heights), np.array(np.shape(self.heights)) - 1
        places = []
        for at, spacing, center, n in zip((x, y), np.asarray(self.spacing), np.asarray(self.center), last, strict=True):
            places.append((at - center) / spacing + n / 2)
        inside = np.all(
            [(at >= -ON_BORDER) & (at <= n + ON_BORDER) for at, n in zip(places, last, strict=True)], axis=0
        )
        (i, u), (j, w) = (_cell(at, int(n)) for at, n in zip(places, last, strict=True))
        low, high = heights[i, j], heights[i + 1, j + 1]
        along_x = low + u * (heights[i + 1, j] - low) + w * (high - heights[i + 1, j])
        along_y = low + w * (heights[i, j + 1] - low) + u * (high - heights[i, j + 1])
        return np.where(inside, np.where(u >= w, along_x, along_y), -np.inf)

    def _upward(self) -> tuple[np.ndarray, float, float]:
        return np.array([0.0, 0.0, 1.0]), float(np.max(self.heights)), float(np.ptp(self.heights))

    def _drawing(self, center: np.ndarray, reach: float) -> Drawing:
        """Return the two triangles of each cell, as in the collision geometry."""
        heights = np.asarray(self.heights)
        nx, ny = heights.shape
        x, y = (
            middle + spacing * (np.arange(n) - (n - 1) / 2)
            for middle, spacing, n in zip(np.asarray(self.center), np.asarray(self.spacing), (nx, ny), strict=True)
        )
        vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=2).reshape(-1, 3)
        a = (ny * np.arange(nx - 1)[:, None] + np.arange(ny - 1)).ravel()  # corners of least x and y
        b, c, d = a + ny, a + ny + 1, a + 1
        faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        return Drawing(np.eye(4), triangles=(vertices.astype(np.float32), faces.astype(np.uint32)))


def _cell(at: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell of places in units of cells, within the grid, and the place in the cell."""
    k = np.clip(np.floor(at), 0, cells - 1).astype(int)
    return k, at - k
