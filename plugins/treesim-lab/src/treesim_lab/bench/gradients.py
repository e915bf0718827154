"""Timed gradients of rollouts in free motion, and the same rollouts without gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import OURS, BenchmarkCase, States
from treesim.model.tree import Tree

from .batches import motion_of

GRADIENTS = "gradients of rollouts"
ROLLOUTS, STEPS = 64, 200
INTEGRATORS = ("semi_implicit_euler", "implicit_midpoint")


def gradient_cases(tree: Tree, states: States) -> list[BenchmarkCase]:
    """Return the cases of each integrator: rollouts, and rollouts with gradients in their starts and controls."""
    world = treesim.World(tree, use_limits=False, use_joint_friction=False)
    motion = motion_of(tree, States(*(x[:ROLLOUTS] for x in states)), STEPS)
    weights = np.ones((2, len(motion.q0), STEPS, tree.nv))
    found = []
    for integrator in INTEGRATORS:
        given: dict[str, Any] = {"dt": motion.dt, "integrator": integrator}
        calls = {
            "rollout": partial(treesim.rollout, world, *motion[:3], **given),
            "rollout_vjp": partial(_gradients, world, *motion[:3], weights, **given),
        }
        for name, call in calls.items():
            does = f"{len(motion.q0)} rollouts of {STEPS} steps; time of a step"
            label = f"{name}, {integrator}"
            found.append(BenchmarkCase(OURS, label, GRADIENTS, call, lambda: None, does, len(motion.q0) * STEPS))
    return found


def _gradients(world: treesim.World, q: Any, v: Any, controls: Any, weights: np.ndarray, **given: Any) -> Any:
    """Return the gradients of a weighted sum of all states."""
    return treesim.rollout_vjp(world, q, v, controls, **given)[1](*weights)
