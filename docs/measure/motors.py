"""Measure environments of the task `walk` as it is, and with motors, noise, and delay and friction of each episode.

python docs/measure/motors.py [ENVIRONMENTS ...]

The robots walk by the policy of Go2Velocity. The cases run in turn, so that other programs slow down all of them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from treesim_gymnasium import Task, TreesimVectorEnv, velocity, walk
from treesim_gymnasium.velocity import DELAY, NETWORK, motors

import treesim

STEPS, ROUNDS = 20, 9
LIMIT = 500  # steps of an episode


def cases() -> dict[str, Task]:
    """Return the tasks, each with what the one before has."""
    plain, ranges = walk(), velocity().randomize
    prompt, late = (
        replace(
            plain,
            world=treesim.World(plain.robot, ground=plain.world.ground, actuators=motors(delay)),
            kp=0.0,
            kd=0.0,
            randomize={name: ranges[name] for name in names},
        )
        for delay, names in ((0.0, ()), (DELAY, ("actuator_delay",)))
    )
    noisy = replace(late, noise=0.05)
    return {
        "as it is": plain,
        "with motors": prompt,
        "and delays of 0 to 20 ms": late,
        "and noise": noisy,
        "and friction": replace(noisy, randomize={**late.randomize, "ground_friction": ranges["ground_friction"]}),
    }


def next_actions(network: treesim.policies.Network, observations: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Return the next actions of the policy of Go2Velocity, which walks at the commanded speeds of Walk."""
    up, speed, turning, joints = np.split(observations[:, 1:34], [3, 6, 9], axis=1)
    command = np.c_[observations[:, 34], np.zeros((len(speed), 2))]
    return np.asarray(network(np.hstack([turning, -up, command, joints, actions])))


def main(*counts: int) -> None:
    """Print the steps per second of processor time for each case."""
    network = treesim.policies.from_onnx(NETWORK)
    print(f"steps of environments per second of processor time, the largest of {ROUNDS} rounds")
    print(f"{'environments':12}  {'case':24}  {'steps per second':>16}  {'relative':>8}")
    for count in counts or (256, 4096):
        made = {label: TreesimVectorEnv(task, count, LIMIT, "SameStep") for label, task in cases().items()}
        seen = {label: envs.reset(seed=0)[0] for label, envs in made.items()}
        actions = {label: np.zeros((count, 12)) for label in made}
        least = dict.fromkeys(made, np.inf)
        for _ in range(ROUNDS):
            for label, envs in made.items():
                used = 0.0
                for _ in range(STEPS):
                    actions[label] = next_actions(network, seen[label], actions[label])
                    began = time.process_time()
                    seen[label] = envs.step(actions[label])[0]
                    used += time.process_time() - began
                least[label] = min(least[label], used)
        for label, used in least.items():
            rate, relative = count * STEPS / used, least["as it is"] / used
            print(f"{count:<12}  {label:24}  {rate:16,.0f}  {relative:8.2f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
