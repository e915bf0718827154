"""Wrenches across joints as functions of states, for measures and policies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dynamics.joint_wrenches import joint_wrenches, rows_of
from ..model.tree import Tree
from ..states.arguments import checked_robot


def joint_wrench(robot: Tree, joint: str) -> Callable[[Any, Any, Any], np.ndarray]:
    """Return a function of q, v and tau that computes the wrench across a joint, for use in measures and policies.

    External forces, contact forces and constraints are not part of it: a sensor `ForceTorque(joint)` of the world
    includes them, whose readings measures take as `s["force_torque_..."]`.

    Parameters
    ----------
    robot : Tree
        The robot.
    joint : str
        Name of a joint or link, as in `treesim.joint_wrenches`.

    Returns
    -------
    callable
        Force and moment (6,) [N, N m] of the parent on the link that the joint carries, as in
        `treesim.joint_wrenches`, cost O(N); tau (nv,) as in `treesim.forward_dynamics`.

    Raises
    ------
    UnknownNameError
        For an unknown joint.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> elbow, hold = treesim.measures.joint_wrench(robot, "elbow_joint"), treesim.gravity_forces(robot, np.zeros(6))
    >>> load = treesim.measures.maximum(lambda t, q, v: np.sqrt(elbow(q, v, hold)[:3] @ elbow(q, v, hold)[:3]))
    >>> runs = treesim.rollout(robot, np.zeros(6), np.zeros(6), np.tile(hold, (1, 20, 1)), measure={"load": load})
    >>> runs.measures["load"].round(2)
    array([48.08])
    """
    rows_of(checked_robot(robot), joint)
    return partial(_wrench, robot, joint)


def _wrench(robot: Tree, joint: str, q: Any, v: Any, tau: Any) -> np.ndarray:
    return joint_wrenches(robot, q, v, tau, joints=joint)
