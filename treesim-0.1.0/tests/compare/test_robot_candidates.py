"""Gravity, axes of the base's velocity, orders of joints, forces at joints: each is found where the other has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.compare.injected import OtherFile, description_of
from treesim.compare.causes import explain_values
from treesim.compare.description import read_description
from treesim.compare.treesim_engine import TreesimModel, random_batch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Misread(TreesimModel):
    """treesim, given other numbers and giving other forces than it should."""

    engine = "misread"

    def __init__(self, robot, before=lambda q, v, a: (q, v, a), after=lambda q, v, a, tau: tau):
        super().__init__(robot, None)
        self.before, self.after = before, after

    def body_poses(self, q):
        return super().body_poses(self.before(q, q, q)[0])

    def inverse_dynamics(self, q, v, a):
        return self.after(q, v, a, super().inverse_dynamics(*self.before(q, v, a)))


def only(description, model, without=("forward_dynamics",)):
    batch = random_batch(description.bodies_alone, 8, 0, 0, 1e-3)
    values = {key: x for key, x in model.evaluate(batch).values.items() if key not in without}
    causes = explain_values(description, batch, values)
    assert causes.complete, causes
    (found,) = causes.explanations
    return found


@pytest.mark.parametrize(
    ("gravity", "kind"),
    [([0, 0, 0], "gravity_zero"), ([0, 0, 9.81], "gravity_flipped"), ([0, -9.81, 0], "gravity_y"),
     ([0.3, 0, -9.7], "gravity")],
)  # fmt: skip
def test_gravity(gravity, kind):
    description = description_of("a1", "floating")
    other = treesim.Tree("a1", description.bodies_alone.bodies, gravity=gravity)
    found = only(description, OtherFile(description.robot, other))
    assert (found.kind, found.owner) == (kind, "the robot")


@pytest.mark.parametrize("angular", [False, True])
def test_a_base_velocity_in_the_world_s_axes(angular):
    description = description_of("a1", "floating")
    robot = description.bodies_alone

    def turned(q, x, product):
        R = treesim.body_poses(robot, q)[:, 1, :3, :3]
        parts = [np.einsum(product, R, x[:, :3]), np.einsum(product, R, x[:, 3:6]) if angular else x[:, 3:6], x[:, 6:]]
        return np.concatenate(parts, axis=1)

    def before(q, v, a):
        if q is v:
            return q, v, a
        body, rate = turned(q, v, "kji,kj->ki"), turned(q, a, "kji,kj->ki")
        rate[:, :3] -= np.cross(body[:, 3:6], body[:, :3])
        return q, body, rate

    model = Misread(robot, before, lambda q, v, a, tau: turned(q, tau, "kij,kj->ki"))
    kind = "base_velocity_in_world_axes" if angular else "base_linear_velocity_in_world_axes"
    found = only(description, model)
    assert (found.kind, found.owner) == (kind, "joint 'root_joint'")


def test_joints_in_another_order():
    description = description_of("ur5", "fixed")
    robot = description.bodies_alone
    order = np.argsort(robot.joint_names)
    place = np.argsort(order)  # of each of our joints among theirs

    model = Misread(robot, lambda *state: tuple(x[..., place] for x in state), lambda q, v, a, tau: tau[..., order])
    found = only(description, model)
    assert (found.kind, found.owner) == ("joint_order_alphabetical", "the robot")


def test_an_axis_that_is_not_normalised():
    text = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0 0.2 0"/><mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="2 0 0"/></joint>
      </robot>"""
    description = read_description(text, "fixed")
    robot = description.bodies_alone
    found = only(description, Misread(robot, lambda *state: tuple(2 * x for x in state), lambda q, v, a, tau: 2 * tau))
    assert (found.kind, found.owner, found.place) == ("axis_not_normalised", "joint 'hinge'", "<text>:3")


@pytest.mark.parametrize(
    ("kind", "force"),
    [("armature", lambda q, v, a: 0.3 * a), ("damping", lambda q, v, a: 0.3 * v),
     ("joint_friction", lambda q, v, a: 0.3 * np.sign(v)), ("spring", lambda q, v, a: 0.3 * q),
     ("load", lambda q, v, a: 0.3 + 0 * v)],
)  # fmt: skip
def test_a_force_at_one_joint_and_at_all(kind, force):
    description = description_of("ur5", "fixed")
    robot = description.bodies_alone
    one = np.arange(6) == 2
    found = only(description, Misread(robot, after=lambda q, v, a, tau: tau + one * force(q, v, a)))
    assert (found.kind, found.owner) == (kind, f"joint {robot.joint_names[2]!r}") and "0.3" in found.cause
    found = only(description, Misread(robot, after=lambda q, v, a, tau: tau + force(q, v, a)))
    assert (found.kind, found.owner) == (kind, "6 joints") and "0.3" in found.cause


def test_a_force_that_acts_in_forward_dynamics_alone():
    description = description_of("ur5", "fixed")
    robot = description.bodies_alone

    class Damped(TreesimModel):
        def forward_dynamics(self, q, v, tau):
            return super().forward_dynamics(q, v, tau - 0.04 * v)

    found = only(description, Damped(robot, None), without=())
    assert found.kind == "damping" and "0.04 N m s/rad" in found.cause


def test_armature_of_a_tree_is_found_too():
    description = description_of("ur5", "fixed")
    bodies = [replace(body, joint=replace(body.joint, armature=0.1)) for body in description.bodies_alone.bodies]
    found = only(description, OtherFile(description.robot, treesim.Tree("ur5", bodies)))
    assert found.kind == "armature" and "0.1 kg m^2" in found.cause
