"""Predicates beyond the rules' examples: boundaries, and volumes in closed form."""

import math

import pytest
from treesim_importers import predicates as p
from treesim_importers import readings
from treesim_importers.description import describe
from treesim_importers.examples import ARM, ARM_INERTIAL, SOUND, TOOL_INERTIAL, second_joint

INERTIA = 'ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"'


def arm(text):
    return next(link for link in describe(text).links if link.get("name") == "arm")


@pytest.mark.parametrize(
    ("entries", "impossible"),
    [
        (INERTIA.replace('izz="0.03"', 'izz="0.05"'), False),  # a plate: A + B = C
        (INERTIA.replace('izz="0.03"', 'izz="0.0500000001"'), False),  # as files with few digits have it
        (INERTIA.replace('izz="0.03"', 'izz="0.051"'), True),
        (INERTIA.replace('ixx="0.02"', 'ixx="-0.02"'), True),
        (INERTIA.replace('ixy="0"', 'ixy="0.1"'), True),  # indefinite by its products
        ('ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"', False),
    ],
)
def test_inertias_that_no_rigid_body_has(entries, impossible):
    assert p.impossible_inertia(arm(SOUND.replace(INERTIA, entries))) is impossible


@pytest.mark.parametrize(
    ("geometry", "volume"),
    [
        ('<box size="0.1 0.2 0.3"/>', 0.006),
        ('<sphere radius="0.1"/>', 4 / 3 * math.pi * 1e-3),
        ('<cylinder radius="0.1" length="0.2"/>', math.pi * 2e-3),
        ('<capsule radius="0.1" length="0.2"/>', math.pi * 2e-3 + 4 / 3 * math.pi * 1e-3),
    ],
)
def test_shapes_weigh_a_thousand_kilograms_for_each_cubic_metre(geometry, volume):
    text = SOUND.replace(ARM, f"{ARM}<collision><geometry>{geometry}</geometry></collision>")
    assert p.mass_of_shapes(arm(text)) == pytest.approx(1000 * volume, rel=1e-14)


def test_the_mass_of_a_mesh_is_not_known():
    text = SOUND.replace(ARM, f'{ARM}<collision><geometry><mesh filename="x.stl"/></geometry></collision>')
    assert math.isnan(p.mass_of_shapes(arm(text)))


@pytest.mark.parametrize(
    ("xyz", "skew"), [("0 1 0", False), ("0 1.0000001 0", False), ("0 1.1 0", True), ("0 0 0", False)]
)
def test_axes_of_another_length_than_one(xyz, skew):
    joint = describe(SOUND.replace('<axis xyz="0 1 0"/>', f'<axis xyz="{xyz}"/>')).joints[0]
    assert p.skew_axis(joint) is skew


def test_readings_name_the_lines_of_the_elements():
    found = readings(SOUND.replace('mass value="2"', 'mass value="2kg"'), ["mujoco"])
    (place,) = next(each.places for each in found if each.rule.code == "MJ02")
    assert (place.line, place.name) == (10, "link 'arm': <mass>")


ZERO = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'


def test_a_massless_frame_between_two_links_loses_all_behind_it_in_gazebo():
    """base - hinge - arm - weld - tool - wheel: the massless tool is lumped, and the wheel behind it is lost."""
    wheel = (
        '<joint name="axle" type="continuous"><parent link="tool"/><child link="wheel"/></joint>'
        f'<link name="wheel">{TOOL_INERTIAL}</link></robot>'
    )
    text = SOUND.replace(TOOL_INERTIAL, "").replace("</robot>", wheel)
    found = next(each for each in readings(text, ["gazebo"]) if each.rule.code == "GZ09")
    assert [place.name for place in found.places] == ["link 'tool'"]
    assert "nv 2 -> 1; 2 bodies fewer: 'tool', 'wheel'; -0.5 kg" in found.effect


def test_lumping_divides_by_zero_only_while_the_parent_has_no_mass():
    def refused(first, second):
        """Return whether the arm is refused: massless, with two links fixed to it in the order of the joints' names."""
        parts = [
            f'<joint name="{joint}" type="fixed"><parent link="arm"/><child link="{link}"/></joint><link name="{link}">'
            f'<inertial><mass value="{mass}"/>{ZERO}</inertial></link>'
            for joint, link, mass in (("a", "one", first), ("b", "two", second))
        ]
        text = (
            SOUND.replace(ARM_INERTIAL, "").replace(TOOL_INERTIAL, "").replace("</robot>", "".join(parts) + "</robot>")
        )
        return "GZ08" in [each.rule.code for each in readings(text, ["gazebo"])]

    assert refused(0, 1) and not refused(1, 0) and not refused(1, 1)


def test_joints_are_out_of_the_alphabet_by_their_own_names_and_on_one_link_only():
    def codes(joint, child):
        ((old, new),) = second_joint(joint, child)
        return [each.rule.code for each in readings(SOUND.replace(old, new), ["pinocchio"])]

    assert "PI15" in codes("elbow", "zeta") and "PI15" not in codes("wrist", "aaa")


ORIGIN, LIMIT = '<origin xyz="0 0 0.2"/>', '<limit lower="-1" upper="1" effort="10" velocity="3"/>'
BOTH = ORIGIN.replace("/>", ' rpy="0 0 0" quat_xyzw="0 0 0 1"/>')
REFUSED_FROM = [  # what urdfdom refuses from a version of URDF on, or up to a version
    (ORIGIN, BOTH, ("1.1", "1.2")),
    (ORIGIN, ORIGIN.replace("/>", ' quat_xyzw="0 0 1"/>'), ("1.1", "1.2")),
    (ORIGIN, ORIGIN.replace("/>", ' quat_xyzw="0 0 0 0"/>'), ()),
    (LIMIT, LIMIT.replace('lower="-1" ', ""), ("1.2",)),
    (LIMIT, LIMIT.replace('"-1"', '"2"'), ("1.2",)),
    (LIMIT, LIMIT.replace("/>", ' acceleration="-5"/>'), ("1.2",)),
    (LIMIT, LIMIT.replace("/>", ' jerk="inf"/>'), ("1.2",)),
    (LIMIT, LIMIT.replace("/>", ' deceleration="5"/>'), ()),
    (LIMIT, '<limit lower="-1" upper="1"/>', ("1.0", "1.1")),
    (LIMIT, "", ("1.0", "1.1", "1.2")),
    (LIMIT, LIMIT, ("1", "1.3", "2.0")),
]


@pytest.mark.parametrize(("old", "new", "versions"), REFUSED_FROM)
def test_what_urdfdom_refuses_depends_on_the_version(old, new, versions):
    pinocchio = pytest.importorskip("pinocchio")
    for version in {"1.0", "1.1", "1.2", *versions}:
        text = SOUND.replace(old, new, 1).replace("<robot", f'<robot version="{version}"')
        found = readings(text, ["pinocchio"])
        assert any(one.rule.action == "refuses" for one in found) == (version in versions), version
        try:
            pinocchio.buildModelFromXML(text)
        except ValueError:
            assert version in versions
        else:
            assert version not in versions


def test_features_of_later_versions_are_lost():
    quaternion = ORIGIN.replace("/>", ' quat_xyzw="0 0 0.6 0.8"/>')
    for version, codes in (("1.0", ["PI08", "PI21"]), ("1.1", ["PI08"])):
        text = SOUND.replace(ORIGIN, quaternion).replace("<robot", f'<robot version="{version}"')
        assert [one.rule.code for one in readings(text, ["pinocchio"])] == codes
        assert [one.rule.code for one in readings(text, ["mujoco"])][-1] == "MJ23"
