"""Kinds of collision shapes: which solids they are, and which solids their points collide with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..kernels.contact.edges import AXIS, CROSSING, FEATURES
from ..kernels.contact.layout import PAIR
from ..kernels.contact.shape_distance import BALL, DRUM, POLYHEDRON, ROD
from ..kernels.contact.signed_distance import BOX, CAPSULE, GRID, MESH, PLANE, SPHERE
from ..model.shapes import CollisionShape
from .hull_faces import face_planes


def _no_faces(shape: CollisionShape) -> np.ndarray:
    return np.zeros((0, 4))


def _box_faces(shape: CollisionShape) -> np.ndarray:
    return np.column_stack([np.vstack([np.eye(3), -np.eye(3)]), np.tile(np.array(shape.size) / 2, 2)])


def _end_faces(shape: CollisionShape) -> np.ndarray:
    return np.array([[0, 0, 1.0, shape.size[1] / 2], [0, 0, -1.0, shape.size[1] / 2]])


class ContactKind(NamedTuple):
    """Contact of one kind of shape.

    shape: see `kernels.contact.shape_distance`. solid: see `kernels.contact.signed_distance`; None if other shapes do
    not collide with it. meets: solids of other bodies that the points collide with, and the kind of contact between
    the points (`kernels.contact.edges`), 0 for none. faces: normals n and offsets d (k, 4) of the planes n . x = d of
    the flat faces; none of a flat hull. coal: name of coal's geometry.
    """

    shape: int
    solid: int | None
    meets: Mapping[int, int]
    faces: Callable[[CollisionShape], np.ndarray]
    coal: str

    @property
    def polyhedral(self) -> bool:
        """True if faces are flat, and edges straight."""
        return self.shape == POLYHEDRON


CONTACTS = {
    "sphere": ContactKind(BALL, SPHERE, {SPHERE: 0, CAPSULE: 0, BOX: 0}, _no_faces, "Sphere"),
    "capsule": ContactKind(ROD, CAPSULE, {CAPSULE: AXIS, BOX: AXIS}, _no_faces, "Capsule"),
    "cylinder": ContactKind(DRUM, None, {BOX: FEATURES}, _end_faces, "Cylinder"),
    "box": ContactKind(POLYHEDRON, BOX, {BOX: CROSSING}, _box_faces, "Box"),
    "hull": ContactKind(
        POLYHEDRON, None, {SPHERE: 0, CAPSULE: 0, BOX: FEATURES}, lambda shape: face_planes(shape.vertices), "Convex"
    ),
}


def variant_of(pairs: np.ndarray) -> str:
    """Return the name of the collision detection (`kernels.contact.collision.VARIANTS`) for a table of pairs."""
    solids = pairs[:, PAIR.solid]
    if (solids == PLANE).all():
        return "planes"
    if (solids == MESH).any():
        return "meshes"
    others = (solids == GRID) | (pairs[:, PAIR.between] == FEATURES) | (pairs[:, PAIR.internal_edges] > 0)
    return "solids" if others.any() else "primitives"
