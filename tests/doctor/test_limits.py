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
