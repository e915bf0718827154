"""A Unitree Go2 that moves with a commanded velocity, and observes what the robot measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import treesim
from treesim.numbers import absolute, less, select, sqrt

from .noise import Together
from .pushes import Pushes
from .quadruped import LEGS, RANGE, Go2, fallen, go2, thrown, up
from .task import Task

NETWORK, CONTRACT = (Path(__file__).parent / "policies" / f"go2_velocity.{kind}" for kind in ("onnx", "toml"))
KP, KD = 40.0, 1.0  # N m/rad, N m s/rad
ROTOR = 0.01  # kg m^2, at the joint
DELAY = 0.02  # s: largest delay of targets
SPEED, CALF_SPEED = 30.1, 15.7  # rad/s: speeds at which the torque of motors has fallen to 0
LOW, HIGH = np.array([-0.6, -0.4, -1.0]), np.array([1.0, 0.4, 1.0])  # commands: m/s, m/s, rad/s
AT_REST = 0.1  # part of the commands that are 0
CHANGE = (2.0, 10.0)  # s: when the command changes
NOISE = np.repeat((0.2, 0.05, 0.0, 0.01, 1.5), (3, 3, 3, 12, 12))  # rad/s, 1, -, rad, rad/s
PUSH = 120.0  # N
FRICTION, MASS = (0.4, 1.2), (6.3, 9.3)  # of the ground; kg, of the trunk
STRENGTH, STIFFNESS, DAMPING = (0.8, 1.0), (0.85, 1.15), (0.8, 1.2)  # factors of effort limits, KP and KD
CLEARANCE = 0.08  # m: height of the centres of swinging feet
NEAR, NEAR_TURNING = 0.1, 0.15  # m^2/s^2, rad^2/s^2: squared errors at which rewards are half
# costs of a step: motion along z, rolling and pitching, leaning, height, change of actions, torques, postures of all
# joints, of hips, of a robot at rest, of diagonal legs to each other, and feet that swing low
COSTS = {
    "bounce": 1.0, "roll": 0.05, "lean": 2.5, "height": 15.0, "change": 0.25, "torque": 1e-4, "speed": 1e-4,
    "posture": 0.03, "hips": 0.3, "rest": 0.5, "diagonal": 0.1, "swing": 0.4,
}  # fmt: skip


def motors(delay: float = DELAY) -> dict[str, treesim.PositionServo]:
    """Return position servos of all joints with limits, a torque-speed line, rotors and a delay [s]."""
    servo: dict[str, Any] = {"gains": "explicit", "rotor_inertia": ROTOR, "delay": delay}
    return {
        "*_calf_joint": treesim.PositionServo(KP, KD, velocity_limit=CALF_SPEED, **servo),
        "*": treesim.PositionServo(KP, KD, velocity_limit=SPEED, **servo),
    }


def randomized(robot: treesim.Tree, delay: float) -> dict[str, Any]:
    """Return the ranges of the model parameters of episodes; delay: the largest one [s], of all joints together."""
    joints, effort = np.repeat((0.0, 1.0), (6, robot.nv - 6)), robot.effort_limit
    delayed = {"actuator_delay": Together(0.0 * joints, delay * joints)} if delay else {}
    return delayed | {
        "mass": {robot.body_names[0]: MASS},
        "ground_friction": FRICTION,
        "kp": (KP * STIFFNESS[0] * joints, KP * STIFFNESS[1] * joints),
        "kd": (KD * DAMPING[0] * joints, KD * DAMPING[1] * joints),
        "effort_limit": (STRENGTH[0] * effort, STRENGTH[1] * effort),
    }


def command(t: Any, p: Any) -> list[Any]:
    """Return the commanded velocities to the front and to the left, and of turning."""
    return [select(less(t, p[6]), p[k], p[3 + k]) for k in range(3)]


def swing(robot: treesim.Tree, q: Any, v: Any) -> Any:
    """Return the sum of the feet's speeds along the ground, each times its squared relative error of height."""
    total = 0.0
    for leg in LEGS:
        height = treesim.frame_pose(robot, q, f"{leg}_foot")[2, 3]
        along = treesim.frame_velocity(robot, q, v, f"{leg}_foot")[:2]
        total += (height / CLEARANCE - 1.0) ** 2 * sqrt(along @ along + 1e-6)
    return total


