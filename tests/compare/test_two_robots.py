"""Two descriptions of one robot: joints matched by name, whatever their order, links and frames."""

from __future__ import annotations

import numpy as np
import pytest
from lxml import etree

import treesim
from treesim import Placement
from treesim.compare import compare_robots
from treesim.compare.alignment import moved
from treesim.compare.description import read_description
from treesim.errors import PluginError, UnsupportedError
from treesim.urdf.origins import rpy_from_rotation

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.1 0 0.2" rpy="0.3 0 0"/><mass value="1"/>
    <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.01"/></inertial></link>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="1 0 0"/><dynamics damping="0.5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0.3 0" rpy="0.2 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="3"/></joint>
  <joint name="hold" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0 0.4"/></joint>
</robot>"""


def edited(*replacements):
    text = ARM
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def outcome(second, **options):
    return compare_robots(ARM, second, base="fixed", states=6, **options)


def kinds(found):
    return {(one.kind, one.owner) for one in found.causes.explanations}


def test_a_robot_is_itself():
    found = outcome(ARM)
    assert found.passed and "are the same robot" in found.summary and not found.causes.explanations
    assert found.to_dict()["passed"] is True


def test_links_may_have_other_names_and_joints_another_order():
    renamed = ARM.replace('"lower"', '"forearm"').replace('"upper"', '"humerus"')
    root = etree.fromstring(renamed)
    for joint in reversed(root.findall("joint")):
        root.append(joint)
    assert outcome(etree.tostring(root, encoding="unicode")).passed


def test_the_order_of_branches_does_not_count():
    description = read_description("a1", "floating")

    def turned(root):
        for joint in reversed(root.findall("joint")):
            root.append(joint)

    other = etree.tostring(description.edited(turned).root, encoding="unicode")
    assert treesim.load(other, base="floating").joint_names != description.robot.joint_names
    found = compare_robots("a1", other, states=4)
    assert found.passed, found.summary


def test_values_that_differ_are_told_with_both_lines():
    found = outcome(edited(('<mass value="1"/>', '\n\n<mass value="1.5"/>')))
    (cause,) = found.causes.explanations
    assert (cause.kind, cause.owner) == ("mass", "link 'lower'") and "1.5 instead of 1 kg" in cause.cause
    assert (cause.place, cause.other_place) == ("first <text>:5", "second <text>:7") and cause.effect > 0


def test_what_a_name_exists_for_is_named_so():
    assert kinds(outcome(edited(('<axis xyz="0 1 0"/>', '<axis xyz="0 -1 0"/>')))) == {
        ("axis_flipped", "joint 'elbow'")
    }
    assert kinds(outcome(edited((' rpy="0.3 0 0"', "")))) == {("inertia_not_rotated", "link 'lower'")}


def test_losses_and_limits_are_compared_and_losses_have_an_effect():
    found = outcome(edited(('damping="0.5"', 'damping="0.7"'), ('upper="2"', 'upper="2.5"')))
    assert not found.passed and kinds(found) == {("damping", "joint 'shoulder'"), ("upper", "joint 'elbow'")}
    damping, limit = found.causes.explanations
    assert 0.01 < damping.effect < 0.2 * 5 and limit.effect == 0.0


def test_springs_are_compared_and_have_an_effect():
    def sprung(**spring):
        return treesim.load(ARM).with_joint("elbow", **spring)

    assert not {"stiffness", "rest"} & {row.quantity for row in outcome(ARM).rows}
    first = sprung(stiffness=3.0, rest=0.2)
    assert compare_robots(first, first, base="fixed", states=2).passed
    found = compare_robots(first, sprung(stiffness=4.0, rest=0.5), base="fixed", states=6)
    causes = {cause.kind: cause for cause in found.causes.explanations}
    assert causes.keys() == {"spring", "rest"} and causes["spring"].effect > 0
    assert causes["spring"].cause == "the spring's stiffness is 4 instead of 3"
    assert causes["rest"].cause == "the spring's rest position is 0.5 instead of 0.2"
    assert not compare_robots(first, ARM, base="fixed", states=2).passed


def test_limits_of_motion_are_compared():
    assert not {"acceleration_limit", "jerk_limit"} & {row.quantity for row in outcome(ARM).rows}
    text = edited(("<limit ", '<limit acceleration="5" jerk="9" '))
    found = outcome(text)
    causes = {cause.kind: cause.cause for cause in found.causes.explanations}
    assert causes == {
        "acceleration_limit": "the acceleration limit is 5 instead of inf",
        "deceleration_limit": "the deceleration limit is 5 instead of inf",
        "jerk_limit": "the jerk limit is 9 instead of inf",
    }
    assert {row.quantity for row in found.rows if not row.passed} == causes.keys()


@pytest.mark.parametrize(
    ("angle", "cause"), [(0.3, ("inertia_not_rotated", "link 'lower'")), (0.2, ("rpy_ignored", "joint 'elbow'"))]
)
def test_quaternions_are_compared_with_angles(angle, cause):
    rpy, half = f'rpy="{angle} 0 0"', angle / 2
    turned = edited((rpy, f'quat_xyzw="{np.sin(half)} 0 0 {np.cos(half)}"')).replace("<robot", '<robot version="1.1"')
    assert outcome(turned).passed
    assert kinds(compare_robots(turned, edited((rpy, "")), base="fixed", states=6)) == {cause}


def test_joints_without_a_partner_are_listed_and_held():
    """A second robot that has a wrist besides, and one whose elbow is welded."""
    wrist = edited(('<joint name="hold" type="fixed">', '<joint name="hold" type="continuous">'))
    found = outcome(wrist)
    assert found.only_second == ("hold",) and not found.passed and all(row.passed for row in found.rows)
    found = compare_robots(wrist, ARM, base="fixed", states=4)
    assert found.only_first == ("hold",) and "joints that only first <text> has: hold" in found.summary


def test_a_joint_of_another_type_has_no_partner():
    found = outcome(edited(('name="elbow" type="revolute"', 'name="elbow" type="prismatic"')))
    assert found.only_first == found.only_second == ("elbow",)


def test_robots_that_share_nothing_are_refused():
    for base in ("fixed", "floating"):
        with pytest.raises(UnsupportedError, match="no joint of the same name"):
            compare_robots("ur5", ARM, base=base)


def with_frame_moved(text, link, place):
    """The same robot with another frame of one link: what hangs on it is written down from there."""
    root = etree.fromstring(text)
    inverse = place.inverse()

    def moved_origin(parent, before, after):
        origin = parent.find("origin")
        if origin is None:
            origin = etree.SubElement(parent, "origin")
        values = [[float(x) for x in origin.get(key, "0 0 0").split()] for key in ("xyz", "rpy")]
        found = before @ Placement.from_xyz_rpy(*values) @ after
        origin.set("xyz", " ".join(map(repr, found.translation.tolist())))
        origin.set("rpy", " ".join(map(repr, rpy_from_rotation(found.rotation))))

    for joint in root.iterfind("joint"):
        if joint.find("child").get("link") == link:
            moved_origin(joint, Placement(), place)
            axis = [float(x) for x in joint.find("axis").get("xyz").split()]
            joint.find("axis").set("xyz", " ".join(map(repr, (place.rotation.T @ axis).tolist())))
        elif joint.find("parent").get("link") == link:
            moved_origin(joint, inverse, Placement())
    moved_origin(root.find(f"link[@name='{link}']/inertial"), inverse, Placement())
    return etree.tostring(root, encoding="unicode")


@pytest.mark.parametrize("link", ["upper", "lower"])
def test_a_frame_that_lies_elsewhere_changes_no_motion(link):
    along = {"upper": (0.2, 0.0, 0.0), "lower": (0.0, -0.1, 0.0)}[link]  # the joint's axis stays where it is
    found = outcome(with_frame_moved(ARM, link, Placement.from_xyz_rpy(along, (0.4, -0.3, 0.9))))
    assert found.passed, found.summary
    assert list(found.frames) == [link] and not found.causes.explanations


def test_inertias_move_with_their_frames():
    inertia = treesim.Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25]))
    place = Placement.from_xyz_rpy((0.3, 0, -1), (0.1, 0.2, 0.3))
    values = {"mass": np.array([2.0]), "com": inertia.com[None], "inertia": inertia.rotational[None]}
    found, expected = moved(values, place.matrix()[None]), inertia.in_frame(place)
    np.testing.assert_allclose(found["com"][0], expected.com, atol=1e-15)
    np.testing.assert_allclose(found["inertia"][0], expected.rotational, atol=1e-15)


def test_an_engine_s_own_files_need_its_plugin(monkeypatch):
    monkeypatch.setattr(treesim.plugins, "_entry_points", lambda kind: {})
    with pytest.raises(PluginError, match="treesim-mujoco"):
        outcome("mujoco:arm.xml")
