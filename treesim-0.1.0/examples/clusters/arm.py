"""The sweep that the scripts beside this one share: a UR5 whose payload and friction are not known swings its arm."""

import numpy as np

import treesim
from treesim.rollouts.measures import maximum
from treesim.sweeps import Uniform, scale


def run(client, store, samples=10_000):
    robot = treesim.load("ur5")
    study = treesim.sweep(
        robot,
        np.array([0, -1.2, 1.0, 0, 0.5, 0]),
        steps=500,
        samples=samples,
        seed=7,
        vary={"mass[wrist_3_link]": scale(Uniform(1, 10)), "damping[*]": Uniform(0, 2)},
        measure={"fastest": maximum(lambda t, q, v: v[2])},
        store=store,
        client=client,
        progress=lambda done, total: print(f"{done:,} of {total:,}"),
    )
    print(study, f"fastest on average: {float(study.summary['fastest'].mean()):.3g} rad/s")
    return study
