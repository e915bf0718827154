"""Measure steps per second of Balance environments, compared with Gymnasium's own vector environments.

python plugins/treesim-gymnasium/measure.py

A linear control law, which keeps the poles up, computes all actions. An environment's step is 50 ms: five
steps of 10 ms, treesim's in two parts of four evaluations of the dynamics each, MuJoCo's RK4 of four
evaluations.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from scipy.linalg import solve_discrete_are
from treesim_gymnasium import Task, TreesimEnv, TreesimVectorEnv, balance
from treesim_gymnasium.balance import FALLEN, FASTEST, NOISE, tip

import treesim
from treesim.numbers import atan2

SECONDS, WARM_UP, LIMIT = 1.5, 20, 1000


def gain(task: Task) -> np.ndarray:
    """Return the feedback gain (1, 6) of position, angles and velocities: a linear quadratic regulator.

    The derivatives of the task's step are finite differences.
    """
    change = 1e-6 * np.vstack([np.eye(7), -np.eye(7)])
    stepper = treesim.BatchStepper(task.world, 14, task.dt, steps=task.steps, substeps=task.substeps)
    stepper.put(slice(None), change[:, :3], change[:, 3:6])
    stepper.step(500.0 * np.pad(change[:, 6:], ((0, 0), (0, 2))))
    after = np.hstack([stepper.q, stepper.v])
    slopes = (after[:7] - after[7:]).T / 2e-6
    A, B = slopes[:, :6], slopes[:, 6:]
    P = solve_discrete_are(A, B, np.eye(6), 10 * np.eye(1))
    return np.linalg.solve(10 * np.eye(1) + B.T @ P @ B, B.T @ P @ A)


def in_numpy(task: Task) -> Task:
    """Return the task with functions of NumPy arrays of all environments."""

    def observe(t: Any, q: Any, v: Any, p: Any) -> Any:
        return np.hstack([q[:, :1], np.sin(q[:, 1:]), np.cos(q[:, 1:]), np.clip(v, -FASTEST, FASTEST)])

    def terminated(t: Any, q: Any, v: Any, p: Any) -> Any:
        return tip(q.T)[1] < FALLEN

    def reward(t: Any, q: Any, v: Any, p: Any, a: Any) -> Any:
        x, z = tip(q.T)
        return 10.0 * (z >= FALLEN) - 0.01 * x**2 - (z - 2.0) ** 2 - 1e-3 * v[:, 1] ** 2 - 5e-3 * v[:, 2] ** 2

    def reset(x: Any, q: Any, v: Any, p: Any) -> None:
        q[:] = NOISE * (2.0 * x[:, :3] - 1.0)
        v[:] = NOISE * (2.0 * x[:, 3:] - 1.0)

    return replace(task, compiled=False, observe=observe, reward=reward, terminated=terminated, reset=reset)


def rate(envs: Any, law: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """Return the steps of single environments per second, and the mean reward of a step."""
    observations, _ = envs.reset(seed=0)
    steps, total, began, end = -WARM_UP, 0.0, 0.0, np.inf
    while time.perf_counter() < end or steps < 10:
        if steps == 0:
            began = time.perf_counter()
            end = began + SECONDS
        observations, rewards, *_ = envs.step(law(observations))
        total += rewards.mean() if steps >= 0 else 0.0
        steps += 1
    seconds = time.perf_counter() - began
    envs.close()
    return steps * envs.num_envs / seconds, total / steps


def single(name: str) -> Any:
    """Return one environment with its time limit."""
    if name == "treesim":
        return gymnasium.wrappers.TimeLimit(TreesimEnv("balance"), LIMIT)
    return gymnasium.make("InvertedDoublePendulum-v5")


def main() -> None:
    """Print a line for each kind of environment."""
    task = balance()
    K = gain(task)

    def numpy_law(o: np.ndarray) -> np.ndarray:
        state = np.hstack([o[:, :1], np.arctan2(o[:, 1:3], o[:, 3:5]), o[:, 5:8]])
        return np.clip(-state @ K.T, -1.0, 1.0)

    def law(o: Any) -> Any:
        angles = [atan2(o[1], o[3]), atan2(o[2], o[4])]
        return -K @ np.array([o[0], *angles, *o[5:8]])

    compiled_law = treesim.BatchFunction(law, [8])
    makers: list[tuple[str, Callable[[int], Any], Any, tuple[int, ...]]] = [
        ("vector environment, functions and law compiled", lambda n: TreesimVectorEnv(task, n, LIMIT, dtype=float),
         compiled_law, (1, 16, 256, 4096)),
        ("the same, law in NumPy", lambda n: TreesimVectorEnv(task, n, LIMIT), numpy_law, (16, 256, 4096)),
        ("the same, functions and law in NumPy", lambda n: TreesimVectorEnv(in_numpy(task), n, LIMIT), numpy_law,
         (16, 256, 4096)),
        *((f"{kind.__name__} of {what}", lambda n, kind=kind, name=name: kind([partial(single, name)] * n),
           numpy_law, (16,)) for name, what in (("treesim", "single environments"), ("mujoco", "Gymnasium's (MuJoCo)"))
          for kind in (SyncVectorEnv, AsyncVectorEnv)),
    ]  # fmt: skip
    print(f"{len(os.sched_getaffinity(0))} cores; steps of Balance environments")
    print(f"{'environments':46}  {'number':>6}  {'steps per second':>16}  {'mean reward':>11}")
    for label, make, used, counts in makers:
        for count in counts:
            steps, mean = rate(make(count), used)
            print(f"{label:46}  {count:6d}  {steps:16,.0f}  {mean:11.2f}", flush=True)


if __name__ == "__main__":
    main()
