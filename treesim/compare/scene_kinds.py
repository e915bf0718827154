"""The kinds of scenes, made for a robot: driven motions, a limit hit, mimic joints, and feet on a plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import treesim

from ..errors import TreesimError, UnsupportedError
from ..model.joints import Joint
from ..model.parts import changed_joints
from ..model.tree import Tree
from .scenes import Law, Scene
from .source import NO_LOSSES, RobotSource

DT = 1e-3  # s
DRIVEN, LIMITED = 500, 1000  # steps
STAND_DT, STANDING, SLIDING_STEPS = 5e-4, 3000, 2000  # s, and steps
FREQUENCY = 2.0  # Hz, of sinusoidal torques
STIFFNESS, DAMPING_RATIO = 20.0, 0.7  # rad/s and ratio of each joint's PD, as if it moved alone
ASIDE = 0.3  # rad, m: distance of the PD's target from the start
RESISTANCE = 2.0  # 1/s: damping of a joint, times its inertia
ROTOR = 0.5  # rotor inertia of a joint, times its inertia
APPROACH, SPEED, PUSH = 0.1, 0.5, 20.0  # rad or m, 1/s and 1/s^2: start, speed and push towards a limit
STAND_STIFFNESS = 8.0  # stiffness of standing joints, times weight and height
STAND_DAMPING = 0.1  # s, kd / kp of standing joints
STABLE = 0.25  # kd dt / added inertia: explicit PD on chains of such bodies is stable below 0.5
FRICTION, SLIPPERY = 0.8, 0.05  # of the plane: of standing, and under a lateral push
HELD, SLIDING = 0.5, 2.0  # lateral push, as parts of the friction

NO_SPEED_LIMITS: dict[str, Any] = {"velocity_limit": np.inf, "effort_limit": np.inf}
NO_LIMITS: dict[str, Any] = {"lower": -np.inf, "upper": np.inf} | NO_SPEED_LIMITS


def with_joints(
    robot: Tree, change: Callable[[Joint], dict[str, Any]], gravity: np.ndarray | None = None, shapes: bool = False
) -> Tree:
    """Return the robot with changed joints, without frames; gravity: its own by default."""
    g = robot.gravity if gravity is None else gravity
    bodies = changed_joints(robot.bodies, change)
    return Tree(robot.name, bodies, gravity=g.tolist(), shapes=robot.shapes if shapes else ())


def bare(robot: Tree, gravity: np.ndarray | None = None) -> Tree:
    """Return the robot without limits, damping, friction, armature, frames and shapes."""
    return with_joints(robot, lambda joint: NO_LIMITS | NO_LOSSES, gravity)


def simple(robot: Tree) -> np.ndarray:
    """Return whether each degree of freedom (nv,) belongs to a joint with no other."""
    found = np.zeros(robot.nv, dtype=bool)
    for name, where in robot.v_index.items():
        found[where] = robot.joint(name).nv == 1
    return found


def inertias(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return the effective inertias (nv,) of single degrees of freedom, 1 / (M^-1)_kk, all others free."""
    return 1 / np.diag(np.linalg.inv(treesim.mass_matrix(robot, q)))


def no_law(robot: Tree, q: np.ndarray) -> Law:
    """Return the law without forces."""
    zero = np.zeros(robot.nv)
    return Law(zero, zero, FREQUENCY, zero, zero, q)


def pd(robot: Tree, q: np.ndarray, posture: np.ndarray) -> Law:
    """Return a PD law of all joints with one degree of freedom, each tuned to its inertia at q."""
    own = simple(robot) * inertias(robot, q)
    kp, kd = STIFFNESS**2 * own, 2 * DAMPING_RATIO * STIFFNESS * own
    return no_law(robot, posture)._replace(kp=kp, kd=kd)


def torques(source: RobotSource, seed: int) -> Scene:
    """Return sinusoidal torques of all joints, which cause accelerations of order one."""
    robot = bare(source.robot)
    return _driven("torques", robot, seed)


def driven_by_pd(source: RobotSource, seed: int) -> Scene:
    """Return a PD law towards another posture."""
    robot = bare(source.robot)
    scene = _driven("pd", robot, seed)
    sign = np.where(np.random.default_rng(seed).random(robot.nv) < 0.5, -1, 1)
    posture = robot.integrate(scene.q0, ASIDE * sign * simple(robot))
    law = pd(robot, scene.q0, posture)
    if not law.kp.any():
        raise UnsupportedError("no joint has a single degree of freedom")
    return scene._replace(law=law)


def damping(source: RobotSource, seed: int) -> Scene:
    """Return sinusoidal torques against damping, each joint's in proportion to its inertia."""
    return _lossy("damping", source, seed, RESISTANCE)


def armature(source: RobotSource, seed: int) -> Scene:
    """Return sinusoidal torques of joints with rotors, each in proportion to the joint's inertia."""
    return _lossy("armature", source, seed, ROTOR)


def limit(source: RobotSource, seed: int) -> Scene:
    """Return a joint driven into its upper limit without gravity, all other joints under PD."""
    whole = with_joints(source.robot, lambda joint: NO_LOSSES | NO_SPEED_LIMITS, gravity=np.zeros(3))
    q0, chosen = _approach(whole)
    robot = with_joints(whole, lambda joint: {} if joint.name == chosen else NO_LIMITS)
    k, own = robot.v_index[chosen], inertias(robot, q0)
    law, v0, push = pd(robot, q0, q0), np.zeros(robot.nv), np.zeros(robot.nv)
    law.kp[k] = law.kd[k] = 0.0
    v0[k], push[k] = SPEED * _reach(robot, chosen), PUSH * _reach(robot, chosen) * own[k]
    return Scene("limit", robot, law._replace(constant=push), q0, v0, LIMITED, DT, limits=True)


