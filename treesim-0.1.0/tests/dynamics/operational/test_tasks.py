"""What the tasks' rows mean: against poses, velocities and the frames they are made of."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state, relative_error
from treesim import CenterOfMassTask, FrameTask, RelativeTask

NAMES = ("chain_mixed", "random_a", "free_random", "asimo")
every_tree = pytest.mark.parametrize("name", NAMES)


def rows_of(robot, state, task, **options):
    return treesim.operational_space(robot, state.q, state.v, task, **options).jacobian


@pytest.mark.paper("F10 eq. 17, 18, 19")
@every_tree
@pytest.mark.parametrize("reference", ["world", "local"])
def test_a_name_is_the_frames_jacobian(name, reference):
    robot = trees.tree(name)
    state, frame = random_state(robot, 1), robot.frame_names[-1]
    J = treesim.frame_jacobian(robot, state.q, frame, reference=reference)
    assert relative_error(rows_of(robot, state, frame, reference=reference), J) < 1e-13
    assert relative_error(rows_of(robot, state, FrameTask(frame, reference=reference)), J) < 1e-13
    R = np.random.default_rng(0).normal(size=(4, 6))
    assert relative_error(rows_of(robot, state, FrameTask(frame, R, reference)), R @ J) < 1e-13
    assert relative_error(rows_of(robot, state, FrameTask(frame, "angular", reference)), J[3:]) < 1e-13


@pytest.mark.paper("F10 section 10, future work")
@every_tree
def test_relative_motion_is_the_rate_of_one_frames_pose_in_the_other(name):
    robot, h = trees.tree(name), 1e-5
    state = random_state(robot, 2)
    first, second = robot.frame_names[-1], robot.frame_names[len(robot.frame_names) // 2]

    def seen(t):
        q = robot.integrate(state.q, t * state.v)
        return np.linalg.inv(treesim.frame_pose(robot, q, first)) @ treesim.frame_pose(robot, q, second)

    rate = (seen(h) - seen(-h)) / (2 * h)
    spin = rate[:3, :3] @ seen(0)[:3, :3].T
    twist = np.r_[rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
    local = rows_of(robot, state, RelativeTask(first, second, reference="local")) @ state.v
    assert relative_error(local, twist) < 1e-8
    world = rows_of(robot, state, RelativeTask(first, second)) @ state.v
    R = treesim.frame_pose(robot, state.q, first)[:3, :3]
    assert relative_error(world, np.r_[R @ local[:3], R @ local[3:]]) < 1e-12


@every_tree
def test_center_of_mass_is_the_mean_of_the_bodies(name):
    robot = trees.tree(name)
    q = random_state(robot, 3).q
    poses = treesim.body_poses(robot, q)[1:]
    centres = [body.inertia.mass * (T[:3, :3] @ body.inertia.com + T[:3, 3])
               for body, T in zip(robot.bodies, poses, strict=True)]  # fmt: skip
    assert relative_error(treesim.center_of_mass(robot, q), np.sum(centres, axis=0) / robot.mass) < 1e-13


@pytest.mark.paper("F10 section 10, future work")
@every_tree
def test_center_of_mass_jacobian_is_momentum_over_mass(name):
    robot = trees.tree(name)
    state = random_state(robot, 4)
    J = treesim.center_of_mass_jacobian(robot, state.q)
    velocity = treesim.momentum(robot, state.q, state.v)[:3] / robot.mass
    assert relative_error(J @ state.v, velocity) < 1e-12
    assert relative_error(rows_of(robot, state, CenterOfMassTask()), J) < 1e-15


@pytest.mark.paper("F10 eq. 8", "J91 eq. 13, 14")
@every_tree
@pytest.mark.parametrize("reference", ["world", "local"])
def test_frame_acceleration_is_the_second_derivative_of_its_position(name, reference):
    robot, h = trees.tree(name), 1e-4
    state, frame = random_state(robot, 5), robot.frame_names[-1]

    def velocity(t):
        q = robot.integrate(state.q, t * state.v + t * t / 2 * state.a)
        return treesim.frame_velocity(robot, q, state.v + t * state.a, frame)

    numeric = (8 * (velocity(h) - velocity(-h)) - velocity(2 * h) + velocity(-2 * h)) / (12 * h)
    if reference == "local":
        R = treesim.frame_pose(robot, state.q, frame)[:3, :3]
        numeric = np.r_[R.T @ numeric[:3], R.T @ numeric[3:]]
    found = treesim.frame_acceleration(robot, state.q, state.v, state.a, frame, reference=reference)
    assert relative_error(found, numeric) < 1e-8


def test_batches_and_a_robot_without_mass_or_joints():
    robot = trees.tree("random_a")
    q = np.array([random_state(robot, seed).q for seed in range(3)])
    assert treesim.center_of_mass(robot, q).shape == (3, 3)
    assert treesim.center_of_mass_jacobian(robot, q).shape == (3, 3, robot.nv)
    v = np.zeros(robot.nv)
    assert not treesim.frame_acceleration(robot, q, v, v, robot.frame_names[0]).any()
    rock = treesim.Tree("rock", [], frames=[treesim.Frame("top", 0)])
    np.testing.assert_array_equal(treesim.frame_acceleration(rock, [], [], [], "top"), np.zeros(6))
    with pytest.raises(treesim.ModelError, match="no mass"):
        treesim.center_of_mass(rock, [])


@pytest.mark.parametrize("rows", ["sideways", np.zeros((2, 5)), np.full((1, 6), np.nan), ["x", "y", "z"]])
def test_rows_that_do_not_fit_are_refused(rows):
    robot = trees.tree("tree_1")
    state = random_state(robot)
    with pytest.raises((treesim.ArgumentError, treesim.NonFiniteError)):
        rows_of(robot, state, FrameTask("body_7", rows))
