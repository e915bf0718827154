"""Timed gradients of rollouts in free motion, and the same rollouts without gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import OURS, BenchmarkCase, States
from treesim.model.tree import Tree

from .batches import motion_of
from .robots import BenchRobot

GRADIENTS = "gradients of rollouts"
ROLLOUTS, STEPS, IN_CONTACT = 64, 200, 20
INTEGRATORS = ("semi_implicit_euler", "implicit_midpoint")


def gradient_cases(robot: BenchRobot, states: States) -> list[BenchmarkCase]:
    """Return the cases of each integrator: rollouts, and rollouts with gradients in their starts and controls.

    They are in free motion and, of floating robots with shapes, on a ground.
    """
    tree = robot.tree
    world = treesim.World(tree, use_limits=False, use_joint_friction=False)
    motion = motion_of(tree, States(*(x[:ROLLOUTS] for x in states)), STEPS)
    found = _cases("", world, motion[:3], {"dt": motion.dt})
    if robot.base == "floating" and robot.robot.shapes:
        found += _cases(", on a ground", *_standing(robot.robot))
    return found


def _standing(tree: Tree) -> tuple[treesim.World, tuple[Any, ...], dict[str, Any]]:
    """Return robots that servos hold near a standing posture on a ground."""
    world, random = treesim.World(tree, ground=treesim.Ground(friction=0.8)), np.random.default_rng(0)
    posture = tree.standing(tree.neutral())
    near = tree.integrate(np.tile(posture, (ROLLOUTS, 1)), 0.01 * random.normal(size=(ROLLOUTS, tree.nv)))
    q = np.stack([tree.standing(x) for x in near])
    held, target = np.zeros(tree.nv), np.zeros(tree.nv)
    for name, where in tree.v_index.items():
        if where.stop - where.start == 1:
            held[where], target[where] = 1.0, posture[tree.q_index[name]]
    controls = np.tile(target, (ROLLOUTS, IN_CONTACT, 1))
    return world, (q, np.zeros((ROLLOUTS, tree.nv)), controls), {"dt": 2e-3, "kp": 200 * held, "kd": 5 * held}


def _cases(where: str, world: treesim.World, start: Any, given: dict[str, Any]) -> list[BenchmarkCase]:
    q, v, controls = start
    count, steps, nv = controls.shape
    weights, found = np.ones((2, count, steps, nv)), []
    for integrator in INTEGRATORS:
        calls = {
            "rollout": partial(treesim.rollout, world, q, v, controls, integrator=integrator, **given),
            "rollout_vjp": partial(_gradients, world, q, v, controls, weights, integrator=integrator, **given),
        }
        for name, call in calls.items():
            does = f"{count} rollouts of {steps} steps; time of a step"
            label = f"{name}, {integrator}{where}"
            found.append(BenchmarkCase(OURS, label, GRADIENTS, call, lambda: None, does, count * steps))
    return found


def _gradients(world: treesim.World, q: Any, v: Any, controls: Any, weights: np.ndarray, **given: Any) -> Any:
    """Return the gradients of a weighted sum of all states."""
    return treesim.rollout_vjp(world, q, v, controls, **given)[1](*weights)
