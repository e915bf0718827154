"""Measure environments of the task `walk` on a height field, without and with further observations.

python docs/measure/observations.py [ENVIRONMENTS]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from treesim_gymnasium import TreesimVectorEnv, walk

import treesim

CASES: dict[str, dict[str, bool]] = {
    "joints and base": {},
    "and an inertial unit": {"imu": True},
    "and 36 heights around the feet": {"heights": True},
    "and both": {"imu": True, "heights": True},
}
STEPS, ROUNDS = 20, 7


def main(count: int = 256) -> None:
    """Print the steps per second of processor time for each case."""
    terrain = treesim.HeightField(0.02 * np.random.default_rng(0).random((200, 200)))
    print(f"steps of {count} environments per second of processor time: largest and median of {ROUNDS}")
    print(f"{'observed':30}  {'largest':>8}  {'median':>8}")
    for observed, options in CASES.items():
        envs = TreesimVectorEnv(walk(ground=terrain, **options), count)
        envs.reset(seed=0)
        rates = []
        for _ in range(ROUNDS):
            began = time.process_time()
            for _ in range(STEPS):
                envs.step(np.zeros((count, 12)))
            rates.append(count * STEPS / (time.process_time() - began))
        print(f"{observed:30}  {max(rates):8,.0f}  {np.median(rates):8,.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
