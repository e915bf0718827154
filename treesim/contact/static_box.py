"""Static boxes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..kernels.contact.signed_distance import BOX
from ..model.inertia import Placement
from ..model.shapes import CollisionShape
from ..system.display import vector
from ..validation.values import checked_part, finite_vector, short_repr
from .solid import Solid
from .solid_surface import SolidSurface
from .surface import FARTHEST, LEAST, ON_BORDER, UPRIGHT, Drawing


@dataclass(frozen=True, repr=False, eq=False)
class StaticBox(SolidSurface):
    """A box that does not move; its faces, edges and corners collide with all shapes.

    Parameters
    ----------
    size : array_like
        (3,) full lengths along the axes x, y, z of the box [m].
    placement : Placement
        Pose of the box's centre in the world. Identity by default.
    friction, restitution, stiffness, dissipation_time, torsional_friction, rolling_friction, name
        As in `treesim.Surface`.

    Examples
    --------
    >>> treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(0, 0, 0.1)), friction=0.6)
    <StaticBox: 1 x 1 x 0.2 m at (0, 0, 0.1), friction 0.6, restitution 0, rigid>
    """

    size: ArrayLike
    placement: Placement = field(default_factory=Placement)

    def __post_init__(self) -> None:
        super().__post_init__()
        size = finite_vector("size", self.size, 3, FARTHEST)
        if not (size >= LEAST).all():
            raise ArgumentError(
                f"size must be three positive lengths [m], {LEAST:g} at least, got {short_repr(self.size)}"
            )
        checked_part("placement of a static box", self.placement, Placement)
        object.__setattr__(self, "size", tuple(size.tolist()))

    def _place(self) -> str:
        lengths = " x ".join(f"{x:g}" for x in np.asarray(self.size))
        return f"{lengths} m at {vector(self.placement.translation)}"

    def _solid(self) -> Solid:
        return Solid(0, BOX, (*(0.5 * np.asarray(self.size)), 0.0), self.placement)

    def _corners(self, link: str) -> CollisionShape:
        return CollisionShape(0, self.placement, "box", size=tuple(np.asarray(self.size)), link=link)

    def _heights(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return where vertical lines leave the box: the part between three pairs of planes."""
        R, half = np.asarray(self.placement.rotation), np.asarray(self.size) / 2
        center = np.asarray(self.placement.translation)
        enters, leaves = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        for k in range(3):
            at, slope = (x - center[0]) * R[0, k] + (y - center[1]) * R[1, k], R[2, k]
            if abs(slope) <= UPRIGHT:  # the line is parallel to these planes
                leaves[np.abs(at) > half[k] + ON_BORDER] = -np.inf
                continue
            ends = np.stack([(-half[k] - at) / slope, (half[k] - at) / slope])
            np.maximum(enters, ends.min(axis=0), out=enters)
            np.minimum(leaves, ends.max(axis=0), out=leaves)
        begins = (enters <= leaves + ON_BORDER) & (center[2] + enters <= z + ON_BORDER)
        return np.where(begins, center[2] + leaves, -np.inf)

    def _upward(self) -> tuple[np.ndarray, float, float]:
        """Return the normal of the uppermost face, the height of this face, and the box's length along the normal."""
        R, half = self.placement.rotation, np.asarray(self.size) / 2
        k = int(np.abs(R[2]).argmax())
        up = R[:, k] * np.sign(R[2, k])
        return up, float(up @ self.placement.translation + half[k]), float(2 * half[k])

    def _drawing(self, center: np.ndarray, reach: float) -> Drawing:
        return Drawing(self.placement.matrix(), box=tuple(np.asarray(self.size).tolist()))
