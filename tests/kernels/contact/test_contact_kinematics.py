"""Kinematics of a step with contact, compared with kinematics and dynamics in closed form."""

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.dynamics.tables import constants_of
from treesim.engine.call.evaluate import run_states
from treesim.kernels.algebra.tables import tree_tables
from treesim.kernels.contact.contact_kinematics import contact_kinematics_states, kinematics_of, kinematics_size
from treesim.kernels.stepping.rules import RULES
from treesim.simulation.step_settings import StepSettings

TREES = ("tree_1", "random_a", "random_c", "free_random")
DT = 1e-3


def kinematics(robot, engine="generic"):
    """The start of a random step of a robot with damping, and the kinematics of the step."""
    rng = np.random.default_rng(3)
    q, v, end = robot.random(rng), *rng.normal(size=(2, robot.nv))
    settings = StepSettings.of(robot, RULES["semi_implicit_euler"], DT, 0.0, 0.3).table
    q_free = robot.integrate(q, DT * v)
    x = np.zeros((1, kinematics_size(robot.n_bodies, robot.nv)))  # what a joint type leaves out is not written
    given = [a[None] for a in (q, v, q_free, end, np.zeros(robot.nv), settings)]
    run_states(contact_kinematics_states, constants_of(robot, None), given, [x], engine)
    return q, kinematics_of(tree_tables(robot.ints, robot.reals), x[0], None)


@pytest.mark.parametrize("name", TREES)
def test_poses_and_velocities_are_those_of_the_bodies(name):
    robot = trees.tree(name)
    q, k = kinematics(robot)
    poses = treesim.body_poses(robot, q)
    for i in range(1, robot.n_bodies + 1):
        np.testing.assert_allclose(k.W[i, 9:12], poses[i][:3, 3], atol=1e-13)
        for V, v in ((k.V, k.mean), (k.V_end, k.end)):
            body = treesim.frame_velocity(robot, q, np.array(v), robot.body_names[i - 1], reference="local")
            linear, angular = np.linalg.norm(body[:3]), np.linalg.norm(body[3:])
            assert np.linalg.norm(V[i, 3:]) == pytest.approx(linear, abs=1e-12)
            assert np.linalg.norm(V[i, :3]) == pytest.approx(angular, abs=1e-12)


@pytest.mark.parametrize("name", TREES)
def test_lift_is_the_gradient_of_the_potential_energy(name):
    robot = trees.tree(name)
    q, k = kinematics(robot)
    still = np.zeros(robot.nv)
    np.testing.assert_allclose(k.lift, treesim.inverse_dynamics(robot, q, still, still), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", TREES)
def test_both_engines_agree(name):
    robot = trees.tree(name)
    for one, other in zip(kinematics(robot)[1][:-1], kinematics(robot, "specialized")[1][:-1], strict=True):
        ours = slice(1, None) if len(one) == robot.n_bodies + 1 else slice(None)  # there is no joint before the base
        np.testing.assert_allclose(one[ours], other[ours], rtol=1e-11, atol=1e-11)
