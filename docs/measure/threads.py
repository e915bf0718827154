"""Measure batches on treesim's pool of threads, compared with one thread and with threads of Python.

python docs/measure/threads.py [ROUNDS]

Forward dynamics of g1. Python's pool computes a half of the states on each of two threads. Calls take turns, without
pauses between the turns, and with pauses in which the threads fall asleep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import treesim

PAUSE = 0.01  # s


def calls(robot: treesim.Tree, count: int, pool: ThreadPoolExecutor) -> dict[str, Callable[[], object]]:
    """Return a call for each way to compute a batch of random states."""
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(count)])
    v, tau = rng.normal(size=(2, count, robot.nv))
    one, two = treesim.Dynamics(robot, threads=1), treesim.Dynamics(robot, threads=2)
    halves = [treesim.Dynamics(robot, threads=1) for _ in range(2)]
    parts = slice(0, count // 2), slice(count // 2, None)

    def by_python() -> None:
        jobs = [
            pool.submit(d.forward_dynamics, q[part], v[part], tau[part]) for d, part in zip(halves, parts, strict=True)
        ]
        for job in jobs:
            job.result()

    return {
        "one thread": lambda: one.forward_dynamics(q, v, tau),
        "Python's threads": by_python,
        "treesim's threads": lambda: two.forward_dynamics(q, v, tau),
    }


def times(calls: Mapping[str, Callable[[], object]], rounds: int, pause: float) -> dict[str, list[float]]:
    """Return the durations [us] of calls in turns. Each follows on a pause [s], or on the same call if that is 0."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            if pause:
                time.sleep(pause)
            else:
                call()
            began = time.perf_counter()
            call()
            found[name].append(1e6 * (time.perf_counter() - began))
    return found


def main(rounds: int = 200) -> None:
    """Print the least and the median time of a call."""
    robot = treesim.load("g1")
    print("states  pause [ms]  computed by        min [us]  median [us]")
    with ThreadPoolExecutor(2) as pool:
        for pause in (0.0, PAUSE):
            for count in (256, 1024, 4096):
                ways = calls(robot, count, pool)
                for call in ways.values():
                    call()  # compiles
                found = times(ways, rounds, pause)
                for name, us in found.items():
                    print(f"{count:<6}  {1e3 * pause:10.0f}  {name:17}  {min(us):8.0f}  {np.median(us):11.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
