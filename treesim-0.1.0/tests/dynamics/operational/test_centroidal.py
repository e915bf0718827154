"""Centroidal momentum, its matrix and its rate, against the momentum about the origin and external wrenches."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.coupled import coupled
from tests.sensitivity import OF_A_SWEEP
from tests.trees import random_state, relative_error
from treesim.errors import ModelError

EXACT = 4 * OF_A_SWEEP
every_tree = pytest.mark.parametrize("name", ["tree_1", "random_a", "random_c", "free_random", "asimo", "mimic"])


def tree(name):
    return coupled(1) if name == "mimic" else trees.tree(name)


@every_tree
def test_it_is_the_momentum_moved_to_the_center_of_mass_and_the_matrix_times_v(name):
    robot = tree(name)
    q, v, *_ = random_state(robot, 1)
    h, center = treesim.momentum(robot, q, v), treesim.center_of_mass(robot, q)
    moved = np.concatenate([h[:3], h[3:] - np.cross(center, h[:3])])
    found, A = treesim.centroidal_momentum(robot, q, v), treesim.centroidal_momentum_matrix(robot, q)
    assert relative_error(found, moved) < EXACT
    assert relative_error(A @ v, found) < EXACT
    assert relative_error(A[:3], robot.mass * treesim.center_of_mass_jacobian(robot, q)) < EXACT


@every_tree
def test_the_rate_is_the_derivative_of_the_momentum(name):
    robot, h = tree(name), 1e-4
    q, v, a, *_ = random_state(robot, 2)

    def change(h):
        ends = [
            treesim.centroidal_momentum(robot, robot.integrate(q, t * v + t * t / 2 * a), v + t * a) for t in (h, -h)
        ]
        return (ends[0] - ends[1]) / (2 * h)

    extrapolated = (4 * change(h / 2) - change(h)) / 3  # Richardson's, of fourth order
    assert relative_error(treesim.centroidal_dynamics(robot, q, v, a), extrapolated) < 1e-9


def test_the_rate_in_free_flight_is_the_sum_of_the_wrenches_about_the_center_of_mass():
    robot = trees.tree("asimo")
    q, v, _, tau, f_ext = random_state(robot, 3)
    tau[:6] = 0  # of the floating base
    a = treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext)
    rate, center = robot.mass * np.array([*robot.gravity, 0, 0, 0]), treesim.center_of_mass(robot, q)
    for pose, wrench in zip(treesim.body_poses(robot, q)[1:], f_ext, strict=True):
        force, moment = pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]
        rate += np.concatenate([force, moment + np.cross(pose[:3, 3] - center, force)])
    assert relative_error(treesim.centroidal_dynamics(robot, q, v, a), rate) < 1e-10


def test_no_digits_are_lost_far_from_the_origin():
    robot = trees.tree("free_random")
    q, v, a, *_ = random_state(robot, 4)
    far = q.copy()
    far[:3] += 1e6
    for function, arguments in ((treesim.centroidal_momentum, (v,)), (treesim.centroidal_dynamics, (v, a))):
        assert relative_error(function(robot, far, *arguments), function(robot, q, *arguments)) < 1e-8


def test_a_robot_without_mass_has_no_center():
    body = treesim.Body("link", 0, treesim.Joint("joint", "revolute", armature=1.0), treesim.Inertia(0.0))
    robot = treesim.Tree("massless", [body])
    with pytest.raises(ModelError, match="has no mass"):
        treesim.centroidal_momentum_matrix(robot, robot.neutral())
