"""Edited trees move as their parts do, and have every part: of the whole trees that they are made of."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests.trees import random_tree
from treesim import Body, CollisionShape, Frame, Inertia, Joint, Loop, Mimic, Placement, Tree, Visual
from treesim.errors import ArgumentError, ModelError, UnknownNameError
from treesim.model.links import link_inertias

pytestmark = [pytest.mark.nojit, pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")]
TOLERANCE = 1e-12
seeds = st.integers(0, 10_000)
HERE = np.eye(4)
few = settings(max_examples=15, deadline=None)


def tree_of(seed, n=9, floating=False, loop=False):
    """Return a random tree, numbered not depth-first, with welds, mimic joints, frames, shapes, visuals and a loop."""
    rng, robot = np.random.default_rng(seed), random_tree(seed, n)
    bodies = list(robot.bodies)
    if floating:
        root = Body("carrier", 0, Joint("root_joint", "floating"), bodies[0].inertia)
        bodies = [root, *(replace(body, parent=body.parent + 1) for body in bodies)]
    for k in rng.choice(np.arange(floating, len(bodies)), 2, replace=False):
        joint = bodies[k].joint
        bodies[k] = replace(bodies[k], joint=Joint(joint.name, "fixed", placement=joint.placement))
    hinges = [k for k, body in enumerate(bodies) if body.joint.nv == 1]
    for k in hinges[1:2]:
        mimic = Mimic(bodies[hinges[0]].joint.name, -0.7, 0.2)
        bodies[k] = replace(bodies[k], joint=replace(bodies[k].joint, mimic=mimic))
    frames = [replace(frame, body=frame.body + floating) for frame in list(robot.frames.values())[robot.n_bodies :]]
    at = frames[0].placement
    shapes = [
        CollisionShape(k, at, "sphere", size=(0.1,), link=name)
        for k, name in enumerate(["", *(body.name for body in bodies)])
    ]
    visuals = [Visual(k, at, "box", (0.1, 0.2, 0.3), link=shape.link) for k, shape in enumerate(shapes)]
    parts = {"frames": frames, "shapes": shapes, "visuals": visuals, "gravity": (0.5, -1.0, -9.0)}
    whole = Tree(f"random_{seed}", bodies, **parts)
    if not loop:
        return whole
    first = whole.frame("tool_1")
    second = next(frame.name for frame in frames if whole.frame(frame.name).body != first.body)
    return whole._with(loops=[Loop("pin", "tool_1", second, type="fixed")])


def links_of(robot):
    return link_inertias(robot.bodies, robot.welds, robot.frames)


def forces_of_links(robot, q, v, a, links):
    """Return inverse dynamics from Newton's and Euler's equations of each link alone, in the link's axes."""
    tau = np.asarray(robot.armature) * a
    for name, inertia in links.items():
        J = treesim.frame_jacobian(robot, q, name, reference="local")
        acceleration = treesim.frame_acceleration(robot, q, v, a, name, reference="local")
        linear, angular = acceleration[:3], acceleration[3:]
        omega, c, inertial = (J @ v)[3:], inertia.com, inertia.rotational
        field = treesim.frame_pose(robot, q, name)[:3, :3].T @ robot.gravity
        f = inertia.mass * (linear + np.cross(angular, c) + np.cross(omega, np.cross(omega, c)) - field)
        n = inertial @ angular + np.cross(omega, inertial @ omega) + np.cross(c, f)
        tau = tau + J.T @ np.concatenate([f, n])
    return tau


def check_dynamics(robot, links, seed=0):
    """Mass matrix and bias forces are those of links with given inertias, at the links' frames."""
    rng = np.random.default_rng(seed)
    q, v = robot.random(seed), rng.normal(size=robot.nv)
    for a in (np.zeros(robot.nv), rng.normal(size=robot.nv)):
        expected = forces_of_links(robot, q, v, a, {name: links[name] for name in links if robot.frame(name).body})
        found = treesim.inverse_dynamics(robot, q, v, a)
        np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * max(1, np.abs(expected).max(initial=0)))


def positions_in(whole, robot, q, others):
    """Return q of a tree whose joints are at those of an edited one, or else at `others`."""
    full, where = robot.expand(q), robot.spanning.q_index
    moving = {name: full[where[name]] if name in where else others[name] for name in whole.q_index}
    return whole.configuration(moving)


