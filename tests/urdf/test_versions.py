"""Versions of URDF: 1.1 has quaternions and capsules, 1.2 limits of acceleration, deceleration and jerk."""

import warnings

import numpy as np
import pytest

import treesim
from tests.urdf_versions import FEW, rewritten
from treesim.errors import UrdfError, UrdfWarning
from treesim.model.joints import VECTORS
from treesim.urdf import installed_robots, load

RPY, QUATERNION = 'rpy="0 0 0"', 'quat_xyzw="0 0 0.6 0.8"'
TURN = [[0.28, -0.96, 0], [0.96, 0.28, 0], [0, 0, 1]]
CAPSULE = '</inertial><collision><geometry><capsule radius="0.1" length="0.4"/></geometry></collision>'
LIMIT = 'velocity="3" acceleration="5" deceleration="4" jerk="60"'
PATHS = {entry.name: entry.path for entry in installed_robots()}


@pytest.fixture
def versioned(arm):
    """Return the arm's text of a version, with a piece of it replaced."""

    def text(version, old="", new=""):
        return arm(old, new).replace("<robot", f'<robot version="{version}"')

    return text


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_the_same_robot_in_each_version(arm, versioned, version):
    tree = load(versioned(version))
    assert not tree.notes and np.array_equal(tree.reals, load(arm()).reals)


@pytest.mark.parametrize("version", ["1", "1.3", "2.0", "1.0.0", " 1.1", "", "one"])
def test_other_versions_are_refused(versioned, refusal, version):
    (found,) = refusal(versioned(version)).findings
    assert (found.code, found.line) == ("U108", 1) and '"1.0", "1.1", "1.2"' in found.hint


FEATURES = [
    (RPY, QUATERNION, "1.1", "<origin quat_xyzw>"),
    ('rpy="0 0 0"/>\n      <mass', f"{QUATERNION}/>\n      <mass", "1.1", "<origin quat_xyzw>"),
    ("</inertial>", CAPSULE, "1.1", "<capsule>"),
    ('velocity="3"', 'velocity="3" acceleration="5"', "1.2", "<limit acceleration>"),
    ('velocity="3"', 'velocity="3" deceleration="5"', "1.2", "<limit deceleration>"),
    ('velocity="3"', 'velocity="3" jerk="5"', "1.2", "<limit jerk>"),
]


@pytest.mark.parametrize(("old", "new", "first", "name"), FEATURES)
def test_features_of_a_later_version_are_read_with_a_warning(versioned, refusal, old, new, first, name):
    reference = load(versioned("1.2", old, new))
    for version in ("1.0", "1.1"):
        text = versioned(version, old, new)
        if version >= first:
            assert [note for note in load(text).notes if note.code == "U416"] == []
            continue
        with pytest.warns(UrdfWarning, match="U416"):
            tree = load(text)
        (note,) = (note for note in tree.notes if note.code == "U416")
        assert note.message.startswith(f"{name} needs URDF {first}, and the file has version {version}")
        assert note.line == text[: text.index(new)].count("\n") + 1
        assert np.array_equal(tree.reals, reference.reals) and len(tree.shapes) == len(reference.shapes)
        assert "U416" in {found.code for found in refusal(text, strict=True).findings}


def test_a_feature_of_many_elements_has_one_warning(arm):
    with pytest.warns(UrdfWarning, match=r"<origin quat_xyzw> \(2 elements\) needs URDF 1.1"):
        load(arm().replace(RPY, QUATERNION))


def test_quaternions_of_joints_and_inertials(versioned):
    robot = load(versioned("1.1", RPY, QUATERNION))
    np.testing.assert_allclose(robot.bodies[0].joint.placement.rotation, TURN, rtol=0, atol=1e-15)
    turned = load(versioned("1.1", f'-0.5" {RPY}', f'-0.5" {QUATERNION}'))
    moments = np.array(TURN) @ np.diag([0.2, 0.2, 0.01]) @ np.transpose(TURN)
    np.testing.assert_allclose(turned.bodies[0].inertia.rotational, moments, rtol=0, atol=1e-15)
    assert np.array_equal(
        load(versioned("1.1").replace(RPY, 'quat_xyzw="0 0 0 -1"')).reals, load(versioned("1.1")).reals
    )