def mimic(source: RobotSource, seed: int) -> Scene:
    """Return a PD law of the independent joints of a robot with mimic joints."""
    if source.mimic_robot is None:
        raise UnsupportedError("the robot has no mimic joints")
    robot = bare(source.mimic_robot)
    q0 = robot.clamp(robot.neutral())
    posture = robot.integrate(q0, ASIDE * simple(robot))
    law = pd(robot, q0, posture)
    return Scene("mimic", robot, law, q0, np.zeros(robot.nv), DRIVEN, DT)


def standing(source: RobotSource, seed: int) -> Scene:
    """Return the robot at rest on a plane in its neutral posture, under PD."""
    return _on_plane("standing", source, FRICTION, 0.0)


def held(source: RobotSource, seed: int) -> Scene:
    """Return the robot on a slippery plane under a lateral push of half the friction."""
    return _on_plane("push_held", source, SLIPPERY, HELD * SLIPPERY)


def sliding(source: RobotSource, seed: int) -> Scene:
    """Return the robot on a slippery plane under a lateral push of twice the friction."""
    scene = _on_plane("push_sliding", source, SLIPPERY, SLIDING * SLIPPERY)
    return scene._replace(steps=SLIDING_STEPS)


SCENES: dict[str, Callable[[RobotSource, int], Scene]] = {
    "torques": torques,
    "pd": driven_by_pd,
    "damping": damping,
    "armature": armature,
    "limit": limit,
    "mimic": mimic,
    "standing": standing,
    "push_held": held,
    "push_sliding": sliding,
}


def _driven(name: str, robot: Tree, seed: int) -> Scene:
    rng = np.random.default_rng(seed)
    q0, v0 = robot.random(rng), np.zeros(robot.nv)
    wanted = rng.standard_normal(robot.nv)
    motors = np.ones(robot.nv)
    if robot.base == "floating":
        motors[:6] = 0.0
    amplitude = motors * (treesim.mass_matrix(robot, q0) @ wanted)
    return Scene(name, robot, no_law(robot, q0)._replace(amplitude=amplitude), q0, v0, DRIVEN, DT)


def _lossy(name: str, source: RobotSource, seed: int, share: float) -> Scene:
    scene = _driven(name, bare(source.robot), seed)
    robot, own = scene.robot, share * inertias(scene.robot, scene.q0)

    def loss(joint: Joint) -> dict[str, Any]:
        return {} if joint.type == "floating" else {name: float(own[robot.v_index[joint.name]].min())}

    lossy = with_joints(robot, loss)
    if not getattr(lossy, name).any():
        raise UnsupportedError("nothing but the base moves")
    return scene._replace(robot=lossy)


def _approach(robot: Tree) -> tuple[np.ndarray, str]:
    """Return a configuration shortly before the upper limit of the joint with the largest inertia, and its name."""
    q0 = robot.clamp(robot.neutral())
    limited = [
        body.joint.name
        for body in robot.bodies
        if body.joint.nv == 1 and np.isfinite(robot.upper[robot.q_index[body.joint.name]]).all()
    ]
    if not limited:
        raise UnsupportedError("no joint has an upper limit")
    own = inertias(robot, q0)
    chosen = max(limited, key=lambda name: own[robot.v_index[name]].sum())
    where = robot.q_index[chosen]
    q0[where] = robot.upper[where] - APPROACH * _reach(robot, chosen)
    return q0, chosen


def _reach(robot: Tree, joint: str) -> float:
    """Return the unit of a joint's motion: 1 rad, or 0.1 m."""
    return 0.1 if robot.joint(joint).type == "prismatic" else 1.0


def _on_plane(name: str, source: RobotSource, friction: float, slope: float) -> Scene:
    """Return a robot that stands under PD, with gravity tilted about x by arctan(slope): a push along y.

    Explicit PD needs inertia in light feet, so every body's is increased, for all engines alike.
    """
    if source.robot.base != "floating":
        raise UnsupportedError("the base is fixed")
    if not source.robot.shapes:
        raise UnsupportedError("the robot has no collision shapes")
    gravity = np.linalg.norm(source.robot.gravity) or 9.81
    angle = np.arctan(slope)
    down = gravity * np.array([0.0, np.sin(angle), -np.cos(angle)])
    robot = with_joints(source.robot, lambda joint: NO_LIMITS | NO_LOSSES, down, shapes=True)
    try:
        q0 = treesim.standing(robot, robot.neutral())
    except TreesimError as error:
        raise UnsupportedError(str(error)) from error
    turns = np.zeros(robot.nv)
    for joint, where in robot.v_index.items():
        turns[where] = robot.joint(joint).type in ("revolute", "continuous")
    kp = STAND_STIFFNESS * robot.mass * gravity * float(abs(treesim.center_of_mass(robot, q0)[2])) * turns
    robot = _heavier(robot, STAND_DAMPING * float(kp.max()) * STAND_DT / STABLE)
    law = pd(robot, q0, q0)  # of sliding joints
    law = law._replace(kp=np.where(turns, kp, law.kp), kd=np.where(turns, STAND_DAMPING * kp, law.kd))
    return Scene(name, robot, law, q0, np.zeros(robot.nv), STANDING, STAND_DT, friction=friction)


def _heavier(robot: Tree, moment: float) -> Tree:
    """Return the robot with a moment of inertia [kg m^2] about all axes added to every body."""
    bodies = [
        replace(body, inertia=replace(body.inertia, rotational=body.inertia.rotational + moment * np.eye(3)))
        for body in robot.bodies
    ]
    return Tree(robot.name, bodies, gravity=robot.gravity.tolist(), shapes=robot.shapes)
