"""Candidates that concern the whole robot: gravity, and the meaning of the coordinates of a state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import treesim

from ..model.tree import Body, Tree
from ..urdf.document import numbers
from .candidates import Candidate, Side
from .evidence import Evidence, Mismatch
from .layouts import Reordered, put_back, reordered

UNIT = 1e-9  # an axis is of length 1 within this


class InWorldAxes(Reordered):
    """Layout with the base's velocity, acceleration and force in world axes: the linear part, or both parts."""

    def __init__(self, robot: Tree, angular: bool) -> None:
        super().__init__(np.arange(robot.nq), np.arange(robot.nv))
        self.robot, self.angular = robot, angular

    def _turned(self, q: np.ndarray, x: np.ndarray, product: str) -> np.ndarray:
        R = treesim.body_poses(self.robot, q)[..., 1, :3, :3]
        angular = np.einsum(product, R, x[..., 3:6]) if self.angular else x[..., 3:6]
        return np.concatenate([np.einsum(product, R, x[..., :3]), angular, x[..., 6:]], axis=-1)

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rotate the base's part of v (..., nv) from world to body axes."""
        return self._turned(q, v, "...ji,...j->...i")

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Rotate the base's part of a velocity or force from body to world axes."""
        return self._turned(q, theirs, "...ij,...j->...i")

    def acceleration_to_engine(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a, the rate of v in axes that do not rotate, as the rate in body axes."""
        velocity, found = self.velocity_to_engine(q, v), self.velocity_to_engine(q, a)
        found[..., :3] -= np.cross(velocity[..., 3:6], velocity[..., :3])
        return found


class OtherOrder(Reordered):
    """Layout of an engine that orders joints differently; treesim's numbers are assigned to its joints unconverted."""

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return the configuration (..., nq) that results if q is read in the engine's order."""
        return put_back(q, self.q_order)

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the velocity (..., nv) that results if v is read in the engine's order."""
        return put_back(v, self.v_order)

    def velocity_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return velocities or forces (..., nv) in the engine's order."""
        return theirs[..., self.v_order]


class LongAxis(Reordered):
    """Layout of a joint whose motion is scaled by the length of its axis."""

    def __init__(self, robot: Tree, joint: str, length: float) -> None:
        super().__init__(np.arange(robot.nq), np.arange(robot.nv))
        self.q_scale, self.v_scale = np.ones(robot.nq), np.ones(robot.nv)
        self.q_scale[robot.q_index[joint]] = self.v_scale[robot.v_index[joint]] = length

    def configuration_to_engine(self, q: np.ndarray) -> np.ndarray:
        """Return q (..., nq) with the joint's coordinate multiplied by the length of its axis."""
        return q * self.q_scale

    def velocity_to_engine(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return v (..., nv) with the joint's velocity multiplied by the length of its axis."""
        return v * self.v_scale

    def force_from_engine(self, q: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return forces (..., nv) that yield the same power."""
        return theirs * self.v_scale


def robot_candidates(side: Side, evidence: Evidence, before: Mismatch) -> Iterator[Candidate]:
    """Yield the candidates that concern the whole robot."""
    yield from _gravities(side, evidence, before)
    yield from _velocities(side)
    yield from _orders(side)
    yield from _axes(side)


def _gravities(side: Side, evidence: Evidence, before: Mismatch) -> Iterator[Candidate]:
    usual = side.robot.gravity
    size = float(np.linalg.norm(usual))
    for kind, cause, gravity in (
        ("gravity_zero", "there is no gravity", np.zeros(3)),
        ("gravity_flipped", "gravity has the opposite sign", -usual),
        ("gravity_y", "gravity points along -y", np.array([0.0, -size, 0.0])),
        ("gravity_x", "gravity points along -x", np.array([-size, 0.0, 0.0])),
    ):
        yield _with_gravity(kind, cause, gravity)
    if not before.bodies and not side.layouts:
        fitted = np.round(usual + fitted_gravity(side, evidence, before), 12)
        yield _with_gravity("gravity", f"gravity is {np.array2string(fitted, precision=9)} m/s^2", fitted)


def fitted_gravity(side: Side, evidence: Evidence, before: Mismatch) -> np.ndarray:
    """Return the change (3,) [m/s^2] of gravity that fits the difference of the forces best."""
    q = evidence.states.q[: len(evidence.a)]
    rest = np.zeros((len(q), side.robot.nv))
    columns = [treesim.inverse_dynamics(side.robot, q, rest, rest, gravity=unit).ravel() for unit in np.eye(3)]
    change, *_ = np.linalg.lstsq(np.array(columns).T, -before.forces.ravel(), rcond=None)
    return np.asarray(change)


def _with_gravity(kind: str, cause: str, gravity: np.ndarray) -> Candidate:
    def change(robot: Tree) -> Tree:
        return Tree(robot.name, robot.bodies, gravity=gravity)

    return Candidate(kind, "the robot", cause, lambda side: side.with_tree(change))


def _velocities(side: Side) -> Iterator[Candidate]:
    robot = side.robot
    if not robot.n_bodies or robot.bodies[0].joint.type != "floating":
        return
    for angular, words in ((False, "linear velocity is"), (True, "velocity, linear and angular, is")):
        cause = f"the base's {words} in the world's axes, not in the body's"
        layout = InWorldAxes(robot, angular)
        kind = "base_velocity_in_world_axes" if angular else "base_linear_velocity_in_world_axes"
        yield Candidate(kind, f"joint {robot.joint_names[0]!r}", cause, partial(Side.with_layout, layout=layout))


def _orders(side: Side) -> Iterator[Candidate]:
    robot = side.robot
    first = 1 if robot.base == "floating" else 0
    names = list(robot.joint_names[first:])
    if any(robot.joint(name).nq != 1 for name in names):
        return
    in_file = [name for name in side.description.joint if name in names]
    depth = {body.joint.name: _depth(robot, body) for body in robot.bodies}
    for kind, words, order in (
        ("joint_order_alphabetical", "alphabetical", sorted(names)),
        ("joint_order_of_file", "that of the file", in_file),
        ("joint_order_breadth_first", "breadth-first", sorted(names, key=lambda name: depth[name])),
        ("joint_order_reversed", "reversed", names[::-1]),
    ):
        if order == names or sorted(order) != sorted(names):
            continue
        theirs = reordered(robot, [*robot.joint_names[:first], *order])
        layout = OtherOrder(theirs.q_order, theirs.v_order)
        cause = f"the joints' order is {words}, and the numbers were not reordered"
        yield Candidate(kind, "the robot", cause, partial(Side.with_layout, layout=layout))


def _depth(robot: Tree, body: Body) -> int:
    depth = 0
    while body.parent:
        body, depth = robot.bodies[body.parent - 1], depth + 1
    return depth


def _axes(side: Side) -> Iterator[Candidate]:
    for name in side.robot.joint_names:
        joint = side.description.joint.get(name)
        length = float(np.linalg.norm(numbers(joint, "axis", "xyz", (1.0, 0.0, 0.0))))
        if joint is None or side.robot.joint(name).nq != 1 or abs(length - 1) <= UNIT:
            continue
        layout = LongAxis(side.robot, name, length)
        cause = f"the axis is not normalised: the joint moves {length:.6g} times as far"
        place = side.description.place("joint", name, "axis")
        change = partial(Side.with_layout, layout=layout)
        yield Candidate("axis_not_normalised", f"joint {name!r}", cause, change, place, ("joint", name, "axis"))
