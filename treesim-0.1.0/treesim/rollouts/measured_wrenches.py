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
    """Return a function of q, v, tau that computes the wrench across a joint, for use in measures and policies.

    The wrench does not include effects of external forces, contact forces and constraints. To include these effects,
    add a sensor `ForceTorque(joint)` to the world. The function of a measure then has the arguments (t, q, v, p, c, s),
    and `s["force_torque_..."]` is the sensor's reading.

    Parameters
    ----------
    robot : Tree
        The robot.
    joint : str
        Name of a joint or link, as in `treesim.joint_wrenches`.

    Returns
    -------
    callable
        Function that returns the force and moment (6,) [N, N m] of the parent on the child link, as
        `treesim.joint_wrenches` does. Its argument tau (nv,) is that of `treesim.forward_dynamics`. Cost of a call:
        O(N).

    Raises
    ------
    UnknownNameError
        If the joint is unknown.

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