@pytest.mark.parametrize("kind", ["visual", "collision"])
def test_quaternions_of_shapes(versioned, kind):
    shape = f'<{kind}><origin xyz="1 0 0" {QUATERNION}/><geometry><box size="1 2 3"/></geometry></{kind}>'
    robot = load(versioned("1.1", "</inertial>", "</inertial>" + shape))
    (found,) = robot.visuals if kind == "visual" else robot.shapes
    np.testing.assert_allclose(found.placement.rotation, TURN, rtol=0, atol=1e-15)
    assert found.placement.translation.tolist() == [1, 0, 0] and {note.code for note in robot.notes} <= {"U504"}


@pytest.mark.parametrize("wrong", ['rpy="0 0 0" quat_xyzw="0 0 0 1"', 'quat_xyzw="0 0 0"', 'quat_xyzw="0 0 0 0"'])
def test_a_shape_with_a_wrong_quaternion_is_left_out(versioned, wrong):
    shape = f'<visual><origin {wrong}/><geometry><box size="1 2 3"/></geometry></visual>'
    with pytest.warns(UrdfWarning, match="U501"):
        assert not load(versioned("1.1", "</inertial>", "</inertial>" + shape)).visuals


@pytest.mark.parametrize("scale", [1e-11, 0.5, 1 + 2e-6, 3, 1e30])
def test_a_quaternion_of_another_length_is_normalised_with_a_warning(versioned, refusal, scale):
    numbers = " ".join(repr(scale * x) for x in (0, 0, 0.6, 0.8))
    shape = '<visual><origin quat_xyzw="{}"/><geometry><box size="1 2 3"/></geometry></visual>'
    for old, new in ((RPY, 'quat_xyzw="{}"'), ("</inertial>", "</inertial>" + shape)):
        text = versioned("1.1", old, new.format(numbers))
        with pytest.warns(UrdfWarning, match="U415"):
            robot = load(text)
        place = robot.visuals[0].placement if robot.visuals else robot.bodies[0].joint.placement
        np.testing.assert_allclose(place.rotation, TURN, rtol=0, atol=1e-15)
        assert [found.code for found in refusal(text, strict=True).findings] == ["U415"]


def test_a_rounded_quaternion_has_no_warning(versioned):
    numbers = " ".join(f"{(1 + 9e-7) * x:.12f}" for x in (0, 0, 0.6, 0.8))
    assert not load(versioned("1.1", RPY, f'quat_xyzw="{numbers}"')).notes


BOUNDS = 'lower="-1" upper="2" '


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize(
    ("new", "missing"), [('lower="-1" ', "upper"), ('upper="2" ', "lower"), ("", "lower and no upper")]
)
def test_version_1_2_requires_position_limits(versioned, refusal, kind, new, missing):
    for version in ("1.0", "1.1"):
        with pytest.warns(UrdfWarning, match=f"U405.*has no {missing} limit"):
            load(versioned(version, BOUNDS, new).replace("revolute", kind))
    (found,) = refusal(versioned("1.2", BOUNDS, new).replace("revolute", kind)).findings
    assert (found.code, found.line) == (
        "U417",
        8,
    ) and f"({kind}) has no {missing} limit, which URDF 1.2" in found.message


def test_version_1_2_requires_the_element_limit(versioned, refusal):
    limit = f'<limit {BOUNDS}effort="10" velocity="3"/>'
    (found,) = refusal(versioned("1.2", limit)).findings
    assert (found.code, found.line) == ("U417", 3)
    assert not load(versioned("1.2", limit).replace("revolute", "continuous")).notes


