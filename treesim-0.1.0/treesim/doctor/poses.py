"""Configurations in which a robot is checked: the neutral one, and samples within the limits."""

from __future__ import annotations

import numpy as np

from ..model.tree import Tree

SAMPLES = 32


def poses_of(robot: Tree) -> np.ndarray:
    """Return configurations (1 + SAMPLES, nq): the neutral one, and reproducible random ones within the limits."""
    rng = np.random.default_rng(0)
    return np.array([robot.neutral(), *(robot.random(rng) for _ in range(SAMPLES))])


def pose_name(k: int) -> str:
    """Return the description of pose number k for messages."""
    return "in the neutral pose" if k == 0 else "in a pose sampled within the limits"
