"""Other root links: every link moves as before, with the same kinetic energy, and joints keep their coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests.model.test_editing import check_dynamics, links_of, parts_of, same_to_the_bit, tree_of
from treesim import Body, Inertia, Joint, Tree, match_state
from treesim.errors import ModelError, UnknownNameError

pytestmark = pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")


def check_motion(robot, other, seed, base=None):
    """All links of two trees move alike; base: link of the second tree that is fixed to the world in the first."""
    q, v = robot.random(seed), np.random.default_rng(seed).normal(size=robot.nv)
    if base is None:
        found = match_state(robot, q, v, other)  # which compares all poses and velocities
        energy = [treesim.energy(*state)[0] for state in ((robot, q, v), (other, *found))]
        np.testing.assert_allclose(energy[1], energy[0], rtol=1e-11)
        return q, v, *found
    moving = robot.configuration({name: q[where] for name, where in robot.q_index.items()})
    p = np.concatenate([moving[robot.q_index[name]] for name in other.q_index])
    pose = np.linalg.inv(treesim.frame_pose(robot, q, base))
    for name in robot.frames:
        found = treesim.frame_pose(other, p, name)
        np.testing.assert_allclose(found, pose @ treesim.frame_pose(robot, q, name), rtol=0, atol=1e-11)
    return q, v, p, v


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_floating_trees_move_as_before(seed):
    robot = tree_of(seed, floating=True, loop=True)
    links = links_of(robot)
    link = sorted(links)[seed % len(links)]
    other = robot.rerooted(link)
    check_dynamics(other, links, seed)
    q, v, p, w = check_motion(robot, other, seed)
    for name, joint in robot.joints.items():
        if joint.nv == 1 and joint.mimic is None:
            np.testing.assert_allclose(p[other.q_index[name]], q[robot.q_index[name]], atol=1e-10)
            np.testing.assert_allclose(w[other.v_index[name]], v[robot.v_index[name]], atol=1e-10)
    ours, theirs = parts_of(other), parts_of(robot)
    assert ours[0] >= theirs[0] and ours[1] >= theirs[1] - {w.joint for w in robot.welds} and ours[2] >= theirs[2]
    assert ours[3:5] == theirs[3:5] and other.mimic_joints == robot.mimic_joints
    assert other.base == "floating" and other.body_names[0] == link and len(other.q_index) == len(robot.q_index)
    back = other.rerooted("carrier")
    check_motion(other, back, seed)
    assert back.body_names[0] == "carrier" and {*back.body_names} == {*robot.body_names}


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_fixed_trees_stand_on_the_new_root(seed):
    robot = random_hinges(seed)
    links = links_of(robot)
    link = sorted(links)[seed % len(links)]
    other = robot.rerooted(link)
    check_dynamics(other, links, seed)
    check_motion(robot, other, seed, link)
    assert other.nv == robot.nv and other.frame(link).body == 0
    assert [other.joint(x).lower for x in sorted(robot.joint_names)] == [
        robot.joint(x).lower for x in sorted(robot.joint_names)
    ]


def random_hinges(seed):
    """Return a tree whose joints have one coordinate each, and limits."""
    robot = tree_of(seed, 7)._with(gravity=(0, 0, 0))
    bodies = []
    for k, body in enumerate(robot.bodies):
        kind, at = ("revolute", "prismatic")[k % 2], body.joint.placement
        bodies.append(replace(body, joint=Joint(body.joint.name, kind, placement=at, lower=-k, upper=1)))
    return robot._with(bodies=bodies)


def test_robots_are_rerooted_written_and_read():
    robot = treesim.load("go2", base="floating")
    other = robot.rerooted("FL_foot")
    assert other.body_names[:2] == ("FL_foot", "FL_calf_joint_frame") and other.joint_names[1] == "FL_calf_joint"
    assert np.array_equal(other.joint("FL_calf_joint").axis, -robot.joint("FL_calf_joint").axis)
    same_to_the_bit(other, "floating")
    arm = treesim.load("ur5").rerooted("tool0")
    same_to_the_bit(arm)
    assert [x.link for x in arm.welds][:2] == ["tool0", "wrist_3_link"] and arm.mass == pytest.approx(20.806)


def test_what_has_no_inverse_is_refused():
    slider = Body("a", 0, Joint("table", "planar", lower=(-1, -1, -9), upper=(1, 1, 9)), Inertia(1.0))
    robot = Tree("slider", [slider, Body("b", 1, Joint("hinge", "revolute"), Inertia(1.0))])
    with pytest.raises(ModelError, match="joint 'table' cannot be reversed: it has limits of several coordinates"):
        robot.rerooted("b")
    with pytest.raises(ModelError, match="frame 'tip' is no link"):
        robot.with_frame("tip", "b").rerooted("tip")
    with pytest.raises(UnknownNameError, match="'c'"):
        robot.rerooted("c")
