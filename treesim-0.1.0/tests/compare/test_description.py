"""A document that hypotheses change: lines, members of bodies, and edits that leave the original alone."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.compare.description import named, read_description, rotation_xyz, write
from treesim.errors import UrdfError
from treesim.urdf.document import numbers

URDF = """<robot name="arm">
  <link name="base"/>
  <!-- a comment
       of two lines -->
  <link name="upper"><inertial>
    <origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="tool"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>
  <joint name="hold" type="fixed"><parent link="upper"/><child link="tool"/><origin xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture
def description():
    return read_description(URDF, "fixed")


def test_it_is_the_tree_that_treesim_loads():
    for name in ("a1", "ur5"):
        description = read_description(name, "floating")
        np.testing.assert_array_equal(description.robot.reals, treesim.load(name, base="floating").reals)


def test_lines_are_those_of_the_file(description):
    assert description.place("link", "upper", "inertial", "mass") == "<text>:6"
    assert description.place("link", "upper", "inertial", "no such element") == "<text>:5"
    assert description.place("joint", "hold") == "<text>:11" and description.place("joint", "no such joint") == ""
    assert description.file == "<text>" and read_description("ur5", "fixed").file == "ur5_robot.urdf"


def test_bodies_know_their_links_and_joints(description):
    assert description.members == [["upper", "tool"]]
    assert description.carrying(1) == ["shoulder"] and description.welding(1) == ["hold"]
    np.testing.assert_array_equal(description.placement(1, "tool").translation, [0, 0, 1])


def test_an_edit_works_on_a_copy(description):
    other = description.edited(lambda root: write(named(root, "link", "upper").find("inertial"), "mass", value=3))
    assert (description.robot.mass, other.robot.mass) == (2.0, 3.0)
    assert other.place("link", "upper", "inertial", "mass") == "<text>:6"


def test_numbers_have_defaults(description):
    joint = description.joint["shoulder"]
    np.testing.assert_array_equal(numbers(joint, "axis", "xyz", (1.0, 0.0, 0.0)), [1, 0, 0])


def test_the_other_order_of_angles():
    roll, pitch, yaw = (treesim.Placement.from_xyz_rpy(rpy=rpy).rotation for rpy in np.diag([0.3, -0.7, 1.1]).tolist())
    np.testing.assert_allclose(rotation_xyz(np.array([0.3, -0.7, 1.1])), roll @ pitch @ yaw, atol=1e-15)


def test_a_tree_has_a_description_too():
    robot = treesim.load("ur5")
    assert read_description(robot, "fixed").robot.joint_names == robot.joint_names


def test_a_bad_file_is_refused():
    with pytest.raises(UrdfError, match="U204"):
        read_description(URDF.replace('<link name="tool"/>', ""), "fixed")