def check_frames(robot, q, whole, p, base=HERE, rename=lambda name: name):
    """Frames of two trees have the same poses and Jacobians; base: pose of the second tree's base in the first."""
    columns = [
        (robot.v_index[rename(name)], where) for name, where in whole.v_index.items()
        if rename(name) in robot.v_index and (rename(name) != "root_joint" or base is HERE)
    ]  # fmt: skip
    turn = np.kron(np.eye(2), base[:3, :3])
    for name in whole.frames:
        if rename(name) in robot.frames:
            pose = base @ treesim.frame_pose(whole, p, name)
            np.testing.assert_allclose(treesim.frame_pose(robot, q, rename(name)), pose, rtol=0, atol=TOLERANCE * 10)
            J, expected = (treesim.frame_jacobian(*x) for x in ((robot, q, rename(name)), (whole, p, name)))
            for ours, theirs in columns:
                np.testing.assert_allclose(J[:, ours], turn @ expected[:, theirs], rtol=0, atol=TOLERANCE * 10)


def parts_of(robot):
    """Return the names and numbers of all parts of a tree."""
    links = {*robot.body_names, *(weld.link for weld in robot.welds)}
    joints = {*robot.joint_names, *(weld.joint for weld in robot.welds if weld.joint)}
    drawn = [sorted((x.link, x.kind) for x in parts) for parts in (robot.shapes, robot.visuals)]
    return links, joints, {*robot.frames}, drawn, len(robot.loops), robot.gravity.tolist()


