"""A Unitree Go2 that stands after it was thrown and pushed, and that walks at a commanded speed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import treesim
from treesim import CollisionShape
from treesim.numbers import less, maximum, minimum, select

from .perception import Heights
from .task import Task

POSTURE = {"hip": 0.0, "thigh": 0.8, "calf": -1.6}  # rad, of each leg
LEGS = ("FL", "FR", "RL", "RR")
RANGE = 0.6  # rad: of the joints' targets to either side of the posture
KP, KD = 40.0, 1.0  # N m/rad, N m s/rad
FASTEST = 20.0  # rad/s: clipping of observed velocities
LOWEST, LEANING = 0.15, 0.5  # m; cosine: an episode ends when the base is lower, or leans more
FOOT, TRUNK = 0.022, (0.37, 0.1, 0.11)  # m: radius, lengths
CLEARANCE = 0.03  # m: of the lowest foot at the start
SPEEDS = (0.3, 1.0)  # m/s: commanded speeds, to the front
NEAR = 0.25  # m/s: error of the speed at which its reward is 1/e


class Go2(NamedTuple):
    """The robot's world, the joints' posture (12,) [rad] and the height of the base in it [m]."""

    world: treesim.World
    posture: np.ndarray
    height: float


def with_round_feet(robot: treesim.Tree) -> treesim.Tree:
    """Return the robot with spheres for feet and a box for the trunk, instead of the hulls of its meshes.

    The four lowest of a hull's many vertices are within a millimetre, and share a foot's force in no unique way.
    """
    feet = [robot.frame(f"{leg}_foot") for leg in LEGS]
    shapes = [CollisionShape(foot.body, foot.placement, "sphere", size=(FOOT,), link=foot.name) for foot in feet]
    trunk = CollisionShape(1, treesim.Placement(), "box", size=TRUNK, link=robot.body_names[0])
    frames = tuple(robot.frames.values())[robot.n_bodies :]
    return treesim.Tree(robot.name, robot.bodies, frames=frames, visuals=robot.visuals, shapes=[*shapes, trunk])


def go2(ground: Any = None) -> Go2:
    """Return the robot, of example-robot-data, on a ground, by default a plane of friction 0.8."""
    robot = with_round_feet(treesim.load("go2", base="floating"))
    legs = {f"{leg}_{joint}_joint": angle for leg in LEGS for joint, angle in POSTURE.items()}
    q = treesim.standing(robot, robot.configuration(legs))
    world = treesim.World(robot, ground=treesim.Ground(friction=0.8) if ground is None else ground)
    return Go2(world, q[7:], float(q[2]))


def up(q: Any) -> tuple[Any, Any, Any]:
    """Return the upward direction along the base's axes, of the quaternion x, y, z, w in q."""
    x, y, z, w = q[3], q[4], q[5], q[6]
    return 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)


def clipped(rates: Any, most: float) -> list[Any]:
    """Return numbers within +-most."""
    return [maximum(minimum(rate, most), -most) for rate in rates]


def fallen(t: Any, q: Any, v: Any, p: Any) -> Any:
    """Return whether the base is low or leans."""
    return maximum(less(q[2], LOWEST), less(up(q)[2], LEANING))


def quadruped(
    reward: Any, observe: Any, reset: Any, robot: Go2, random: int, imu: bool, heights: bool, parameters: int = 0
) -> Task:
    """Return a task of the robot with targets of its joints as actions, 50 a second."""
    return Task(
        imu=robot.world.robot.body_names[0] if imu else None,
        heights=Heights(frames=[f"{leg}_foot" for leg in LEGS]) if heights else None,
        world=robot.world,
        observe=observe,
        reward=reward,
        terminated=fallen,
        reset=reset,
        random=random,
        parameters=parameters,
        low=robot.posture - RANGE,
        high=robot.posture + RANGE,
        kp=KP,
        kd=KD,
        dt=4e-3,
        steps=5,
        substeps=1,
        integrator="semi_implicit_euler",
    )


def seen(robot: Go2, q: Any, v: Any) -> list[Any]:
    """Return height, upward direction, velocity of the base, angles from the posture, and their rates."""
    return [q[2] - robot.height, *up(q), *clipped(v[:6], FASTEST), *(q[7:] - robot.posture), *clipped(v[6:], FASTEST)]