def test_effort_and_velocity_are_optional(versioned):
    for version in ("1.0", "1.1", "1.2"):
        robot = load(versioned(version, ' effort="10" velocity="3"'))
        assert not robot.notes and robot.effort_limit[0] == robot.velocity_limit[0] == np.inf


def test_crossed_limits_are_repaired_to_none_in_each_version(versioned, refusal):
    for version in ("1.0", "1.2"):
        text = versioned(version, 'lower="-1"', 'lower="3"')
        assert [found.code for found in refusal(text).findings] == ["U404"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UrdfWarning)
            robot = load(text, repair="limits")
        assert (robot.lower[0], robot.upper[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("name", ["acceleration", "deceleration", "jerk"])
@pytest.mark.parametrize(
    ("value", "code"), [("-1", "U304"), ("inf", "U303"), ("nan", "U303"), ("2 rad/s2", "U302"), ("", "U301")]
)
def test_limits_of_motion_that_are_refused(versioned, refusal, name, value, code):
    (found,) = refusal(versioned("1.2", 'velocity="3"', f'velocity="3" {name}="{value}"')).findings
    assert (found.code, found.line) == (code, 8) and name in found.message


def test_limits_of_motion_are_the_numbers_of_the_file(versioned):
    robot = load(versioned("1.2", 'velocity="3"', LIMIT))
    assert (robot.acceleration_limit[0], robot.deceleration_limit[0], robot.jerk_limit[0]) == (5, 4, 60)
    alone = load(versioned("1.2", 'velocity="3"', 'acceleration="0.1"'))
    assert (alone.acceleration_limit[0], alone.deceleration_limit[0], alone.jerk_limit[0]) == (0.1, 0.1, np.inf)
    none = load(versioned("1.2", 'velocity="3"', 'deceleration="1e30" jerk="2e31"'))
    assert none.acceleration_limit[0] == none.deceleration_limit[0] == none.jerk_limit[0] == np.inf


def test_loops_take_quaternions():
    text = (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="i" type="continuous"><parent link="a"/><child link="b"/></joint>'
        '<joint name="j" type="continuous"><parent link="a"/><child link="c"/></joint>'
        '<loop_joint name="pin" type="fixed"><link1 link="b" {}/><link2 link="c"/></loop_joint></robot>'
    )
    for version in ("1.0", "1.1"):  # no version of URDF has loops
        found = treesim.check(text.format(QUATERNION).replace("<robot", f'<robot version="{version}"'))
        np.testing.assert_allclose(found.robot.frame("pin_link1").placement.rotation, TURN, rtol=0, atol=1e-15)
        assert not {"U415", "U416"} & {one.code for one in found.findings}
    for wrong, code in (('quat_xyzw="0 0 0 0"', "U402"), (f"{RPY} {QUATERNION}", "U302"), ('quat_xyzw=""', "U302")):
        with pytest.raises(UrdfError, match=code):
            load(text.format(wrong))


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
@pytest.mark.parametrize("name", FEW)
def test_installed_robots_in_each_version(name, version):
    if name not in PATHS:
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UrdfWarning)
        before, after = load(PATHS[name]), load(rewritten(PATHS[name], version))
    for names in ("body_names", "joint_names", "frame_names"):
        assert getattr(after, names) == getattr(before, names)
    tolerance = 0 if version == "1.0" else 1e-14 * np.abs(before.spanning.reals).max()
    np.testing.assert_allclose(after.spanning.reals, before.spanning.reals, rtol=0, atol=tolerance)
    for label in VECTORS:
        assert np.array_equal(getattr(after, label), getattr(before, label))
    for part in ("visuals", "shapes"):
        for ours, theirs in zip(getattr(after, part), getattr(before, part), strict=True):
            assert (ours.body, ours.kind, ours.size) == (theirs.body, theirs.kind, theirs.size)
            np.testing.assert_allclose(ours.placement.matrix(), theirs.placement.matrix(), rtol=0, atol=2e-15)
