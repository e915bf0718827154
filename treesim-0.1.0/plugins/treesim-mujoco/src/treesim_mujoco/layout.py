"""State layout of MuJoCo.

Quaternions are w first; a free body has linear velocity and force in world axes, angular ones in body axes.
In treesim both are in body axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treesim.compare.layouts import WorldAxes, floating_joints

from .reading import body_name

if TYPE_CHECKING:
    from treesim import Tree


class MujocoLayout(WorldAxes):
    """Layout of one robot in a MuJoCo model.

    joints: MuJoCo's index of each of treesim's joints (N), by default that of the body with the same name.
    """

    def __init__(self, robot: Tree, model: Any, joints: Sequence[int] | None = None) -> None:
        q_order, v_order = np.empty(robot.nq, dtype=int), np.empty(robot.nv, dtype=int)
        numbers_there = joints or [int(model.body(body_name(body.name)).jntadr[0]) for body in robot.bodies]
        for body, joint in zip(robot.bodies, numbers_there, strict=True):
            ours_q, ours_v = (index[body.joint.name] for index in (robot.q_index, robot.v_index))
            at_q, at_v = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
            numbers = list(range(ours_q.start, ours_q.stop))
            if body.joint.type in ("floating", "spherical"):
                numbers[-4:] = [numbers[-1], *numbers[-4:-1]]  # w x y z
            q_order[at_q : at_q + len(numbers)] = numbers
            v_order[at_v : at_v + body.joint.nv] = range(ours_v.start, ours_v.stop)
        super().__init__(q_order, v_order, floating_joints(robot), parts=1)
