"""Measure time and memory of rollouts with and without measures.

python docs/measure/measures.py [ROLLOUTS]

g1 moves for 100 steps in each rollout. Each case runs in a process of its own, which reports how far its memory rose
above the level before the run.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

import treesim
from treesim import measures

STEPS, RUNS = 100, 2
CASES: dict[str, dict[str, Any]] = {
    'keep="last"': {"keep": "last"},
    'keep="last", three measures': {
        "keep": "last",
        "measure": {
            "low": measures.minimum(lambda t, q, v: q[2]),
            "fell": measures.any_(lambda t, q, v: q[2] < 0.78),
            "fast": measures.maximum(lambda t, q, v: v @ v),
        },
    },
}
CASES['keep="none", three measures'] = {**CASES['keep="last", three measures'], "keep": "none"}


def run(case: str, count: int) -> None:
    """Print the seconds of one case's rollouts and the rise of memory [MB]."""
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    rng = np.random.default_rng(0)
    q0 = np.tile(robot.neutral(), (count, 1))
    q0[:, 2] = 0.8
    q0[:, 7:] += 0.02 * rng.normal(size=(count, robot.nq - 7))
    q0 = robot.clamp(q0)
    v0 = 0.1 * rng.normal(size=(count, robot.nv))
    treesim.rollout(robot, q0[:64], v0[:64], steps=STEPS, **CASES[case])  # compiles
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    treesim.rollout(robot, q0, v0, steps=STEPS, **CASES[case])
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]))


def main(count: int = 100_000) -> None:
    """Print the better of two runs of each case."""
    print(f"{count:,} rollouts of {STEPS} steps: time, and rise of the memory's peak")
    print(f"{'stored':28}  time [s]  memory [MB]")
    for case in CASES:
        command = [sys.executable, __file__, str(count), case]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
        seconds, megabytes = min(runs)
        print(f"{case:28}  {seconds:8.2f}  {megabytes:11.0f}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(sys.argv[2], int(sys.argv[1]))
    else:
        main(*map(int, sys.argv[1:2]))
