"""Values of the terms of observations, for one state or many (leading axes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine.graph.calls import is_traced
from ..model.tree import Tree
from ..numbers import maximum, minimum
from .actuators import addresses
from .contract import Contract, Term


class Known(NamedTuple):
    """Numbers that observations are computed from: time, state, command, action of the step before, and noise."""

    t: Any
    q: Any
    v: Any
    command: Any
    last_action: Any
    noise: Any = None


OF_BASE = (
    "base_linear_velocity", "base_angular_velocity", "projected_gravity", "base_height", "base_quaternion",
)  # fmt: skip
Value = Callable[[Known, Any], Any]  # of what is known, and the noise that is added to the number
Compute = Callable[[Known], Any]


def value_of(term: Term, contract: Contract, robot: Tree, commands: tuple[str, ...]) -> Value:
    """Return the function that computes a term, after noise, clip, scale and offset."""
    compute = _of_base(term, contract, robot) if term.name in OF_BASE else _computed(term, contract, robot, commands)
    scale, offset, clip = np.array(term.scale), np.array(term.offset), term.clip

    def value(known: Known, noise: Any) -> Any:
        x = compute(known)
        return scale * limited(x if noise is None else x + noise, clip) + offset

    return value


def _computed(term: Term, contract: Contract, robot: Tree, commands: tuple[str, ...]) -> Compute:
    """Return the function of a term that is not of the base."""
    settings, joints = term.settings, term.joints
    if term.name == "command":
        places: Any = [commands.index(name) for name in settings]
        return lambda known: known.command[..., places]
    if term.name == "joint_position":
        places = addresses(robot, joints, "q")
        default = np.array([contract.default[contract.joints.index(name)] for name in joints]) * settings[0]
        return lambda known: known.q[..., places] - default
    if term.name == "joint_velocity":
        places = addresses(robot, joints, "v")
        return lambda known: known.v[..., places]
    if term.name == "clock":
        rate = 2 * np.pi / settings[0]
        return lambda known: np.stack([np.sin(rate * known.t), np.cos(rate * known.t)], axis=-1)
    return {"last_action": lambda known: known.last_action, "constant": lambda known: np.array(settings)}[term.name]


def _of_base(term: Term, contract: Contract, robot: Tree) -> Compute:
    """Return the function of a term of the floating base."""
    root = next((body.joint.name for body in robot.bodies if body.joint.type == "floating"), None)
    if root is None:
        text = f"{term.name} needs a floating base: load {robot.name!r} with base='floating'"
        raise contract.source.fault(term.path, text)
    q0, v0 = robot.q_index[root].start, robot.v_index[root].start
    pose = slice(q0 + 3, q0 + 7)
    gravity = np.array(robot.gravity)
    down = gravity / np.linalg.norm(gravity) if gravity.any() else np.array([0.0, 0.0, -1.0])
    if term.name == "base_height":
        return lambda known: known.q[..., q0 + 2 : q0 + 3]
    if term.name == "base_quaternion":
        order = pose if term.settings[0] == "xyzw" else [q0 + 6, q0 + 3, q0 + 4, q0 + 5]
        return lambda known: known.q[..., order]
    if term.name == "projected_gravity":
        return lambda known: rotated(known.q[..., pose], np.broadcast_to(down, (*known.q.shape[:-1], 3)), -1.0)
    part = slice(v0, v0 + 3) if term.name == "base_linear_velocity" else slice(v0 + 3, v0 + 6)
    if term.settings[0] == "base":
        return lambda known: known.v[..., part]
    return lambda known: rotated(known.q[..., pose], known.v[..., part], 1.0)


def limited(x: Any, limits: tuple[float, float] | None) -> Any:
    """Return numbers clipped to the limits, if there are any; of symbolic numbers a vector."""
    if limits is None:
        return x
    if is_traced(x):
        return np.array([minimum(maximum(each, limits[0]), limits[1]) for each in x], object)
    return np.clip(x, *limits)


def rotated(quaternion: Any, x: Any, sign: float) -> Any:
    """Return vectors x rotated by quaternions (xyzw), or by their inverses if the sign is -1."""
    u, w = sign * quaternion[..., :3], quaternion[..., 3:]
    twice = 2.0 * _cross(u, x)
    return x + w * twice + _cross(u, twice)


def _cross(a: Any, b: Any) -> Any:
    (ax, ay, az), (bx, by, bz) = ([x[..., k] for k in range(3)] for x in (a, b))
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
