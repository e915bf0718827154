"""Random trees numbered not depth-first, with any joint anywhere, against Pinocchio built joint by joint."""

import numpy as np
import pytest
from treesim_pinocchio.reading import from_tree

import treesim
from tests import sensitivity, trees
from tests.trees import random_state, relative_error

EXACT = 1e-12
SEEDS = range(12)


@pytest.fixture(scope="module", params=[*SEEDS, *trees.CATALOGUE], ids=str)
def pair(request):
    """A tree (random, or of the catalogue) and Pinocchio's model of it."""
    if isinstance(request.param, str):
        robot = trees.tree(request.param)
    else:
        robot = trees.random_tree(request.param, 3 + request.param, armature=0.2 * (request.param % 2))
    return robot, from_tree(robot)


def test_poses_and_jacobians(pair):
    robot, pin = pair
    q = random_state(robot).q
    for frame in robot.frame_names:
        assert relative_error(treesim.frame_pose(robot, q, frame), pin.pose(q, frame)) < EXACT
        for reference in ("world", "local"):
            J = treesim.frame_jacobian(robot, q, frame, reference=reference)
            assert relative_error(J, pin.jacobian(q, frame, reference)) < EXACT


def test_mass_matrix(pair):
    robot, pin = pair
    q = random_state(robot, 1).q
    assert relative_error(treesim.mass_matrix(robot, q), pin.mass_matrix(q)) < EXACT


def test_bias_and_inverse_dynamics(pair):
    robot, pin = pair
    q, v, a, _, f_ext = random_state(robot, 2)
    assert (
        relative_error(treesim.inverse_dynamics(robot, q, v, a, f_ext=f_ext), pin.inverse_dynamics(q, v, a, f_ext))
        < EXACT
    )
    assert relative_error(treesim.bias_forces(robot, q, v), pin.inverse_dynamics(q, v, 0 * a)) < EXACT


@pytest.mark.parametrize("backend", ["aba", "crba_ltdl"])
def test_forward_dynamics(pair, backend):
    """By one backend of each family: all of them undo inverse dynamics on these trees (tests/identities)."""
    robot, pin = pair
    q, v, a, tau, f_ext = random_state(robot, 3)
    for torque in (tau, pin.inverse_dynamics(q, v, a, f_ext)):
        result = treesim.forward_dynamics(robot, q, v, torque, f_ext=f_ext, backend=backend)
        expected = pin.forward_dynamics(q, v, torque, f_ext)
        bound = sensitivity.of_forward_dynamics(robot, q, v, torque, expected, backend, f_ext=f_ext)
        assert sensitivity.farthest(result, expected) < 2 * bound  # both err


def test_energy_and_momentum(pair):
    robot, pin = pair
    q, v, *_ = random_state(robot, 4)
    kinetic, potential = treesim.energy(robot, q, v)
    assert (kinetic, potential) == pytest.approx(pin.energy(q, v), rel=1e-12, abs=1e-12)
    assert relative_error(treesim.momentum(robot, q, v), pin.momentum(q, v)) < EXACT


def test_integrate_and_difference(pair):
    robot, pin = pair
    q, dv = random_state(robot, 5).q, np.random.default_rng(6).uniform(-0.9, 0.9, robot.nv)
    q1 = robot.integrate(q, dv)
    assert relative_error(pin.difference(q, q1), dv) < 1e-10  # it takes logarithms of matrices
    assert relative_error(robot.difference(q, q1), dv) < EXACT
