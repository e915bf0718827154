"""Measure how long rollouts with the energy balance take, compared with rollouts without it.

python docs/measure/work.py [ROBOTS]

Times are for a step of 1 ms on one thread, of robots without limits and friction.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import numpy as np
from treesim_lab.bench.stability import passive
from treesim_lab.bench.timing import interleaved

import treesim

ROBOTS = {"g1_29dof_rev_1_0": "floating", "ur5": "fixed", "double_pendulum": "fixed"}
STEPS, ROUNDS = 200, 15


def rollouts(robot: treesim.Tree, count: int, integrator: str, every: int, work: bool) -> Callable[[], object]:
    """Return a call that computes `count` rollouts, and stores a state after each `every` steps."""
    q, v = np.tile(robot.neutral(), (count, 1)), np.zeros(robot.nv)
    torques, world = np.ones((STEPS, robot.nv)), passive(robot)
    return lambda: treesim.rollout(world, q, v, torques, every=every, integrator=integrator, threads=1, work=work)


def main(count: int = 1024) -> None:
    """Print the least times of a step without and with the balance."""
    print(f"{count} rollouts of {STEPS} steps: time of a step without and with work=True, least of {ROUNDS}")
    print(f"{'robot':16}  {'base':8}  {'integrator':19}  {'stored':11}  without [ns]  with [ns]  difference")
    warnings.simplefilter("ignore", treesim.TreesimWarning)  # of energy errors, which are not the subject here
    for name, base in ROBOTS.items():
        robot = treesim.load(name, base=base)
        for integrator in ("implicit_midpoint", "semi_implicit_euler"):
            for every, states in ((STEPS, "last state"), (1, "every state")):
                found = interleaved(
                    {str(work): rollouts(robot, count, integrator, every, work) for work in (False, True)}, ROUNDS
                )
                without, balanced = (1e3 * found[work].min_us / (count * STEPS) for work in ("False", "True"))
                print(
                    f"{name:16}  {base:8}  {integrator:19}  {states:11}"
                    f"  {without:12.1f}  {balanced:9.1f}  {balanced / without - 1:+10.0%}"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