@few
@given(seeds, st.booleans())
def test_reduced_trees_move_as_those_whose_joints_are_held(seed, floating):
    whole, rng = tree_of(seed, floating=floating), np.random.default_rng(seed)
    p = whole.random(seed)
    names = rng.choice([*whole.q_index], len(whole.q_index) // 2, replace=False).tolist()
    others = {name: p[where] for name, where in whole.q_index.items()}
    robot = whole.reduced({name: others[name] for name in names})
    q = robot.random(seed + 1)
    check_dynamics(robot, links_of(whole), seed)
    check_frames(robot, q, whole, positions_in(whole, robot, q, others))
    assert parts_of(robot) == parts_of(whole) and not {*names} & {*robot.joint_names}
    assert [weld.inertia for weld in whole.reduced({}).welds] == [weld.inertia for weld in whole.welds]


@few
@given(seeds, st.booleans())
def test_trees_without_a_link_keep_the_others(seed, floating):
    whole = tree_of(seed, floating=floating)
    whole = whole._with(bodies=[replace(body, joint=replace(body.joint, mimic=None)) for body in whole.bodies])
    links = links_of(whole)
    link = [name for name in links if name != "carrier"][seed % (len(links) - floating)]
    robot, part = whole.without(link), whole.subtree(link, base=("fixed", "floating")[seed % 2])
    others, q = {name: whole.neutral()[where] for name, where in whole.q_index.items()}, robot.random(seed)
    check_dynamics(robot, {name: x for name, x in links.items() if name in robot.frames})
    check_frames(robot, q, whole, positions_in(whole, robot, q, others))
    check_dynamics(part, {name: x for name, x in links.items() if name in part.frames})
    ours, theirs = parts_of(robot), parts_of(part)
    assert ours[0] | theirs[0] == parts_of(whole)[0] and not ours[0] & theirs[0]
    root = {"root_joint"} if seed % 2 else set()
    own = (
        {whole.joint_names[whole.frame(link).body - 1]}
        if link in whole.links
        else {w.joint for w in whole.welds if w.link == link}
    )
    assert ours[1] | theirs[1] | own == parts_of(whole)[1] | root
    for k in (0, 1):
        assert sorted(ours[3][k] + theirs[3][k]) == parts_of(whole)[3][k]
    pose = np.linalg.inv(treesim.frame_pose(whole, whole.neutral(), link))
    assert part.frame(link).placement.translation.tolist() == [0, 0, 0]
    check_frames(part, part.neutral(), whole, whole.neutral(), pose)


@few
@given(seeds, st.sampled_from(["fixed", "floating"]), st.sampled_from(["fixed", "joint"]))
def test_attached_trees_move_as_both(seed, base, how):
    host, rng = tree_of(seed, 6, loop=True), np.random.default_rng(seed)
    other = tree_of(seed + 1, 6, floating=True, loop=True)
    if base == "fixed":
        other = other.reduced({"root_joint": other.random(seed)[other.q_index["root_joint"]]})
    at = [*host.frames][seed % len(host.frames)]
    placement = Placement.from_xyz_rpy(rng.normal(size=3), rng.normal(size=3))
    joint = "fixed" if how == "fixed" else Joint("mount", "spherical", placement=Placement(translation=(0, 0, 0.1)))
    robot = host.attach(other, at=at, placement=placement, prefix="other_", joint=joint)
    links = links_of(host) | {f"other_{name}": x for name, x in links_of(other).items()}
    check_dynamics(robot, links, seed)
    q = robot.random(seed)
    p = positions_in(host, robot, q, {})
    check_frames(robot, q, host, p)
    full, where = robot.expand(q), robot.spanning.q_index
    root = {"root_joint": [0, 0, 0, 0, 0, 0, 1]} if base == "floating" else {}
    r = other.configuration({x: full[where[f"other_{x}"]] for x in other.q_index if x != "root_joint"} | root)
    pose = treesim.frame_pose(host, p, at) @ placement.matrix()
    if how == "joint":  # turns about the origin of the root link
        root = other.frame("carrier").placement.matrix() if base == "fixed" else HERE
        mount = Placement(rotation_of(full[where["mount"]]), (0, 0, 0.1)).matrix()
        pose = pose @ np.block([[HERE[:, :3], mount[:, 3:]]]) @ root
        pose[:3, :3] = pose[:3, :3] @ mount[:3, :3]
        pose = pose @ np.linalg.inv(root)
    check_frames(robot, q, other, r, pose, lambda name: f"other_{name}")
    assert robot.nv == host.nv + other.nv - 6 * (base == "floating") + 3 * (how == "joint")
    for k in (0, 2):
        assert len(parts_of(robot)[k]) == len(parts_of(host)[k]) + len(parts_of(other)[k])
    ends = [(prefix + x.name, prefix + x.first, prefix + x.second)
            for prefix, tree in (("", host), ("other_", other)) for x in tree.loops]  # fmt: skip
    assert [(loop.name, loop.first, loop.second) for loop in robot.loops] == ends and len(ends) == 2
    assert len(robot.shapes) == len(host.shapes) + len(other.shapes) and robot.gravity is not other.gravity


def rotation_of(quaternion):
    x, y, z, w = quaternion
    r = np.array([x, y, z])
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * across + 2 * (np.outer(r, r) - r @ r * np.eye(3))


ARM = treesim.load("ur5")
PANDA = treesim.load("panda")


def same_to_the_bit(robot, base="fixed"):
    again = treesim.load(treesim.to_urdf(robot), base=base)
    assert np.array_equal(again.spanning.reals, robot.spanning.reals) and again.joint_names == robot.joint_names
    for label in ("link", "joint", "parent", "joints"):
        assert [getattr(x, label) for x in again.welds] == [getattr(x, label) for x in robot.welds]
    for ours, theirs in zip((*again.welds, *again.bodies), (*robot.welds, *robot.bodies), strict=True):
        a, b = (x.inertia if hasattr(x, "link") else x.own or x.inertia for x in (ours, theirs))
        assert (a.mass, a.com.tolist(), a.rotational.tolist()) == (b.mass, b.com.tolist(), b.rotational.tolist())


def test_edited_robots_are_written_and_read_back_to_the_bit():
    hand, talos = PANDA.subtree("panda_hand"), treesim.load("talos_reduced", base="floating")
    same_to_the_bit(hand)
    same_to_the_bit(ARM.attach(hand, at="tool0", placement=Placement(translation=(0, 0, 0.1)), prefix="hand_"))
    same_to_the_bit(ARM.attach(hand, at="tool0", joint=Joint("spin", "revolute", axis=(0, 1, 0), lower=-1, upper=2)))
    same_to_the_bit(PANDA.without("panda_hand").reduced({"panda_joint3": 0.0}))
    same_to_the_bit(talos.reduced(dict.fromkeys(talos.joint_names[1::4], 0.0)), "floating")
    same_to_the_bit(talos.subtree("arm_left_3_link", base="floating"), "floating")
    turned = ARM.reduced({"elbow_joint": 0.3})  # to rotations that no angles have to the last bit
    again = treesim.load(treesim.to_urdf(turned))
    np.testing.assert_allclose(again.reals, turned.reals, rtol=0, atol=1e-15)
    same_to_the_bit(again)


def test_a_humanoid_with_hands_has_all_parts():
    robot, hand = treesim.load("g1_29dof_rev_1_0", base="floating"), PANDA.subtree("panda_hand")
    for side in ("left", "right"):
        robot = robot.attach(hand, at=f"{side}_wrist_yaw_link", prefix=f"{side}_")
    same_to_the_bit(robot, "floating")
    assert robot.nv == 35 + 2 and robot.mimic_joints == ("left_panda_finger_joint2", "right_panda_finger_joint2")
    q = robot.random(0)
    pose = treesim.frame_pose(robot, q, "left_wrist_yaw_link")
    np.testing.assert_allclose(treesim.frame_pose(robot, q, "left_panda_hand"), pose, atol=1e-14)
    wrist = robot.frame("left_wrist_yaw_link").body
    assert [x.link for x in robot.visuals if x.body == wrist][-1] == "left_panda_hand"


def test_an_added_frame_shape_and_inertia():
    at, half = Placement(translation=(0, 0, 0.1)), Placement.from_xyz_rpy((0, 0, 0), (0, 0, np.pi))
    robot = ARM.with_frame("tip", "tool0", at).with_frame("end", "tip", half.matrix())
    expected = ARM.frame("tool0").placement @ at @ half
    assert np.array_equal(robot.frame("end").placement.matrix(), expected.matrix())
    robot = robot.with_shape("tip", "sphere", (0.1,), placement=at).with_shape("tip", "box", (1, 2, 3), visual=True)
    robot = robot.with_shape("tip", "mesh", (1, 1, -1), file="a.stl").with_shape(
        "tip", "mesh", file="a.stl", visual=True
    )
    assert [(x.kind, x.link, x.body) for x in robot.shapes[-2:]] == [("sphere", "tip", 6), ("hull", "tip", 6)]
    assert robot.shapes[-1].scale == (1, 1, -1) and robot.visuals[-1].size == (1, 1, 1)
    assert [(x.kind, x.link) for x in robot.visuals[-2:]] == [("box", "tip"), ("mesh", "tip")]
    load = Inertia(2.0, (0, 0, 0.1), np.diag([1e-3, 2e-3, 3e-3]))
    for link in ("tool0", "wrist_3_link", "base_link"):
        changed = robot.with_inertia(link, load)
        check_dynamics(changed, links_of(ARM) | {link: load})
        assert changed.with_inertia(link, links_of(ARM)[link]).reals.tolist() == ARM.reals.tolist()


def test_changes_of_a_joint():
    robot = ARM.with_joint("elbow_joint", damping=0.5, lower=-1.0, axis=(0, 0, 1))
    joint = robot.joint("elbow_joint")
    assert (joint.damping[0], robot.lower[2], joint.axis.tolist()) == (0.5, -1.0, [0, 0, 1])
    assert joint.upper == ARM.joint("elbow_joint").upper and robot.welds == ARM.welds
    assert ARM.with_joint("elbow_joint", type="fixed").n_bodies == 5
    assert ARM.with_joint("elbow_joint", acceleration_limit=3.0).deceleration_limit[2] == 3.0
    assert ARM.with_joint("elbow_joint", type="spherical", lower=-np.inf, upper=np.inf).nq == 9
    assert PANDA.with_joint("panda_finger_joint2", mimic=None).nv == PANDA.nv + 1


def four_bar():
    """Two links on the base, joined at their tips where both are upright."""
    bodies = [
        Body(name, parent, Joint(f"hinge_{name}", "revolute", axis=(0, 1, 0)), Inertia(1.0))
        for name, parent in (("a", 0), ("b", 0), ("c", 1))
    ]
    frames = [Frame("tip_c", 3, Placement(translation=(0, 0, 1))), Frame("tip_b", 2, Placement(translation=(0, 0, 1)))]
    return Tree("linkage", bodies, frames=frames, loops=[Loop("pin", "tip_c", "tip_b")])


def test_loops_are_kept_dropped_with_a_note_or_refused():
    robot = four_bar()
    assert robot.reduced({"hinge_c": 0.0}).loops[0].name == "pin"
    rigid = robot.reduced({"hinge_a": 0.0, "hinge_b": 0.0, "hinge_c": 0.0})
    assert not rigid.loops and "loop 'pin' is dropped" in rigid.notes[-1]
    with pytest.raises(ModelError, match=r"loop 'pin' is not closed: 'tip_c' and 'tip_b' .* 0.0998 apart"):
        robot.reduced({"hinge_a": 0.1, "hinge_b": 0.0, "hinge_c": 0.0})
    with pytest.raises(ModelError, match="loop 'pin' joins 'tip_c' and 'tip_b', but 'tip_b' is removed"):
        robot.without("b")
    with pytest.raises(ModelError, match="but 'tip_b' is removed"):
        robot.subtree("a")
    assert not robot._with(loops=()).without("tip_b").loops


NAN = np.diag([1.0, 1.0, 1.0, 1.0]) * np.nan
REFUSED = {
    "unknown parent": (lambda: ARM.with_frame("tip", "flange7"), UnknownNameError, "flange7"),
    "a frame's name": (lambda: ARM.with_frame("tool0", "base_link"), ModelError, "frame 'tool0' is defined twice"),
    "a pose of NaN": (lambda: ARM.with_frame("tip", "tool0", NAN), ModelError, "placement of frame 'tip'"),
    "a pose": (lambda: ARM.with_frame("tip", "tool0", np.eye(3)), ModelError, "placement of frame 'tip' must be"),
    "a shape": (lambda: ARM.with_shape("tool0", "cone", (1.0,)), ModelError, "kind of a collision shape"),
    "a size": (lambda: ARM.with_shape("tool0", "box", (1.0,)), ModelError, "size of a box must be 3"),
    "an inertia": (lambda: ARM.with_inertia("tool0", 2.0), ArgumentError, "inertia of link 'tool0'"),
    "no link": (lambda: ARM.with_frame("tip", "tool0").with_inertia("tip", Inertia()), ModelError, "'tip' is no link"),
    "an argument": (lambda: ARM.with_joint("elbow_joint", dampng=1.0), UnknownNameError, "damping"),
    "a name": (lambda: ARM.with_joint("elbow_joint", name="x"), UnknownNameError, "argument of a joint 'name'"),
    "a joint": (lambda: ARM.with_joint("elbow"), UnknownNameError, "elbow_joint"),
    "a cycle": (
        lambda: PANDA.with_joint("panda_finger_joint1", mimic=Mimic("panda_finger_joint2")), ModelError, "in a cycle"),
    "a mimic joint": (
        lambda: PANDA.reduced({"panda_finger_joint2": 0.0}), ModelError, "lock 'panda_finger_joint1', which it mimics"),
    "positions": (lambda: ARM.reduced(["elbow_joint"]), ArgumentError, "positions must be a dictionary"),
    "a position": (lambda: ARM.reduced({"elbow_joint": [1.0, 2.0]}), ArgumentError, "position of joint 'elbow_joint'"),
    "NaN": (lambda: ARM.reduced({"elbow_joint": np.nan}), ArgumentError, "'elbow_joint' is not finite"),
    "a mimicked joint": (
        lambda: PANDA.without("panda_leftfinger"), ModelError, "'panda_finger_joint2' mimics 'panda_finger_joint1'"),
    "all links": (lambda: ARM.without("world"), ModelError, "'ur5' without 'world' has no links"),
    "a frame": (lambda: ARM.with_frame("tip", "tool0").subtree("tip"), ModelError, "frame 'tip' is no link"),
    "a base": (lambda: ARM.subtree("forearm_link", base="free"), ArgumentError, "base must be"),
    "names": (lambda: ARM.attach(ARM, at="tool0"), ModelError, "both trees have links 'base', 'base_link'.* prefix"),
    "a new joint's name": (
        lambda: ARM.attach(PANDA, at="tool0", joint=Joint("elbow_joint", "revolute")), ModelError, "'elbow_joint'"),
    "another place": (lambda: ARM.attach(PANDA, at="palm"), UnknownNameError, "palm"),
    "another tree": (lambda: ARM.attach("panda", at="tool0"), ArgumentError, "other must be a Tree"),
    "another joint": (lambda: ARM.attach(PANDA, at="tool0", joint="hinge"), ArgumentError, 'joint must be "fixed" or'),
    "two roots": (
        lambda: ARM.attach(four_bar(), at="tool0", joint=Joint("j", "revolute")), ModelError, "several root links"),
    "a placement of NaN": (lambda: ARM.attach(PANDA, at="tool0", placement=NAN), ModelError, "placement"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_kept_is_refused_by_name(case):
    edit, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        edit()


def test_functions_of_names_that_fail_are_named():
    with pytest.raises(ArgumentError, match=r"the function of names fails for '.*': invalid literal for int"):
        tree_of(0).renamed(int)
    with pytest.raises(ArgumentError, match="the function of names fails"):
        tree_of(0).mirrored(rename=int)