def thrown(robot: Go2, x: Any, q: Any, v: Any, lean: float, speed: float) -> None:
    """Write a start above the ground: random lean [rad] and velocity of the base [m/s, rad/s], and random joints."""
    noise = 2.0 * x - 1.0
    turn = np.array([lean / 2 * noise[0], lean / 2 * noise[1], 0.0 * noise[0], 1.0 + 0.0 * noise[0]])
    q[2] = robot.height + CLEARANCE + 0.2 * lean
    q[3:7] = turn / np.sqrt(turn @ turn)
    q[7:] = robot.posture + 0.2 * noise[2:14]
    v[:6] = speed * noise[14:20]


def stand(*, imu: bool = False, heights: bool = False, ground: Any = None) -> Task:
    """Return the task of standing after a throw: episodes begin in the air, leaning and moving.

    Action: targets of the twelve joints. Observation: height, upward direction, velocities and joints, 34 numbers.
    Reward of a step: 1.5 at the height of the posture, upright, at rest and with action 0; less otherwise.

    Parameters
    ----------
    imu : bool
        Whether to observe an inertial unit in the trunk, 9 numbers more.
    heights : bool
        Whether to observe the heights of the ground around the feet, 9 numbers more for each.
    ground : Ground, StaticBox, HeightField, StaticMesh or a sequence of them, optional
        Ground that is near z = 0, from which rewards count heights. A plane with friction 0.8 by default.

    Returns
    -------
    Task
        The task.

    Examples
    --------
    >>> from treesim_gymnasium import stand
    >>> stand().robot
    <Tree 'go2_description': 13 bodies, nq 19, nv 18, 16.085 kg>
    """
    robot = go2(ground)

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        x, y, _ = up(q)
        place = (q[2] - robot.height) ** 2 / 0.05**2 + (x * x + y * y) / 0.2**2
        return np.exp(-place) * np.exp(-(v[:6] @ v[:6]) / 2) + 0.5 - 0.01 * (a @ a) - 2e-4 * (v[6:] @ v[6:])

    return quadruped(
        reward,
        lambda t, q, v, p: seen(robot, q, v),
        lambda x, q, v, p: thrown(robot, x, q, v, 0.4, 1.0),
        robot,
        random=20,
        imu=imu,
        heights=heights,
    )


def walk(*, imu: bool = False, heights: bool = False, ground: Any = None) -> Task:
    """Return the task of walking to the front at a commanded speed, which is the episode's parameter.

    Action: targets of the twelve joints. Observation: that of `stand`, the commanded speed [m/s], and sine and
    cosine of a clock of 2 Hz. Reward: 1.5 a step at the commanded speed, less otherwise, minus costs of sideways
    motion, turning, bouncing and effort.

    Parameters
    ----------
    imu, heights : bool
        As in `stand`.
    ground : Ground, StaticBox, HeightField, StaticMesh or a sequence of them, optional
        As in `stand`.

    Returns
    -------
    Task
        The task.

    Examples
    --------
    >>> from treesim_gymnasium import walk
    >>> walk().parameters
    1
    """
    robot = go2(ground)

    def observe(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
        clock = 4 * np.pi * t
        return [*seen(robot, q, v), p[0], np.sin(clock), np.cos(clock)]

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        x, y, _ = up(q)
        speed = np.exp(-((v[0] - p[0]) ** 2) / NEAR**2)
        costs = 0.5 * v[1] ** 2 + 0.3 * v[2] ** 2 + 0.1 * (v[3] ** 2 + v[4] ** 2) + 0.3 * v[5] ** 2
        costs += 2.0 * (x * x + y * y) + 10.0 * (q[2] - robot.height) ** 2 + 0.02 * (a @ a) + 5e-5 * (v[6:] @ v[6:])
        return 1.5 * speed + select(less(costs, 1.0), 1.0 - costs, 0.0)

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        thrown(robot, x[:20], q, v, 0.1, 0.2)
        p[0] = SPEEDS[0] + (SPEEDS[1] - SPEEDS[0]) * x[20]

    return quadruped(reward, observe, reset, robot, random=21, imu=imu, heights=heights, parameters=1)
