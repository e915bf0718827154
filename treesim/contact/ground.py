"""Ground planes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..kernels.contact.signed_distance import PLANE
from ..model.inertia import Placement
from ..model.matrices import unit_vector
from ..model.pack import axis_rotation
from ..system.display import vector
from ..validation.values import finite_vector, short_repr
from .solid import Solid
from .surface import FARTHEST, UPRIGHT, Drawing, StaticSurface, Surface, checked_number


@dataclass(frozen=True, repr=False, eq=False)
class Ground(StaticSurface):
    """Ground plane. A point x is inside the ground if n . x <= height, where n is the normal.

    Parameters
    ----------
    friction, restitution, stiffness, dissipation_time, torsional_friction, rolling_friction, name
        As in `treesim.Surface`.
    normal : array_like
        (3,) normal n in world axes, scaled to length 1. z by default.
    height : float
        Distance of the plane from the origin along the normal [m]. 0 by default.

    Examples
    --------
    >>> treesim.Ground(friction=0.8)
    <Ground: normal (0, 0, 1), height 0 m, friction 0.8, restitution 0, rigid>
    """

    normal: ArrayLike = field(default=(0.0, 0.0, 1.0), kw_only=True)
    height: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n = finite_vector("normal", self.normal, 3)
        if not n.any():
            raise ArgumentError(f"normal must be a direction, got {short_repr(self.normal)}")
        object.__setattr__(self, "normal", tuple(unit_vector(n).tolist()))
        object.__setattr__(self, "height", checked_number("height", self.height, -FARTHEST, FARTHEST))

    def _place(self) -> str:
        return f"normal {vector(np.asarray(self.normal))}, height {self.height:g} m"

    def _solid(self) -> Solid:
        n = np.asarray(self.normal)
        k = 0 if abs(n[0]) < 0.9 else 1  # an axis far from the normal
        x = unit_vector(np.eye(3)[k] - n * n[k])
        y = n[[1, 2, 0]] * x[[2, 0, 1]] - n[[2, 0, 1]] * x[[1, 2, 0]]
        return Solid(0, PLANE, (0.0,) * 4, Placement(np.array([x, y, n]).T, n * self.height))

    def _heights(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        nx, ny, nz = np.asarray(self.normal)
        if nz <= UPRIGHT:  # a wall, or a ceiling
            return np.full(x.shape, -np.inf)
        return np.asarray((self.height - nx * x - ny * y) / nz)

    def _drawing(self, center: np.ndarray, reach: float) -> Drawing:
        n = np.asarray(self.normal)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = axis_rotation(n), center + (self.height - n @ center) * n
        corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
        return Drawing(pose, triangles=(reach * corners, np.array([[0, 1, 2], [0, 2, 3]], np.uint16)))


def planes_of(surfaces: Iterable[Surface]) -> list[Ground]:
    """Return the planes among surfaces."""
    return [surface for surface in surfaces if isinstance(surface, Ground)]
