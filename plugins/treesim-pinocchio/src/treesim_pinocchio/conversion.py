"""Conversion of a robot to a Pinocchio model, with limits, damping, friction and all names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treesim.errors import listed

from .model import PinocchioModel
from .reading import from_tree

if TYPE_CHECKING:
    from treesim import Tree

BEYOND_ONE = 1.01  # limits of cosines and of quaternions, as set by Pinocchio's own readers
NO_LIMIT = np.finfo(float).max


def converted(robot: Tree) -> PinocchioModel:
    """Return the robot built joint by joint, in the tree's own numbering.

    `model` has limits of position, velocity and effort, damping, dry friction, armature, a frame of every joint
    and body, and every frame of the robot. A missing limit is the largest float. `changes` names joints whose springs
    are left out.
    """
    made = from_tree(robot)
    model = made.model
    model.name = robot.name
    order = made.layout.v_order
    finite = lambda x: np.clip(x, -NO_LIMIT, NO_LIMIT)  # noqa: E731
    effort, friction = finite(robot.effort_limit[order]), robot.joint_friction[order]
    model.upperVelocityLimit = finite(robot.velocity_limit[order])
    model.lowerVelocityLimit = -model.upperVelocityLimit
    model.upperEffortLimit, model.lowerEffortLimit = effort, -effort
    model.upperDryFrictionLimit, model.lowerDryFrictionLimit = friction, -friction
    model.damping = robot.damping[order]
    sprung = [joint.name for joint in robot.joints.values() if np.any(joint.stiffness)]
    if sprung:
        made.changes += (
            f"the springs of joints are left out, which Pinocchio does not have: {listed(sprung, limit=3)}",
        )
    model.lowerPositionLimit, model.upperPositionLimit = map(finite, _positions(made, robot))
    return made


def _positions(made: PinocchioModel, robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the position limits (nq,) in Pinocchio's layout."""
    layout = made.layout
    lower, upper = robot.lower[layout.q_order], robot.upper[layout.q_order]
    units = [*layout.cosines, *(layout.cosines + 1)]
    for name, where in robot.q_index.items():
        if robot.joint(name).type in ("spherical", "floating"):
            units += np.flatnonzero(np.isin(layout.q_order, range(where.stop - 4, where.stop))).tolist()
    lower[units], upper[units] = -BEYOND_ONE, BEYOND_ONE
    return lower, upper
