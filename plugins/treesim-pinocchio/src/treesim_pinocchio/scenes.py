"""Scenes of a comparison in Pinocchio: its forward dynamics and its exponential map, stepped by the midpoint rule."""

from __future__ import annotations

import numpy as np

from treesim.compare import Scene, SceneRun
from treesim.errors import UnsupportedError

from .conversion import converted
from .limits import LimitSolver
from .model import PinocchioModel
from .reading import from_tree

INTEGRATOR = "midpoint"
SOLVES = "aba and integrate, explicit midpoint rule by the adapter; damping is part of the force"
LIMITED_INTEGRATOR = "semi_implicit_euler"
LIMITED_SOLVES = "aba and integrate, semi-implicit Euler by the adapter; rigid limits by PGSConstraintSolver"
MIMIC_SOLVES = "M^-1 of columns of rnea, explicit midpoint rule by the adapter; mimic joints have no coordinates"


def simulate(scene: Scene) -> SceneRun:
    """Return the motion of a scene by the explicit midpoint rule; raises UnsupportedError for ground."""
    if scene.friction is not None:
        raise UnsupportedError("Pinocchio has no contact detection of its own")
    if scene.limits:
        return _limited(scene)
    model = from_tree(scene.robot)
    states = [(scene.q0, scene.v0)]
    for k in range(scene.steps):
        states.append(_step(model, scene, k * scene.dt, *states[-1]))
    q, v = (np.array(x) for x in zip(*states, strict=True))
    return SceneRun(q, v, INTEGRATOR, MIMIC_SOLVES if model.mimic_joints else SOLVES)


def _limited(scene: Scene) -> SceneRun:
    """Return the motion of a scene with limits by semi-implicit Euler."""
    model = converted(scene.robot)
    solver, total = LimitSolver(scene.robot, model), np.zeros(scene.robot.nv)
    states = [(scene.q0, scene.v0)]
    for k in range(scene.steps):
        q, v = states[-1]
        tau = scene.law.torque(scene.robot, k * scene.dt, q, v) - scene.robot.damping * v
        v, impulse = solver.solve(q, v + scene.dt * model.forward_dynamics(q, v, tau), scene.dt)
        states.append((model.moved(q, scene.dt * v), v))
        total += impulse
    q, v = (np.array(x) for x in zip(*states, strict=True))
    return SceneRun(q, v, LIMITED_INTEGRATOR, LIMITED_SOLVES, limit_impulse=total)


def _step(model: PinocchioModel, scene: Scene, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the state at t + dt; the law's torque is that of t, the damping that of each stage."""
    tau, damping, half = scene.law.torque(scene.robot, t, q, v), scene.robot.damping, scene.dt / 2
    middle = model.moved(q, half * v)
    v_middle = v + half * model.forward_dynamics(q, v, tau - damping * v)
    a = model.forward_dynamics(middle, v_middle, tau - damping * v_middle)
    return model.moved(q, scene.dt * v_middle), v + scene.dt * a
