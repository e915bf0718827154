"""Shapes that are inside static meshes as a whole, which have no contacts with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.contact.layout import PAIR
from ..model.matrices import product
from ..model.tree import Tree
from ..states.support import POSES
from .surface import StaticSurface
from .tables import Touching, surface_names


def buried(robot: Tree, tables: Touching, surfaces: Sequence[StaticSurface], q: np.ndarray) -> dict[int, float]:
    """Return {number of pair: depth [m]} of the shapes whose bounding balls have centres inside a static mesh."""
    meshes = {name: x for name, x in zip(surface_names(surfaces), surfaces, strict=True) if x._hides_shapes}
    if not meshes:
        return {}
    touch, found = tables.touch, {}
    poses = POSES(robot, robot.ints, robot.reals, robot.body_rotations.reshape(-1), q)
    for k in (k for k, (_, met) in enumerate(tables.links) if met in meshes):
        body = touch.pair[k, PAIR.body]
        center = product(robot.body_rotations[body], touch.ball[k, :3])
        world = product(poses[body, :3, :3], center) + poses[body, :3, 3]
        depth = meshes[tables.links[k][1]]._depth_of(world)
        if depth > 0:
            found[k] = depth
    return found
