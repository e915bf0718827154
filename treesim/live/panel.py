"""What a page is told: once what there is to be set, and twenty times a second how it stands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import plugins
from ..control import CONTROLLERS
from ..dynamics.functions import energy
from ..errors import TreesimError
from ..integrators.base import CompiledRule
from ..model.joints import Joint
from ..model.tree import Tree
from ..operational.frames import body_poses
from ..step_code import touches
from ..world import World

UNITS = {"revolute": "rad", "continuous": "rad", "prismatic": "m"}  # of joints that a slider moves
CAN = ("pull", "seek", "com")


def movable(robot: Tree) -> dict[str, int]:
    """Return the joints of one coordinate that follow no others, each with its place in q."""
    joints = [body.joint for body in robot.bodies if body.joint.type in UNITS and body.joint.mimic is None]
    return {joint.name: robot.q_index[joint.name].start for joint in joints}


def panel_of(world: World, scenes: dict[str, Any]) -> dict[str, Any]:
    """Return what can be set in a world: names of methods that serve it, joints, bodies in the order of poses, and what
    else a page can do. scenes: `robots` and `bases` to choose from, or nothing."""
    robot = world.robot
    return {
        **scenes,
        "robot": robot.name,
        "joints": joint_rows(robot),
        "bodies": ["base", *robot.body_names],
        "backends": plugins.available("dynamics"),
        "integrators": [name for name in plugins.available("integrators") if _serves(world, name)],
        "solvers": plugins.available("contact_solvers") if world.touching.active else [],
        "controllers": list(CONTROLLERS),
        "can": [*CAN, *(["contact"] if world.ground or world.bodies else [])],
    }


def touched(robot: Tree, q: np.ndarray, forces: np.ndarray) -> dict[str, Any]:
    """Return the bodies that something touches: where they are, and the force (3,) on each of forces (n_bodies, 3)."""
    touching = np.flatnonzero(forces.any(axis=1) & np.isfinite(forces).all(axis=1))
    if not len(touching):
        return {}
    places = body_poses(robot, q)[1:, :3, 3]
    names = robot.body_names
    return {names[i]: {"at": places[i].tolist(), "force": forces[i].tolist()} for i in touching}


def joint_rows(robot: Tree) -> list[dict[str, Any]]:
    """Return what a page is told of joints that it shows: name, unit, limits (None where there are none) and kind."""
    return [_joint(robot.joint(name), robot.lower[i], robot.upper[i]) for name, i in movable(robot).items()]


def _joint(joint: Joint, lower: float, upper: float) -> dict[str, Any]:
    limits = {"lower": finite(lower), "upper": finite(upper)}
    return {"name": joint.name, "unit": UNITS[joint.type], **limits, "kind": joint.type}


def _serves(world: World, integrator: str) -> bool:
    """Whether steps by an integrator know what is in the world."""
    method: Any = plugins.get("integrators", integrator)
    rule = method.rule if isinstance(method, CompiledRule) else ""
    try:
        touches(world, rule)
    except TreesimError:
        return False
    return True


def finite(value: float) -> float | None:
    """Return a number, or None for one that JSON has not."""
    return float(value) if math.isfinite(value) else None


def total_energy(robot: Tree, q: np.ndarray, v: np.ndarray, gravity: np.ndarray) -> float | None:
    """Return the kinetic and potential energy [J], None where it cannot be told."""
    try:
        kinetic, potential = energy(robot, q, v, gravity)
    except TreesimError:
        return None
    return finite(float(kinetic + potential))
