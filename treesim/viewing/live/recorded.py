"""Checks and lookup of recorded motions for live pages."""

from __future__ import annotations

import numpy as np

from ...errors import ArgumentError, quoted
from ...model.tree import Tree
from ...simulation.trajectory import Trajectory


def check_fits(robot: Tree, trajectory: Trajectory) -> None:
    """Raise ArgumentError for a trajectory of another robot, or without states."""
    moving = tuple(body.joint.name for body in robot.bodies if body.joint.mimic is None)
    if moving != trajectory.joint_names or trajectory.q.shape[1:] != (robot.nq,):
        raise ArgumentError(
            f"trajectory: it is of {quoted(trajectory.robot_name)} with {len(trajectory.joint_names)} joints, and does "
            f"not fit {quoted(robot.name)} with {len(moving)}: take the robot, and the base, that it was made with"
        )
    if len(trajectory) == 0:
        raise ArgumentError("trajectory: it is empty, there is nothing to show")


def state_at(trajectory: Trajectory, t: float) -> int:
    """Return the index of the last state at or before t [s], 0 if there is none."""
    return max(int(np.searchsorted(trajectory.t, t, side="right")) - 1, 0)
