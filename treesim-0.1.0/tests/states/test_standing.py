"""Robots set down on the ground: the lowest collision shape touches it, and nothing but the base has moved."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treesim
from treesim import Body, CollisionShape, Inertia, Joint, Placement, Tree, lowest_point, standing
from treesim.errors import ArgumentError

SLOPE = SimpleNamespace(normal=(0.3, -0.1, 2.0), height=-0.7)
BALL = CollisionShape(1, Placement(translation=(0, 0, -1)), "sphere", size=(0.25,), link="ball")


def robot_named(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", treesim.UrdfWarning)
        return treesim.load(name, base="floating")


@pytest.mark.parametrize("ground", [None, SLOPE], ids=["floor", "slope"])
@pytest.mark.parametrize("name", ["g1_29dof_rev_1_0", "simple_humanoid", "talos", "anymal_c"])
def test_the_lowest_point_of_real_robots_touches(name, ground):
    robot = robot_named(name)
    plane = {"normal": SLOPE.normal, "height": SLOPE.height} if ground else {}
    for q in (robot.neutral(), robot.random(1)):
        placed = robot.standing(q, ground)
        assert abs(lowest_point(robot, placed, **plane).gap) < 1e-12
        assert np.array_equal(placed[3:], q[3:])
        moved, n = placed[:3] - q[:3], np.array(SLOPE.normal) if ground else np.array([0, 0, 1.0])
        assert np.abs(np.cross(moved, n)).max() < 1e-12, "along the normal only"


def test_batches_stand_as_their_states_do():
    robot = robot_named("g1_29dof_rev_1_0")
    q = np.array([[robot.random(3 * i + k) for k in range(3)] for i in range(2)])
    placed = standing(robot, q)
    assert placed.shape == q.shape
    for state in np.ndindex(2, 3):
        assert np.abs(placed[state] - standing(robot, q[state])).max() < 1e-13


def test_a_base_whose_joint_is_turned_moves_along_the_normal():
    joint = Joint("free", "floating", placement=Placement.from_xyz_rpy((1, 2, 3), (0.4, 0.5, 0.6)))
    robot = Tree("ball", [Body("ball", 0, joint, Inertia(1.0))], shapes=[BALL])
    q = standing(robot, [0.1, 0.2, 0.3, *Rotation.from_euler("x", 0.7).as_quat()], SLOPE)
    assert abs(lowest_point(robot, q, normal=SLOPE.normal, height=SLOPE.height).gap) < 1e-13


def test_a_robot_that_stands_stays():
    robot = robot_named("g1_29dof_rev_1_0")
    q = robot.standing(robot.neutral())
    assert np.abs(robot.standing(q) - q).max() < 1e-15


def test_robots_that_cannot_stand_say_why():
    free = Joint("free", "floating")
    with pytest.raises(ArgumentError, match=r"'ur5' has a fixed base.*base=\"floating\""):
        standing(treesim.load("ur5"), np.zeros(6))
    two = Tree("two", [Body(x, 0, Joint(f"{x}_joint", "floating"), Inertia(1.0)) for x in "ab"], shapes=[BALL])
    with pytest.raises(ArgumentError, match="'two' has 2 bodies on the fixed base"):
        standing(two, two.neutral())
    bare = Tree("bare", [Body("ball", 0, free, Inertia(1.0))])
    with pytest.raises(ArgumentError, match="'bare' has nothing to touch the ground with: no collision shapes"):
        bare.standing(bare.neutral())
    inertial = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    mesh = '<collision><geometry><mesh filename="package://no/foot.stl"/></geometry></collision>'
    lost = f'<link name="ball"><inertial>{inertial}</inertial>{mesh}</link>'
    with pytest.warns(treesim.UrdfWarning, match="U506"):
        robot = treesim.load(f'<robot name="lost">{lost}</robot>', base="floating")
    with pytest.raises(ArgumentError, match=r"'package://no/foot.stl' not found; .*'ball'"):
        robot.standing(robot.neutral())


def test_what_is_no_ground_or_configuration_is_refused():
    robot = Tree("ball", [Body("ball", 0, Joint("free", "floating"), Inertia(1.0))], shapes=[BALL])
    with pytest.raises(ArgumentError, match="ground must have a normal"):
        robot.standing(robot.neutral(), 0.5)
    with pytest.raises(ArgumentError, match="q has shape"):
        robot.standing([0, 0, 0])
    with pytest.raises(treesim.NonFiniteError):
        robot.standing([np.nan, 0, 0, 0, 0, 0, 1])
