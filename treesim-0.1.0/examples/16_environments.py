"""A task of your own in 256 environments: arms start with random velocities, and come to rest at their targets."""

import sys

import numpy as np

import treesim
from treesim.numbers import less

try:
    from treesim_gymnasium import Task, TreesimVectorEnv
except ImportError:
    print("needs ./plugins/treesim-gymnasium")
    sys.exit()

ARMS, TARGET = 256, 0.3

robot = treesim.load("ur5")


def height(q):
    return treesim.frame_pose(robot, q, "ee_link")[2, 3]


def observe(t, q, v, p):
    return [*q, *v, height(q)]


def reward(t, q, v, p, a):
    return -(v @ v)


def still(t, q, v, p):
    """Whether the arm is at rest, after the start."""
    return less(v @ v, 1e-4) * less(0.1, t)


def thrown(x, q, v, p):
    v[:] = 2 * x - 1


task = Task(
    world=robot, observe=observe, reward=reward, terminated=still, reset=thrown, random=6, low=-TARGET, high=TARGET,
    kp=500.0, kd=100.0, dt=2e-3, steps=10,
)  # fmt: skip
envs = TreesimVectorEnv(task, ARMS, max_episode_steps=500, autoreset_mode="SameStep", dtype=np.float64)
envs.reset(seed=0)
targets = np.random.default_rng(0).uniform(-1, 1, (ARMS, 6))
lengths = np.zeros(ARMS, int)
ends = [None] * ARMS
for step in range(1, 300):
    observations, rewards, terminated, truncated, infos = envs.step(targets)
    for arm in np.flatnonzero(terminated):
        if ends[arm] is None:
            ends[arm], lengths[arm] = infos["final_obs"][arm], step
assert lengths.all()
q, seen = np.array(ends)[:, :6], np.array(ends)[:, 12]
np.testing.assert_allclose(seen, treesim.frame_pose(robot, q, "ee_link")[:, 2, 3], atol=1e-12)
weight = treesim.inverse_dynamics(robot, q, np.zeros(6), np.zeros(6))
np.testing.assert_allclose(500.0 * (TARGET * targets - q), weight, atol=5.0)  # N m: what springs carry at rest
first, last = 0.02 * lengths.min(), 0.02 * lengths.max()
print(f"{ARMS} arms came to rest after {first:.2f} to {last:.2f} s, where springs carry them")