def costs(robot: Go2, q: Any, v: Any, a: Any, b: Any, at_rest: Any) -> Any:
    """Return the costs of a step; a, b: the last action and the one before; at_rest: 1 if the command is 0."""
    x, y, _ = up(q)
    off, rates = q[7:] - robot.posture, v[6:]
    torque, hips = KP * (RANGE * a - off) - KD * rates, off[::3]
    diagonal = off[[1, 2, 4, 5]] - off[[10, 11, 7, 8]]
    parts = {
        "bounce": v[2] ** 2, "roll": v[3] ** 2 + v[4] ** 2, "lean": x * x + y * y,
        "height": (q[2] - robot.height) ** 2, "change": (a - b) @ (a - b), "torque": torque @ torque,
        "speed": rates @ rates, "posture": off @ off, "hips": hips @ hips, "rest": at_rest * (off @ off),
        "diagonal": diagonal @ diagonal, "swing": swing(robot.world.robot, q, v),
    }  # fmt: skip
    return sum(COSTS[name] * part for name, part in parts.items())


def velocity(*, ground: Any = None, delay: float = DELAY) -> Task:
    """Return the task of moving with commanded velocities, with motors, noise and pushes as a robot has them.

    Action: targets of the twelve joints, for position servos with torque-speed lines. Observation: angular velocity of
    the trunk, direction of gravity along its axes, commanded velocities to the front, to the left [m/s] and of turning
    [rad/s], joint angles from the posture, their rates, and the last action: 45 numbers, with noise. The command
    changes once in an episode. Friction, mass of the trunk, delays,
    gains and strength of the motors differ between episodes.
    Reward: 4 a step at the commanded velocity, less otherwise, minus costs of bouncing, leaning, effort and feet
    that swing low.

    Parameters
    ----------
    ground : Ground, StaticBox, HeightField, StaticMesh or a sequence of them, optional
        As in `stand`.
    delay : float
        Largest delay of the targets of joints [s]. Each episode draws one, from 0 on, for all joints.

    Returns
    -------
    Task
        The task.

    Examples
    --------
    >>> from treesim_gymnasium import velocity
    >>> velocity().randomize["ground_friction"]
    (0.4, 1.2)
    """
    robot = go2(ground)
    world = treesim.World(robot.world.robot, ground=robot.world.ground, actuators=motors(delay))

    def observe(t: Any, q: Any, v: Any, p: Any) -> list[Any]:
        return [*v[3:6], *(-x for x in up(q)), *command(t, p), *(q[7:] - robot.posture), *v[6:]]

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any, b: Any) -> Any:
        x, y, turn = command(t, p)
        linear = 1.0 / (1.0 + ((v[0] - x) ** 2 + (v[1] - y) ** 2) / NEAR)
        turning = 1.0 / (1.0 + (v[5] - turn) ** 2 / NEAR_TURNING)
        cost = costs(robot, q, v, a, b, less(absolute(x) + absolute(y) + absolute(turn), 0.05))
        return 2.0 * linear + 1.0 * turning + 1.0 / (1.0 + cost) - 0.2 * cost

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        thrown(robot, x[:20], q, v, 0.1, 0.2)
        for k in (0, 3):
            given = LOW + (HIGH - LOW) * x[20 + k : 23 + k]
            for j in range(3):
                p[k + j] = select(less(x[26 + k // 3], AT_REST), 0.0, given[j])
        p[6] = CHANGE[0] + (CHANGE[1] - CHANGE[0]) * x[28]

    return Task(
        world=world,
        observe=observe,
        reward=reward,
        terminated=fallen,
        reset=reset,
        random=29,
        parameters=7,
        low=robot.posture - RANGE,
        high=robot.posture + RANGE,
        dt=4e-3,
        steps=5,
        substeps=1,
        integrator="semi_implicit_euler",
        last_action=True,
        noise=NOISE,
        randomize=randomized(robot.world.robot, delay),
        pushes=Pushes(link="base", low=(-PUSH, -PUSH, 0), high=(PUSH, PUSH, 0), interval=4.0, duration=0.1),
    )
