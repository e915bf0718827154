"""The bounds of other tests: what they are made of is right, and what loses digits does not pass them."""

import numpy as np
import pytest

import treesim
from tests import joint_forces, sensitivity, trees
from tests.trees import CATALOGUE, random_state
from treesim import plugins
from treesim.dynamics.conjugate_gradient import solve

BACKENDS = treesim.available("dynamics")


def prescribed(robot):
    """A state, its accelerations, and the torques that bring them about."""
    q, v, a, *_ = random_state(robot, 1)
    return q, v, treesim.inverse_dynamics(robot, q, v, a), a


@pytest.mark.parametrize("name", ["tree_1", "chain_mixed", "free_random"])
def test_joint_forces_are_those_of_inverse_dynamics(name):
    """The part of the wrenches in the joints along their motion is the torque."""
    robot = trees.tree(name)
    q, v, a, _, f_ext = random_state(robot)
    wrenches = joint_forces.body_wrenches(robot, q, v, a, robot.gravity) - f_ext.ravel()
    transmitted = np.linalg.solve(joint_forces.to_bodies(robot, q), wrenches)
    free, held = joint_forces.directions(robot, q)
    tau = treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext)
    assert sensitivity.farthest(free.T @ transmitted, tau) < 1e-12
    assert np.abs(free.T @ held).max(initial=0.0) < 1e-15


@pytest.mark.parametrize("name", CATALOGUE)
def test_single_precision_and_lost_digits_do_not_pass(name):
    robot = trees.tree(name)
    *state, a = prescribed(robot)
    single = treesim.forward_dynamics(robot, *(x.astype(np.float32) for x in state)).astype(float)
    for backend in BACKENDS:
        bound = sensitivity.of_forward_dynamics(robot, *state, a, backend)
        assert sensitivity.farthest(single, a) > 10 * bound, backend
        if plugins.get("dynamics", backend).capabilities.error_factor == 1 and backend != "explicit_inverse":
            assert sensitivity.farthest(a * (1 + 1e-9), a) > bound, backend


def test_an_iteration_that_stops_early_does_not_pass():
    robot = trees.tree("asimo")
    *state, a = prescribed(robot)
    bound = sensitivity.of_forward_dynamics(robot, *state, a, "conjugate_gradient")
    assert sensitivity.farthest(solve(robot, *state, tolerance=1e-7).qdd, a) > bound
    assert sensitivity.farthest(solve(robot, *state).qdd, a) < bound


def test_not_a_number_is_infinitely_far():
    assert sensitivity.farthest(np.array([1.0, np.nan]), np.ones(2)) == np.inf
