"""Poses of several frames in one call."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.trees import random_state
from treesim.errors import ArgumentError, UnknownNameError


@pytest.mark.parametrize("name", ["random_a", "free_random"])
def test_poses_are_those_of_single_frames_in_the_order_given(name):
    robot = trees.tree(name)
    q = np.array([random_state(robot, k).q for k in range(2)])
    every = treesim.frame_poses(robot, q)
    assert every.shape == (2, len(robot.frame_names), 4, 4)
    for k, frame in enumerate(robot.frame_names):
        np.testing.assert_allclose(every[:, k], treesim.frame_pose(robot, q, frame), atol=1e-14)
    backward = robot.frame_names[::-1]
    np.testing.assert_array_equal(treesim.frame_poses(robot, q, backward), every[:, ::-1])
    assert treesim.frame_poses(robot, q, []).shape == (2, 0, 4, 4)


def test_frames_are_a_list_of_names():
    robot = trees.tree("tree_1")
    with pytest.raises(ArgumentError, match="frames must be a list of names"):
        treesim.frame_poses(robot, robot.neutral(), robot.frame_names[0])
    with pytest.raises(UnknownNameError, match="no_such"):
        treesim.frame_poses(robot, robot.neutral(), ["no_such"])


def test_a_robot_without_joints_has_frames():
    robot = treesim.Tree("fixed", [], frames=[treesim.Frame("tool", 0, treesim.Placement(translation=(0, 0, 1)))])
    poses = treesim.frame_poses(robot, np.empty((3, 0)), ["tool"])
    assert poses.shape == (3, 1, 4, 4)
    assert (poses[:, 0, 2, 3] == 1).all()
