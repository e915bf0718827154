"""The regressor of joint torques: linear in the inertial parameters, and independent of them."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.sensitivity import OF_A_SWEEP
from tests.trees import random_state, relative_error
from treesim.testing.samples import on_floating_base


@pytest.mark.parametrize("name", ["tree_1", "random_b", "random_c", "free_random", "asimo", "mimic"])
def test_times_the_parameters_it_is_inverse_dynamics(name):
    robot = coupled(1) if name == "mimic" else trees.tree(name)
    q, v, a, *_ = random_state(robot, 1)
    rotors = treesim.inverse_dynamics(robot, q, v, a) - treesim.inverse_dynamics(
        robot, q, v, a, armature=np.zeros(robot.nv)
    )
    tau = treesim.joint_torque_regressor(robot, q, v, a) @ treesim.inertial_parameters(robot) + rotors
    assert relative_error(tau, treesim.inverse_dynamics(robot, q, v, a)) < 4 * OF_A_SWEEP


def test_each_column_is_that_of_one_parameter_of_one_body():
    """The same geometry with other inertias: one regressor, and its ten columns of a body give that body's torques."""
    robot = on_floating_base(trees.random_tree(5, 4))
    rng = np.random.default_rng(0)
    inertias = [treesim.Inertia(1.0 + k, rng.normal(size=3), np.eye(3) * (k + 1)) for k in range(robot.n_bodies)]
    bodies = [
        treesim.Body(body.name, body.parent, body.joint, inertia)
        for body, inertia in zip(robot.bodies, inertias, strict=True)
    ]
    other = treesim.Tree("other", bodies, gravity=robot.gravity)
    q, v, a = (np.array([getattr(random_state(robot, k), x) for k in range(3)]) for x in "qva")
    Y = treesim.joint_torque_regressor(robot, q, v, a)
    assert Y.shape == (3, robot.nv, 10 * robot.n_bodies)
    assert relative_error(treesim.joint_torque_regressor(other, q, v, a, engine="specialized"), Y) < OF_A_SWEEP
    zero = np.zeros(robot.nv)
    tau = treesim.inverse_dynamics(other, q, v, a, armature=zero)
    assert relative_error(Y @ treesim.inertial_parameters(other), tau) < 4 * OF_A_SWEEP
    heavier = treesim.inertial_parameters(other).reshape(-1, 10) * [[1], [1], [3], [1], [1]]
    tripled = [
        b
        if i != 2
        else treesim.Body(
            b.name, b.parent, b.joint, treesim.Inertia(3 * b.inertia.mass, b.inertia.com, 3 * b.inertia.rotational)
        )
        for i, b in enumerate(bodies)
    ]
    tau = treesim.inverse_dynamics(treesim.Tree("third", tripled, gravity=robot.gravity), q, v, a, armature=zero)
    assert relative_error(Y @ heavier.ravel(), tau) < 4 * OF_A_SWEEP
