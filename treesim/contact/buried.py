"""Shapes that are inside static meshes as a whole, which have no contacts with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.contact.layout import PAIR
from ..kernels.contact.signed_distance import MESH
from ..kernels.contact.tables import touch_tables
from ..model.matrices import product
from ..model.tree import Tree
from ..states.support import POSES
from .ground import Surface
from .static_mesh import StaticMesh
from .tables import Touching, surface_names


def buried(robot: Tree, tables: Touching, surfaces: Sequence[Surface], q: np.ndarray) -> dict[int, float]:
    """Return {number of pair: depth [m]} of the shapes whose bounding balls have centres inside a static mesh.

    The depth is measured along the mesh's z axis.
    """
    meshes = {
        name: surface
        for name, surface in zip(surface_names(surfaces), surfaces, strict=True)
        if isinstance(surface, StaticMesh)
    }
    if not meshes:
        return {}
    touch, found = touch_tables(tables.layout, tables.geometry), {}
    poses = POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)
    for k in np.flatnonzero(touch.pair[:, PAIR.solid] == MESH):
        body, mesh = touch.pair[k, PAIR.body], meshes[tables.links[k][1]]
        center = product(robot.body_rotations[body], touch.ball[k, :3])
        world = product(poses[body, :3, :3], center) + poses[body, :3, 3]
        depth = depth_of(mesh, product(mesh.placement.rotation.T, world - mesh.placement.translation))
        if depth > 0:
            found[int(k)] = depth
    return found


def depth_of(mesh: StaticMesh, p: np.ndarray) -> float:
    """Return the depth along z of a point (3,) inside a mesh, both in the mesh's axes; 0 for points outside.

    The point is inside if the surface next above it faces up, and the one next below it does not.
    """
    items = mesh.table.triangles_at(p)
    edges = mesh.edges
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


def _left_of(one: np.ndarray, other: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return a positive number where p is on the left of the lines from `one` to `other`, seen from above."""
    d, w = other - one, p - one
    return np.asarray(d[:, 0] * w[:, 1] - d[:, 1] * w[:, 0])
