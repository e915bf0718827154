"""Random configurations of a tree within its position limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .tree import Tree

# [rad, m] how far random configurations reach along the coordinates of joints without limits, 1 where nothing is said
REACH = {"revolute": [np.pi], "continuous": [np.pi], "planar": [1.0, 1.0, np.pi]}
FARTHEST = 1e6  # rad, m: limits beyond this are none; rounding hides small motions at such places


def random_configuration(robot: Tree, rng: np.random.Generator) -> np.ndarray:
    """Return a random configuration (nq,), as `Tree.random` describes it."""
    moving = [body.joint for body in robot.bodies if body.joint.mimic is None]
    reach = np.array([x for joint in moving for x in REACH.get(joint.type, [1.0] * joint.nq)])
    low = np.where(robot.lower > -FARTHEST, robot.lower, np.minimum(-reach, robot.upper - 2 * reach))
    high = np.where(robot.upper < FARTHEST, robot.upper, np.maximum(reach, robot.lower + 2 * reach))
    q, start = np.empty(robot.nq), 0
    for body in robot.bodies:
        if body.joint.type in ("spherical", "floating"):
            stop = robot.q_index[body.joint.name].stop
            q[start:stop] = rng.uniform(low[start:stop], high[start:stop])
            quaternion = rng.normal(size=4)
            q[stop - 4 : stop] = quaternion / np.linalg.norm(quaternion)
            start = stop
    q[start:] = rng.uniform(low[start:], high[start:])
    return q
