"""Tree: what it derives from its bodies, that it cannot be changed, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests import trees
from treesim import Body, Frame, Inertia, Joint, Placement, Tree
from treesim.errors import ArgumentError, ModelError, UnknownNameError
from treesim.model import generators as make
from treesim.model.pack import axis_rotation
from treesim.testing.samples import on_floating_base

pytestmark = pytest.mark.nojit


def two_bodies(**second) -> Tree:
    arguments = {"name": "b", "parent": 1, "joint": Joint("j2", "revolute")} | second
    return Tree("pair", [Body("a", 0, Joint("j1", "revolute"), Inertia(1.0)), Body(**arguments)])


def test_layout_follows_the_bodies():
    robot = make.chain(6, trees.MIXED)  # revolute, spherical, prismatic, planar, continuous, floating
    assert (robot.nq, robot.nv) == (1 + 4 + 1 + 3 + 1 + 7, 1 + 3 + 1 + 3 + 1 + 6)
    assert [robot.q_index[name].start for name in robot.joint_names] == [0, 1, 5, 6, 9, 10]
    assert [robot.v_index[name].start for name in robot.joint_names] == [0, 1, 4, 5, 8, 9]
    assert robot.q_index["joint_6"] == slice(10, 17) and robot.v_index["joint_6"] == slice(9, 15)
    assert robot.dof_name(2) == "joint_2[1]" and robot.dof_name(0) == "joint_1"
    assert robot.mass == pytest.approx(sum(body.inertia.mass for body in robot.bodies))


def test_joints_and_links_by_name_have_the_limits_of_the_tree():
    robot = treesim.load("panda").spanning  # whose limits are not those of mimic joints, too
    assert (robot.n_links, robot.n_joints) == (len(robot.links), len(robot.joints)) == (robot.n_bodies, robot.n_bodies)
    assert tuple(robot.joints) == robot.joint_names and tuple(robot.links) == robot.body_names
    for name, where in robot.v_index.items():
        joint = robot.joints[name]
        for label in ("velocity_limit", "effort_limit", "damping", "joint_friction", "armature"):
            assert np.array_equal(getattr(joint, label), getattr(robot, label)[where])
        for label in ("lower", "upper"):
            assert np.array_equal(getattr(joint, label), getattr(robot, label)[robot.q_index[name]])
    assert robot.links["panda_link4"].joint is robot.joints["panda_joint4"]
    for table, known in ((robot.joints, "panda_joint4"), (robot.links, "panda_link4")):
        with pytest.raises(UnknownNameError, match=f"did you mean '{known}'"):
            table[f"{known}x"]
    with pytest.raises(UnknownNameError, match="of 'panda'"):
        robot.joint([])


def test_a_tree_cannot_be_changed():
    robot = make.tree_1()
    with pytest.raises(AttributeError, match="immutable"):
        robot.name = "other"
    for array in (robot.parent, robot.dof_parent, robot.lower, robot.damping, robot.gravity, robot.reals, robot.ints):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        robot.q_index["joint_1"] = slice(0, 1)
    with pytest.raises(ValueError, match="read-only"):
        robot.bodies[0].inertia.com[0] = 1.0


def test_scalars_are_repeated_over_a_joints_coordinates():
    joint = Joint("ball", "spherical", damping=0.5, upper=2.0)
    assert joint.damping.tolist() == [0.5] * 3 and joint.upper.tolist() == [2.0] * 4


def test_axes_are_normalised():
    assert np.allclose(Joint("j", "revolute", axis=(0, 3, 4)).axis, (0, 0.6, 0.8), atol=1e-16)


@pytest.mark.parametrize(
    "second, message",
    [
        ({"parent": 2}, r"λ\(2\) = 2"),
        ({"name": "a"}, "body 'a' is defined twice"),
        ({"joint": Joint("j1", "revolute")}, "joint 'j1' is defined twice"),
        ({"name": ""}, "a body has no name"),
    ],
)
def test_bodies_that_do_not_fit_are_refused(second, message):
    with pytest.raises(ModelError, match=message):
        two_bodies(**second)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"axis": (0, 0, 0)}, "axis is zero"),
        ({"axis": (0, np.nan, 1)}, "three finite numbers"),
        ({"lower": 1.0, "upper": 0.0}, "above the upper limit"),
        ({"armature": -1.0}, "negative"),
        ({"damping": np.nan}, "damping is not a number"),
        ({"type": "hinge"}, "unknown type 'hinge' of joint 'j'"),
    ],
)
def test_joints_that_cannot_be_meant_are_refused(arguments, message):
    with pytest.raises(ModelError if "type" not in arguments else UnknownNameError, match=message):
        Joint(**({"name": "j", "type": "revolute"} | arguments))


@pytest.mark.parametrize(
    "make_it, message",
    [
        (lambda: Inertia(-1.0), "mass must be a finite number >= 0"),
        (lambda: Inertia(1.0, (0, 0, np.inf)), "com holds NaN or infinity"),
        (lambda: Inertia(1.0, (0, 0)), r"com must have shape \(3,\)"),
        (lambda: Inertia(1.0, rotational=np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])), "not symmetric"),
        (lambda: Placement(2 * np.eye(3)), "not a rotation"),
        (lambda: Placement(np.diag([1, 1, -1])), "not a rotation"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(make_it, message):
    with pytest.raises(ModelError, match=message):
        make_it()


def test_frames_are_found_by_name_and_their_errors_name_the_near_ones():
    robot = Tree("t", make.tree_1().bodies, frames=[Frame("tool", 7, Placement(translation=np.array([0.1, 0, 0])))])
    assert robot.frame("tool").body == 7 and robot.frame("body_3").body == 3
    with pytest.raises(UnknownNameError, match="did you mean 'tool'"):
        robot.frame("tol")
    with pytest.raises(UnknownNameError, match="did you mean 'joint_1'"):
        robot.joint("joint1")
    with pytest.raises(UnknownNameError, match=r"unknown frame \['tool'\] of 't'"):
        robot.frame(["tool"])
    for index in (robot.q_index, robot.v_index):
        with pytest.raises(UnknownNameError, match="unknown joint 'joint1' of 't': did you mean 'joint_1'"):
            index["joint1"]
        assert "joint1" not in index and index.get("joint1") is None
    with pytest.raises(UnknownNameError, match="unknown frame 'tol' of 't': did you mean 'tool'"):
        robot.frames["tol"]


def test_degrees_of_freedom_have_names():
    robot = make.chain(3, ("floating", "revolute", "planar"))
    assert robot.dof_names == tuple(robot.dof_name(k) for k in range(robot.nv))
    assert robot.dof_names[5:] == ("joint_1[5]", "joint_2", "joint_3[0]", "joint_3[1]", "joint_3[2]")


def test_a_configuration_from_names():
    robot = make.chain(4, ("floating", "revolute", "spherical", "prismatic"))
    q = robot.configuration({"joint_2": 0.5, "joint_4": [np.float32(2)], "joint_3": [0, 0, 1.0001, 0]})
    assert q.tolist() == [*robot.neutral()[:7], 0.5, 0.0, 0.0, 1.0, 0.0, 2.0]
    assert robot.configuration({}).tolist() == robot.neutral().tolist()


@pytest.mark.parametrize(
    "positions, message",
    [
        ({"joint2": 1.0}, "unknown joint 'joint2' of .*: did you mean 'joint_2'"),
        ({"joint_2": [1.0, 2.0]}, r"position of joint 'joint_2' must be one number, got shape \(2,\)"),
        ({"joint_1": 1.0}, r"position of joint 'joint_1' must be 4 numbers, got shape \(\)"),
        ({"joint_2": "far"}, "position of joint 'joint_2' must be an array of real numbers"),
        ({"joint_2": np.nan}, "position of joint 'joint_2' is not finite"),
        ({"joint_1": [0, 0, 0, 2]}, "the quaternion of joint 'joint_1' has length 2"),
        ([1.0, 2.0], r"positions must be a dictionary \{joint: position\}, got \[1.0, 2.0\]"),
    ],
)
def test_positions_that_do_not_fit_are_named(positions, message):
    with pytest.raises(ArgumentError, match=message):
        make.chain(2, ("spherical", "revolute")).configuration(positions)


@pytest.mark.parametrize("frame, message", [(Frame("x", 9), "sits on body 9"), (Frame("body_1", 1), "defined twice")])
def test_frames_that_do_not_fit_are_refused(frame, message):
    with pytest.raises(ModelError, match=message):
        Tree("t", make.tree_1().bodies, frames=[frame])


def test_gravity_must_be_three_numbers():
    with pytest.raises(ModelError, match="three finite numbers"):
        Tree("t", make.tree_1().bodies, gravity=(0, 0))


@pytest.mark.parametrize("z", [-1.0, -0.5, 0.0, 1.0])
@pytest.mark.parametrize("x", [0.0, 1e-160, 1e-12, 1e-8, 1e-5, 1e-2, 1.0])
def test_axis_rotation_takes_z_to_the_axis_and_is_a_rotation(x, z):
    axis = np.array([x, -0.7 * x if z else -1.0, z])
    axis /= np.linalg.norm(axis)
    R = axis_rotation(axis)
    assert np.abs(R[:, 2] - axis).max() < 1e-15
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-14 and np.linalg.det(R) > 0


@pytest.mark.paper("F10 section 2, bases")
def test_a_floating_base_is_a_joint_of_six_degrees_of_freedom():
    """F10 section 2: its bodies follow it, and its own degrees of freedom are a chain from the fixed base."""
    tree = trees.tree("random_a")
    floating = on_floating_base(tree)
    assert floating.bodies[0].joint.type == "floating" and floating.nv == tree.nv + 6
    assert floating.parent.tolist() == [0, *(tree.parent + 1).tolist()]
    assert floating.dof_parent.tolist() == [*range(6), *(tree.dof_parent + 6).tolist()]
    assert [body.inertia for body in floating.bodies[1:]] == [body.inertia for body in tree.bodies]
    assert (floating.gravity == tree.gravity).all()


def test_replacing_a_joint_keeps_every_bit_of_its_axis():
    axes = np.random.default_rng(0).normal(size=(2000, 3))
    joints = [Joint("j", "revolute", axis=axis) for axis in axes]
    assert all(np.array_equal(replace(joint, damping=1.0).axis, joint.axis) for joint in joints)
    assert all(np.array_equal(replace(joint, axis=-joint.axis).axis, -joint.axis) for joint in joints)


def test_parts_are_taken_in_the_form_in_which_they_are_read():
    robot = treesim.load("anymal_c")
    rest = {
        label: getattr(robot, label) for label in ("frames", "shapes", "visuals", "loops", "welds", "gravity", "notes")
    }
    again = Tree(robot.name, robot.bodies, **rest)
    assert list(again.frames) == list(robot.frames) and robot.visuals and robot.shapes
    for label in ("shapes", "visuals", "welds", "notes"):
        assert getattr(again, label) == getattr(robot, label)
    with pytest.raises(ModelError, match="is defined twice"):
        Tree(
            "arm",
            robot.bodies,
            frames={robot.body_names[0]: Frame(robot.body_names[0], 1, Placement(np.eye(3), (0, 0, 1)))},
        )


@pytest.mark.parametrize("seed", [3, 4])
def test_bodies_on_fixed_joints_become_welds(seed):
    robot = trees.random_tree(seed, 9)
    names = [robot.joint_names[k] for k in (0, 3, 4, 8)]
    zero = {name: robot.neutral()[robot.q_index[name]] for name in names}
    bodies = [
        replace(body, joint=Joint(body.joint.name, "fixed", placement=body.joint.placement))
        if body.joint.name in names else body for body in robot.bodies
    ]  # fmt: skip
    found, expected = robot._with(bodies=bodies), robot.reduced(zero)
    assert found.topology.dofs.min() > 0 and found.n_bodies == 5 and not {*names} & {*found.joint_names}
    assert np.array_equal(found.reals, expected.reals) and np.array_equal(found.ints, expected.ints)
    assert [(x.link, x.joint) for x in found.welds] == [(x.link, x.joint) for x in expected.welds]
    assert {x.joint for x in found.welds} == {*names} and {*found.frames} == {*robot.frames}


def test_a_fixed_joint_has_no_coordinates():
    joint = Joint("mount", "fixed", lower=-1.0, damping=2.0)
    assert (joint.nq, joint.nv, joint.damping.size) == (0, 0, 0) and repr(joint) == "<Joint 'mount': fixed>"
    alone = Tree("plate", [Body("plate", 0, joint, Inertia(2.0))])
    assert (alone.n_bodies, alone.nv, alone.welds[0].inertia.mass) == (0, 0, 2.0)
    with pytest.raises(ModelError, match="a fixed joint cannot mimic"):
        Joint("mount", "fixed", mimic=treesim.Mimic("a"))
