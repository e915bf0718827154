"""Configurations in which a robot is looked at: the neutral one, and some that sample its limits."""

from __future__ import annotations

import numpy as np

from ..model.tree import Tree

SAMPLES = 32


def poses_of(robot: Tree) -> np.ndarray:
    """Return configurations (1 + SAMPLES, nq): the neutral one, and random ones within the limits, always the same."""
    rng = np.random.default_rng(0)
    return np.array([robot.neutral(), *(robot.random(rng) for _ in range(SAMPLES))])


def pose_name(k: int) -> str:
    """Return what messages call the pose of number k."""
    return "in the neutral pose" if k == 0 else "in a pose sampled within the limits"
