"""Mirror images: the same forces, mirrored motion, and the original to the bit when mirrored again; other names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests.model.test_editing import parts_of, tree_of
from treesim import Body, CollisionShape, Joint, Loop, Placement, Tree, Visual
from treesim.errors import ArgumentError, ModelError, UnknownNameError

pytestmark = [pytest.mark.nojit, pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")]
PLANES = {"xy": np.array([1.0, 1.0, -1.0]), "xz": np.array([1.0, -1.0, 1.0]), "yz": np.array([-1.0, 1.0, 1.0])}
ARM = treesim.load("ur5")
OBLIQUE = Body("b", 0, Joint("j", "planar", axis=(1, 2, 3)))
TABLE = {"xy": 1.0, "xz": 1.0, "yz": -1.0}  # signs of x and y of a planar joint about z


def signs_of(robot, plane):
    """Return the signs that mirror q and v."""
    q, v, S = np.ones(robot.nq), np.ones(robot.nv), PLANES[plane]
    signs = {
        "floating": ([*S, *(-S), 1.0], [*S, *(-S)]), "spherical": ([*(-S), 1.0], -S),
        "planar": ([TABLE[plane], TABLE[plane], 1.0],) * 2,
    }  # fmt: skip
    for name, where in robot.q_index.items():
        if robot.joint(name).type in signs:
            q[where], v[robot.v_index[name]] = signs[robot.joint(name).type]
    return q, v


def without_oblique_planes(seed, floating):
    """Return a random tree whose planar joints have coordinate axes: others have no mirror image."""
    robot = tree_of(seed, floating=floating, loop=True)
    return robot._with(bodies=[
        replace(body, joint=replace(body.joint, axis=(0, 0, 1))) if body.joint.type == "planar" else body
        for body in robot.bodies
    ])  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(sorted(PLANES)))
def test_mirror_images_need_the_same_forces_and_move_as_in_a_mirror(seed, floating, plane):
    robot, S = without_oblique_planes(seed, floating), PLANES[plane]
    image = robot.mirrored(plane)
    q, (of_q, of_v) = robot.random(seed), signs_of(robot, plane)
    v, a = np.random.default_rng(seed).normal(size=(2, robot.nv))
    tau = treesim.inverse_dynamics(robot, q, v, a)
    found = treesim.inverse_dynamics(image, of_q * q, of_v * v, of_v * a)
    np.testing.assert_allclose(found, of_v * tau, rtol=0, atol=1e-12 * max(1, np.abs(tau).max()))
    mirror = np.diag([*S, 1.0])
    for name in robot.frames:
        pose = mirror @ treesim.frame_pose(robot, q, name) @ mirror
        np.testing.assert_allclose(treesim.frame_pose(image, of_q * q, name), pose, rtol=0, atol=1e-13)
    again = image.mirrored(plane)
    assert np.array_equal(again.spanning.reals, robot.spanning.reals) and again.notes == robot.notes
    assert np.array_equal(again.gravity, robot.gravity) and parts_of(image)[:5] == parts_of(robot)[:5]
    for ours, theirs in zip(
        (*again.frames.values(), *again.shapes), (*robot.frames.values(), *robot.shapes), strict=True
    ):
        assert np.array_equal(ours.placement.matrix(), theirs.placement.matrix())


def test_two_thousand_axes_come_back_to_the_bit():
    axes = np.random.default_rng(1).normal(size=(2000, 3))
    bodies = [
        Body(f"b{k}", 0, Joint(f"j{k}", ("revolute", "prismatic")[k % 2], axis=axis)) for k, axis in enumerate(axes)
    ]
    robot = Tree("star", bodies)
    again = robot.mirrored("yz").mirrored("yz")
    assert all(np.array_equal(x.joint.axis, y.joint.axis) for x, y in zip(again.bodies, robot.bodies, strict=True))


def test_a_humanoid_is_its_own_mirror_image_with_sides_exchanged():
    robot = treesim.load("g1_29dof_rev_1_0", base="floating")
    swap = lambda name: name.replace("left", "*").replace("right", "left").replace("*", "right")  # noqa: E731
    image, (of_q, of_v) = robot.mirrored("xz", rename=swap), signs_of(robot, "xz")
    q, v = robot.random(0), np.random.default_rng(0).normal(size=robot.nv)
    assert image.joint("left_elbow_joint").lower == robot.joint("right_elbow_joint").lower
    plain = robot.mirrored()
    a = np.ones(robot.nv)
    tau = treesim.inverse_dynamics(robot, q, v, of_v * a)
    assert np.array_equal(treesim.inverse_dynamics(plain, of_q * q, of_v * v, a), of_v * tau)
    assert image.mirrored(rename=swap).reals.tolist() == robot.reals.tolist()
    assert {x.size for x in plain.visuals if x.kind == "mesh"} == {(1, -1, 1)}


def test_shapes_and_loops_are_mirrored():
    at = Placement(translation=(0.1, 0.2, 0.3))
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])
    shapes = [
        CollisionShape(1, at, "hull", vertices=points, link="a"),
        CollisionShape(1, at, "hull", file="a.stl", scale=(1, 2, 3)),
    ]  # fmt: skip
    bodies = [Body("a", 0, Joint("ja", "revolute")), Body("b", 0, Joint("jb", "revolute"))]
    visuals = [Visual(2, at, "mesh", (1, 1, 1), file="b.stl", color=(1, 0, 0, 1))]
    loops = [Loop("pin", "a", "b", type="revolute", axis=(0.6, 0.8, 0))]
    image = Tree("pair", bodies, shapes=shapes, visuals=visuals, loops=loops).mirrored("xz")
    assert image.shapes[0].vertices.tolist() == (points * [1, -1, 1]).tolist() and image.shapes[0].link == "a"
    assert (image.shapes[1].scale, image.shapes[1].file) == ((1, -2, 3), "a.stl")
    assert image.shapes[0].placement.translation.tolist() == [0.1, -0.2, 0.3]
    assert (image.visuals[0].size, image.visuals[0].color) == ((1, -1, 1), (1, 0, 0, 1))
    assert image.loops[0].axis.tolist() == [0.6, -0.8, 0]


def test_names_are_exchanged_everywhere():
    robot = treesim.load("panda").renamed({"panda_finger_joint1": "left", "panda_hand": "palm"})
    assert robot.joint("panda_finger_joint2").mimic.joint == "left" and "palm" in robot.frames
    assert "palm" in {x.link for x in robot.visuals} and {x.joints for x in robot.welds if x.link == "palm"} == {
        ("left", "panda_finger_joint2")
    }
    swapped = robot.renamed({"palm": "panda_link8", "panda_link8": "palm"}, kind="links")
    assert swapped.frame("palm").placement.matrix().tolist() == robot.frame("panda_link8").placement.matrix().tolist()
    longer = ARM.renamed(lambda name: f"left_{name}", kind="joints")
    assert longer.joint_names[0] == "left_shoulder_pan_joint" and longer.body_names == ARM.body_names
    assert np.array_equal(longer.reals, ARM.reals) and len(longer.welds) == len(ARM.welds)
    floating = treesim.load("solo12", base="floating").renamed(lambda name: f"left_{name}")
    assert floating.joint_names[:2] == ("root_joint", "left_FL_HAA") and floating.base == "floating"
    assert treesim.load(treesim.to_urdf(floating), base="floating").joint_names == floating.joint_names


@pytest.mark.parametrize(("edit", "kind", "message"), [
    (lambda: ARM.mirrored("zx"), UnknownNameError, "plane 'zx'"),
    (lambda: Tree("t", [OBLIQUE]).mirrored(), ModelError, "planar joint 'j' cannot be mirrored"),
    (lambda: ARM.renamed({"flange": "x"}), UnknownNameError, "name 'flange'"),
    (lambda: ARM.renamed({"tool0": "base"}), ModelError, "frame 'base' is defined twice"),
    (lambda: ARM.renamed({"elbow_joint": "root_joint"}), ModelError, "'elbow_joint' cannot be called 'root_joint'"),
    (lambda: ARM.renamed("x"), ArgumentError, "names must be a dictionary"),
    (lambda: ARM.renamed(lambda name: 3), ArgumentError, "new name of 'shoulder_link'"),
    (lambda: ARM.renamed({}, kind="bodies"), ArgumentError, "kind must be"),
])  # fmt: skip
def test_what_has_no_image_or_name_is_refused(edit, kind, message):
    with pytest.raises(kind, match=message):
        edit()
