"""Centres of mass against the hull of shapes."""

import pytest

import treesim
from tests.doctor.robots import codes, joint, robot, shape, solid

BOX = shape('<box size="0.2 0.2 0.2"/>')


def reported(com, *parts, **links):
    return treesim.check(robot(*parts, block=solid(1.0, com) + BOX, **links), tiers=["physics"])


@pytest.mark.parametrize("com", ["0 0 0", "0.099 0.099 -0.099", "0.11 0 0"])
def test_inside_or_nearly_so_is_passed(com):
    assert codes(reported(com)) == []


def test_outside_is_told_in_the_link_s_axes():
    (found,) = reported("0.3 0 0").findings
    assert found.code == "U604" and found.link == "block"
    assert "(0.3, 0, 0)" in found.message and "0.2 m outside" in found.message


def test_shapes_between_which_the_centre_lies_count_together():
    """A ring's centre is not within the ring."""
    ends = [shape('<box size="0.02 0.2 0.2"/>', xyz) for xyz in ("-0.1 0 0", "0.1 0 0")]
    assert codes(treesim.check(robot(ring=solid() + "".join(ends)), tiers=["physics"])) == []


def test_what_is_fixed_to_the_link_counts_with_it():
    flange = joint("flange", "block", "tool", "fixed", xyz="0.4 0 0")
    assert codes(reported("0.3 0 0", flange, tool=BOX)) == []
    far = BOX + solid(1.0, "0.7 0 0")
    assert "U604" in codes(reported("0.3 0 0", flange, tool=far)), "the centre of both is at 0.7"
