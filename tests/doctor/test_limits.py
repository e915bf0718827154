"""Limits that cannot be meant."""

import pytest

import treesim
from tests.doctor.robots import joint, robot, solid


def reported(limits, kind="revolute"):
    text = robot(joint("hinge", "base", "rod", kind, more=f"<limit {limits}/>"), base="", rod=solid())
    return [one.code for one in treesim.check(text).findings]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ('lower="-1" upper="1" effort="9" velocity="1"', []),
        ('lower="0" upper="1" effort="9" velocity="1"', []),
        ('lower="1" upper="2"', ["U609"]),
        ('lower="-2" upper="-1"', ["U609"]),
        ('lower="0" upper="0"', ["U611"]),
        ('lower="1" upper="1"', ["U611"]),
        ('lower="-1" upper="1" effort="0" velocity="1"', ["U610"]),
        ('lower="-1" upper="1" effort="0" velocity="0"', ["U610"]),
    ],
)
def test_limits(limits, expected):
    assert reported(limits) == expected


def test_both_zeros_are_told_at_once():
    text = robot(joint("hinge", "base", "rod", more='<limit effort="0" velocity="0"/>'), base="", rod=solid())
    (found,) = treesim.check(text).findings
    assert "effort and velocity limits of 0" in found.message


def test_zero_limits_of_motion():
    limit = '<limit acceleration="0" deceleration="2" jerk="0"/>'
    text = robot(joint("hinge", "base", "rod", more=limit), base="", rod=solid())
    (found,) = treesim.check(text.replace("<robot", '<robot version="1.2"')).findings
    assert found.code == "U610" and "acceleration and jerk limits of 0" in found.message


@pytest.mark.parametrize(
    ("limits", "rpy", "expected"),
    [
        ('lower="-140" upper="140"', "0 0 0", ['lower="-2.44346" upper="2.44346"']),
        ('lower="0" upper="90"', "90 0 -180", ['lower="0" upper="1.5708"', 'rpy="1.5708 0 -3.14159"']),
        ('lower="-12.5664" upper="12.5664"', "0 0 6.2832", []),
        ('lower="-1e16" upper="1e16"', "0 0 -6.28", []),  # no limit
    ],
)
def test_angles_in_degrees(limits, rpy, expected):
    turned = f'<limit {limits}/></joint><joint name="flange" type="fixed"><origin rpy="{rpy}"/>'
    turned += '<parent link="rod"/><child link="tool"/>'
    text = robot(joint("hinge", "base", "rod", "revolute", more=turned), base="", rod=solid(), tool="")
    found = [one for one in treesim.check(text, strict=True).findings if one.severity == "error"]
    assert [(one.code, one.hint) for one in found] == [("U315", f"if in degrees, write {fix}") for fix in expected]
