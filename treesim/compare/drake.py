"""Between treesim's layout of states and that of Drake's MultibodyPlant, known by its documented conventions."""

from __future__ import annotations

import numpy as np

from ..errors import UnsupportedError
from ..model.given import refuse_followers
from ..model.tree import Tree
from .layouts import WorldAxes

KNOWN = ("revolute", "continuous", "prismatic", "planar")


class DrakeLayout(WorldAxes):
    """The layout of one robot in a MultibodyPlant that parsed its URDF, and holds nothing else.

    A floating base comes first: q = (quaternion w x y z, position of the body's origin), v = (angular velocity,
    velocity of the origin), both in the world's axes. Then every joint has the numbers that it has here, in treesim's
    order, depth-first as the URDF has its joints.
    Raises UnsupportedError for spherical joints, which Drake's URDF reader makes of three angles, and for floating ones
    elsewhere.
    """

    def __init__(self, robot: Tree) -> None:
        refuse_followers(robot, "a state of Drake")
        q_order, v_order = np.arange(robot.nq), np.arange(robot.nv)
        floating = bool(robot.bodies) and robot.bodies[0].joint.type == "floating"
        for body in robot.bodies[floating:]:
            if body.joint.type not in KNOWN:
                raise UnsupportedError(f"joint {body.joint.name!r}: Drake reads no {body.joint.type} joint from a URDF")
        if floating:
            q_order[:7], v_order[:6] = [6, 3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2]
        super().__init__(q_order, v_order, floating, parts=2)
