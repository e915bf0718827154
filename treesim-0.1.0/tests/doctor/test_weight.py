"""Effort limits against weight: m g l for a pendulum that is held level."""

import pytest

import treesim
from tests.doctor.robots import joint, robot, solid

MASS, LENGTH = 2.0, 0.5
WEIGHT = 9.81 * MASS * LENGTH


def reported(effort, com="0.5 0 0", limits='lower="-0.1" upper="0.1"', kind="revolute"):
    limit = f'<limit {limits} effort="{effort}" velocity="1"/>'
    text = robot(joint("hinge", "base", "rod", kind, more=limit), base="", rod=solid(MASS, com))
    return [one for one in treesim.check(text).findings if one.code in ("U606", "U607")]


def test_a_level_rod_needs_mgl():
    assert reported(1.01 * WEIGHT) == []
    (found,) = reported(0.99 * WEIGHT)
    assert found.code == "U606" and found.element.endswith("/limit")
    assert f"requires {WEIGHT:.3g} N m" in found.message and "in the neutral pose" in found.message


def test_a_hanging_rod_is_too_heavy_where_its_limits_let_it_rise():
    (found,) = reported(0.5 * WEIGHT, "0 0 -0.5", 'lower="-1.5" upper="1.5"')
    assert found.code == "U607" and found.severity == "info" and "of 33 poses" in found.message
    assert reported(0.5 * WEIGHT, "0 0 -0.5", 'lower="-0.5" upper="0.5"') == [], "sin(0.5) is below one half"


@pytest.mark.parametrize("limits", ["", 'effort="0" velocity="0"'])
def test_no_limit_and_a_limit_of_zero_are_not_compared(limits):
    text = robot(joint("hinge", "base", "rod", more=f"<limit {limits}/>"), base="", rod=solid(MASS, "0.5 0 0"))
    assert not {"U606", "U607"} & {one.code for one in treesim.check(text).findings}


def test_slides_lift_newtons():
    limit = '<limit lower="0" upper="1" effort="19" velocity="1"/>'
    text = robot(joint("lift", "base", "car", "prismatic", "0 0 1", more=limit), base="", car=solid(MASS))
    (found,) = [one for one in treesim.check(text).findings if one.code == "U606"]
    assert "requires 19.6 N, but the effort limit is 19 N" in found.message
