"""Poses, velocities and Jacobians against each other and against finite differences, on every tree."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import CATALOGUE, random_state, relative_error

everywhere = pytest.mark.parametrize("name", CATALOGUE)
both_references = pytest.mark.parametrize("reference", ["local_world_aligned", "local", "spatial"])


def frames_of(robot):
    """A few frames: the last body's, its tool's if it has one, and one in the middle."""
    return [robot.frame_names[-1], robot.body_names[-1], robot.body_names[robot.n_bodies // 2]]


def twist_between(before, after, h):
    """Velocity of a frame from two poses 2h apart: linear and angular part in world axes."""
    turn = (after[:3, :3] - before[:3, :3]) / (2 * h) @ ((after[:3, :3] + before[:3, :3]) / 2).T
    angular = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    return np.concatenate([(after[:3, 3] - before[:3, 3]) / (2 * h), np.array(angular) / 2])


@everywhere
def test_poses_are_rigid_and_start_at_the_world(name):
    robot = trees.tree(name)
    poses = treesim.body_poses(robot, random_state(robot).q)
    assert poses.shape == (robot.n_bodies + 1, 4, 4)
    assert (poses[0] == np.eye(4)).all() and (poses[:, 3] == [0, 0, 0, 1]).all()
    rotations = poses[:, :3, :3]
    assert np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14
    for i, body in enumerate(robot.body_names, start=1):
        assert np.allclose(treesim.frame_pose(robot, random_state(robot).q, body), poses[i], atol=1e-14)


@everywhere
def test_frame_pose_is_its_bodys_pose_times_its_placement(name):
    robot = trees.tree(name)
    q = random_state(robot).q
    for label, frame in robot.frames.items():
        expected = treesim.body_poses(robot, q)[frame.body] @ frame.placement.matrix()
        assert np.allclose(treesim.frame_pose(robot, q, label), expected, atol=1e-14)


@everywhere
def test_neutral_poses_are_the_placements_alone(name):
    robot = trees.tree(name)
    poses = treesim.body_poses(robot, robot.neutral())
    for i, body in enumerate(robot.bodies, start=1):
        assert np.allclose(poses[i], poses[body.parent] @ body.joint.placement.matrix(), atol=1e-14)


@pytest.mark.paper("F10 eq. 5", "F10 eq. 13")
@both_references
@everywhere
def test_jacobian_times_velocity_is_the_frames_velocity(name, reference):
    robot = trees.tree(name)
    state = random_state(robot, 1)
    for frame in frames_of(robot):
        J = treesim.frame_jacobian(robot, state.q, frame, reference=reference)
        twist = treesim.frame_velocity(robot, state.q, state.v, frame, reference=reference)
        assert J.shape == (6, robot.nv)
        assert relative_error(J @ state.v, twist) < 1e-13


@pytest.mark.paper("F10 eq. 12", "FF13 nomenclature, H_i")
@everywhere
def test_jacobian_against_finite_differences_of_poses(name):
    robot = trees.tree(name)
    q, h = random_state(robot, 2).q, 1e-5
    for frame in frames_of(robot):
        J = treesim.frame_jacobian(robot, q, frame, reference="world")
        for k in range(robot.nv):
            step = h * np.eye(robot.nv)[k]
            before, after = (treesim.frame_pose(robot, robot.integrate(q, s * step), frame) for s in (-1, 1))
            assert np.allclose(twist_between(before, after, h), J[:, k], atol=1e-8)


@everywhere
def test_local_jacobian_is_the_world_one_in_the_frames_axes(name):
    robot = trees.tree(name)
    q = random_state(robot, 3).q
    for frame in frames_of(robot):
        R = treesim.frame_pose(robot, q, frame)[:3, :3]
        world = treesim.frame_jacobian(robot, q, frame, reference="world")
        local = treesim.frame_jacobian(robot, q, frame, reference="local")
        assert relative_error(np.concatenate([R @ local[:3], R @ local[3:]]), world) < 1e-14


@everywhere
def test_spatial_jacobian_is_that_of_the_point_at_the_worlds_origin(name):
    """One rigid body has one spatial velocity: frames fixed to each other have the same spatial Jacobian."""
    robot = trees.tree(name)
    q = random_state(robot, 3).q
    poses, body = treesim.body_poses(robot, q), robot.bodies[-1].name
    inverse = np.linalg.inv(poses[robot.n_bodies])
    origin = treesim.Frame("origin", robot.n_bodies, treesim.Placement(inverse[:3, :3], inverse[:3, 3]))
    marked = treesim.Tree(robot.name, robot.bodies, frames=[origin])
    expected = treesim.frame_jacobian(marked, q, "origin", reference="local")
    assert relative_error(treesim.frame_jacobian(robot, q, body, reference="spatial"), expected) < 1e-13


def test_world_is_another_name_and_spatial_is_refused_where_it_is_not_defined():
    robot = trees.tree("random_a")
    q, frame = random_state(robot, 3).q, robot.body_names[-1]
    for function in (treesim.frame_jacobian, treesim.inverse_operational_inertia):
        named = [function(robot, q, frame, reference=name) for name in ("world", "local_world_aligned")]
        assert np.array_equal(*named)
    for refused in (
        lambda: treesim.inverse_operational_inertia(robot, q, frame, reference="spatial"),
        lambda: treesim.operational_space(robot, q, np.zeros(robot.nv), frame, reference="spatial"),
        lambda: treesim.FrameTask(frame, reference="spatial"),
        lambda: treesim.FrameConstraint(frame, reference="spatial"),
    ):
        with pytest.raises(treesim.UnsupportedError, match="take 'local_world_aligned' or 'local'"):
            refused()
    with pytest.raises(treesim.UnknownNameError, match="spatial"):
        treesim.frame_jacobian(robot, q, frame, reference="spacial")


@pytest.mark.paper("F10 eq. 14, 15", "F10 section 5, example")
@everywhere
def test_jacobian_has_the_columns_of_the_path_and_no_others(name):
    robot = trees.tree(name)
    q = random_state(robot, 4).q
    for frame in frames_of(robot):
        path = robot.topology.support(robot.frame(frame).body)
        inside = np.repeat([i in path for i in range(1, robot.n_bodies + 1)], robot.topology.dofs)
        J = treesim.frame_jacobian(robot, q, frame)
        assert not J[:, ~inside].any() and J[:, inside].any(axis=0).all()
