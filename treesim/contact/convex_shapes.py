"""Convex shapes as coal's geometries, and ray casting from inside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, quoted
from ..model.shapes import CollisionShape
from ..model.solids import BALLS, roundness
from ..states.support import candidate_points
from .solids import CONTACTS

LEAVING = 1e-9  # cosine above which a ray comes nearer to a face


@dataclass(frozen=True, eq=False)
class ConvexShape:
    """A convex shape with coal's geometry.

    center (3,), radius: bounding ball, in body axes [m]. rotation, translation: pose on the body. normals (k, 3),
    offsets (k,): planes n . x = d of the flat faces, in the shape's axes. half_length, roundness: half length along z
    and radius of a sphere, capsule or cylinder [m]. round_ends: True for a sphere or capsule.
    """

    geometry: Any
    center: np.ndarray
    radius: float
    rotation: np.ndarray
    translation: np.ndarray
    normals: np.ndarray
    offsets: np.ndarray
    half_length: float = 0.0
    roundness: float = 0.0
    round_ends: bool = False

    def exits(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return distances (k,) of the surface from points x (k, 3) along the unit vector d; negative if behind."""
        cosine = self.normals @ d
        toward = cosine > LEAVING
        planes = (self.offsets[toward] - x @ self.normals[toward].T) / cosine[toward]
        found = planes.min(axis=1, initial=np.inf)
        return np.minimum(found, self._round_exits(x, d)) if self.roundness else found

    def _round_exits(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Return distances (k,) of a cylinder about z, or of the ball about the nearest point of a capsule's axis."""
        w = x.copy()
        if self.round_ends:
            w[:, 2] -= np.clip(x[:, 2], -self.half_length, self.half_length)
        else:
            w[:, 2], d = 0.0, np.array([d[0], d[1], 0.0])
        square = d @ d
        if square < LEAVING:
            return np.full(len(x), np.inf)
        middle = -(w @ d) / square
        left = middle**2 - ((w * w).sum(axis=1) - self.roundness**2) / square
        return middle + np.sqrt(np.maximum(left, 0.0))


def convex_shape(shape: CollisionShape) -> ConvexShape:
    """Return a shape with coal's geometry; raises ArgumentError for a flat hull."""
    import coal

    place = shape.placement
    round_part, kind = roundness(shape.kind), CONTACTS[shape.kind]
    half = shape.size[1] / 2 if len(shape.size) == 2 else 0.0
    radius = shape.size[0] if round_part else 0.0
    faces = kind.faces(shape)
    if kind.polyhedral and not len(faces):
        raise ArgumentError(
            f"link {quoted(shape.link)}: its hull is flat, so it cannot collide with other bodies: give it a "
            "thickness, or use a box"
        )
    points = candidate_points(shape)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    reach = np.linalg.norm(points - middle, axis=1).max() + radius
    geometry = getattr(coal, kind.coal)(*shape.size) if shape.size else _hull(points)
    center = place.rotation @ middle + place.translation
    return ConvexShape(
        geometry, center, float(reach), place.rotation, place.translation, faces[:, :3], faces[:, 3], half, radius,
        round_part == BALLS,
    )  # fmt: skip


def _hull(points: np.ndarray) -> Any:
    import coal

    vertices = coal.StdVec_Vec3s()
    for point in points:
        vertices.append(point)
    return coal.Convex.convexHull(vertices, True, "Qt")
