"""Run the trained policy of Go2Velocity in treesim and in MuJoCo, and count the runs that follow their command.

python plugins/treesim-gymnasium/walk.py --command 0.5,0,0 --seeds 20 --seconds 20

Each seed has a start and a friction of its own. In treesim, it is an episode of the environment: masses and motors
differ as well, controls are delayed, and pushes act.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from treesim_gymnasium import TreesimVectorEnv, velocity
from treesim_gymnasium.quadruped import fallen
from treesim_gymnasium.velocity import CONTRACT, NETWORK

import treesim

NEAR = 0.15, 0.15, 0.2  # m/s, m/s, rad/s: largest errors of the mean velocity, along the trunk's axes
WARM_UP = 2.0  # s, which the mean omits
DT, FRICTION = 0.002, (0.5, 1.0)  # s; of MuJoCo


class Walks(NamedTuple):
    """Mean velocities (n, 3) of n runs, to the front, to the left and of turning, and whether they fell (n,)."""

    velocity: np.ndarray
    fell: np.ndarray

    def follow(self, command: np.ndarray) -> np.ndarray:
        """Return which runs (n,) neither fell nor had another mean velocity than commanded."""
        return ~self.fell & (np.abs(self.velocity - command) < NEAR).all(axis=1)


def walked(
    policy: Any, command: np.ndarray, seconds: float, q: np.ndarray, v: np.ndarray,
    step: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> Walks:  # fmt: skip
    """Return the runs from states q (n, nq) and v (n, nv); step: returns the states after controls (n, nv)."""
    rate, memory, fell, total = (
        policy.contract.rate,
        policy.begin(len(q)),
        np.zeros(len(q), bool),
        np.zeros((len(q), 3)),
    )
    first, steps = round(WARM_UP * rate), round(seconds * rate)
    for k in range(steps):
        control, memory = policy.step(k / rate, q, v, command, memory)
        q, v = step(control)
        fell |= [bool(fallen(0.0, each, None, None)) for each in q]
        total += v[:, [0, 1, 5]] * (k >= first)
    return Walks(total / (steps - first), fell)


def in_treesim(policy: Any, command: np.ndarray, seeds: range, seconds: float) -> Walks:
    """Return runs in episodes of the environment."""
    task = velocity()
    envs = TreesimVectorEnv(task, len(seeds), autoreset_mode="Disabled")
    envs.reset(seed=list(seeds))
    episodes, (low, high) = envs.episodes, task.range

    def step(control: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        episodes.step((2 * control[:, task.driven] - low - high) / (high - low))
        return episodes.stepper.q, episodes.stepper.v

    return walked(policy, command, seconds, episodes.stepper.q, episodes.stepper.v, step)


def mujoco_model(policy: Any, friction: float) -> Any:
    """Return MuJoCo's model of the robot on a plane, with position actuators."""
    robot = velocity().robot
    spec, rough = treesim.to_mujoco_spec(robot), {"friction": [friction, 0, 0], "contype": 1}
    spec.option.timestep = DT
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], conaffinity=1, **rough)
    for shape in robot.shapes:
        ball = shape.kind == "sphere"
        kind = mujoco.mjtGeom.mjGEOM_SPHERE if ball else mujoco.mjtGeom.mjGEOM_BOX
        size = [*shape.size, 0, 0] if ball else [0.5 * x for x in shape.size]
        spec.body(robot.body_names[shape.body - 1]).add_geom(
            type=kind, size=size, pos=shape.placement.translation, mass=0, conaffinity=0, **rough
        )
    for name, servo in zip(policy.contract.action.joints, policy.contract.actuators, strict=True):
        added = spec.add_actuator(target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        added.gaintype, added.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
        added.gainprm[0], added.biasprm[1:3] = servo.kp, (-servo.kp, -servo.kd)
    return spec.compile()


def in_mujoco(policy: Any, command: np.ndarray, seeds: range, seconds: float) -> Walks:
    """Return runs in MuJoCo, one after the other."""
    task, found = velocity(), []
    robot, driven = task.robot, task.driven
    count = round(1 / (policy.contract.rate * DT))
    for seed in seeds:
        random = np.random.default_rng(seed)
        model = mujoco_model(policy, random.uniform(*FRICTION))
        data = mujoco.MjData(model)
        q, v = robot.neutral(), np.zeros(robot.nv)
        task.reset(random.random(task.random), q, v, np.zeros(task.parameters))
        data.qpos[:], data.qvel[:] = treesim.convert_state(robot, q, v, to="mujoco")

        def step(control: np.ndarray, data: Any = data, model: Any = model) -> tuple[np.ndarray, np.ndarray]:
            data.ctrl[:] = control[0, driven]
            mujoco.mj_step(model, data, nstep=count)
            q, v = treesim.convert_state(robot, data.qpos, data.qvel, source="mujoco")
            return q[None], v[None]

        found.append(walked(policy, command, seconds, q[None], v[None], step))
    return Walks(*(np.concatenate(x) for x in zip(*found, strict=True)))


def main() -> None:
    """Print a line for each engine and command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", type=Path, default=NETWORK)
    parser.add_argument("--command", action="append", help="three numbers: m/s, m/s, rad/s; may be given several times")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    policy = treesim.policies.load(given.network, CONTRACT, velocity().robot)
    print(f"means over runs; {given.seeds} runs of {given.seconds:g} s for each command")
    print("command [m/s, m/s, rad/s]  engine   follow  fell  forward [m/s]  left [m/s]  turning [rad/s]")
    for text in given.command or ["0.5,0,0"]:
        command = np.array([float(x) for x in text.split(",")])
        for label, run in (("treesim", in_treesim), ("MuJoCo", in_mujoco)):
            walks = run(policy, command, range(given.seeds), given.seconds)
            (forward, left, turning), follow = walks.velocity.mean(axis=0), walks.follow(command).sum()
            counts = f"{follow:6}  {walks.fell.sum():4}"
            print(f"{text:25}  {label:7}  {counts}  {forward:13.2f}  {left:10.2f}  {turning:15.2f}", flush=True)


if __name__ == "__main__":
    main()
