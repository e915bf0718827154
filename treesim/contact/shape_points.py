"""Points of collision shapes in kernel axes, computed once for each shape of a robot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from ..model.matrices import product, vector_length
from ..model.shapes import CollisionShape
from ..model.solids import RIMS, roundness
from ..model.tree import Tree
from ..states.support import candidate_points
from .solids import CONTACTS, ContactKind

KNOWN: WeakKeyDictionary[Tree, dict[int, ShapePoints]] = WeakKeyDictionary()  # by the shape's `id`


@dataclass(frozen=True, eq=False)
class ShapePoints:
    """Points of a shape.

    points (n, 4): points on the body, of a cylinder the centres of its rims, and their radius. ball (4,): centre and
    radius of a ball around them. turn (3, 3): rotation from body axes to kernel axes. has_rims: True for a cylinder.
    """

    shape: CollisionShape
    kind: ContactKind
    points: np.ndarray
    ball: np.ndarray
    turn: np.ndarray
    has_rims: bool

    @cached_property
    def planes(self) -> np.ndarray:
        """Normals n and offsets d (k, 4) of the planes n . x = d of the faces of a box or hull; none of others."""
        if not self.kind.polyhedral:
            return np.zeros((0, 4))
        faces, placement = self.kind.faces(self.shape), self.shape.placement
        normals = product(faces[:, :3], placement.rotation.T)
        return np.column_stack([product(normals, self.turn.T), faces[:, 3] + product(normals, placement.translation)])


def shape_points(robot: Tree, shape: CollisionShape) -> ShapePoints:
    """Return the points of a shape on a body of a robot, or of the world's."""
    turn, own, part = robot.body_rotations[shape.body].T, candidate_points(shape), roundness(shape.kind)
    at = product(own, shape.placement.rotation.T) + shape.placement.translation
    radius = shape.size[0] if part else 0.0
    points = np.column_stack([product(at, turn.T), np.full(len(at), radius)])
    if part == RIMS:
        center = points[:, :3].mean(axis=0)
        half = vector_length(points[0, :3] - center)
        reach = math.sqrt(half * half + radius * radius)
    else:
        center = (points[:, :3].min(axis=0) + points[:, :3].max(axis=0)) / 2
        reach = (np.linalg.norm(points[:, :3] - center, axis=1) + points[:, 3]).max()
    found = ShapePoints(shape, CONTACTS[shape.kind], points, np.array([*center, reach]), turn, part == RIMS)
    if shape.body:  # others may be of this world alone
        KNOWN.setdefault(robot, {})[id(shape)] = found
    return found
