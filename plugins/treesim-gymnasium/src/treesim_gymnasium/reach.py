"""Reaching task: the tool of a UR5 arm moves to a point, controlled by joint targets."""

from __future__ import annotations

from typing import Any

import numpy as np

import treesim
from treesim.numbers import maximum, minimum

from .task import Task

HOME = np.array([0.0, -1.2, 1.6, -0.4, 0.0, 0.0])  # rad: the tool before the robot, at half its height
ARM = 1.0  # rad: largest distance of targets from home
GOALS = 0.7  # rad: goals are tool positions in configurations up to this far from home
KP, KD = np.array([800.0, 800.0, 400.0, 50.0, 50.0, 50.0]), np.array([80.0, 80.0, 40.0, 5.0, 5.0, 5.0])
FASTEST, FARTHEST = 10.0, 2.0  # rad/s, m: clipping of observed velocities; more than the tool is from any goal
NEAR = 0.05  # m: length scale of the reward


def reach() -> Task:
    """Return the task of reaching a point with the tool of a UR5; its robot is installed by example-robot-data.

    Action: targets of six joints, about a home configuration. Observation: angles relative to it, velocities,
    and the vector from the tool to the goal. Reward: by distance. Episodes end by their time limit only.

    Examples
    --------
    >>> from treesim_gymnasium import reach
    >>> reach().robot
    <Tree 'ur5': 6 bodies, nq 6, nv 6, 16.9939 kg>
    """
    robot = treesim.load("ur5")

    def tool(q: Any) -> Any:
        return treesim.frame_pose(robot, q, "ee_link")[:3, 3]

    def observe(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
        way = p - tool(q)
        rates = [maximum(minimum(rate, FASTEST), -FASTEST) for rate in v]
        return [*(q - HOME), *rates, *way]

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        way = p - tool(q)
        square = way @ way
        return np.exp(-square / NEAR**2) - np.sqrt(square) - 0.01 * (a @ a)

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        q[:] = HOME
        p[:] = tool(HOME + GOALS * (2.0 * x - 1.0))

    high = np.concatenate([np.full(6, np.pi), np.full(6, FASTEST), np.full(3, FARTHEST)])
    return Task(
        world=robot,
        observe=observe,
        reward=reward,
        terminated=lambda t, q, v, p: 0,
        reset=reset,
        random=6,
        parameters=3,
        low=HOME - ARM,
        high=HOME + ARM,
        kp=KP,
        kd=KD,
        observation_low=-high,
        observation_high=high,
        dt=2e-3,
        steps=10,
        substeps=1,
    )
