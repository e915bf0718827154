"""Rotational inertias against the extents of shapes: what a distribution of mass within them can have."""

import pytest

import treesim
from tests.doctor.robots import codes, robot, shape, solid

A, B, C = 0.2, 0.3, 0.4
BOX = shape(f'<box size="{A} {B} {C}"/>')


def reported(moments):
    return treesim.check(robot(block=solid(2.0, moments=moments) + BOX), tiers=["physics"])


def moments_of(variances):
    x, y, z = (2.0 * variance for variance in variances)
    return y + z, x + z, x + y


def test_a_homogeneous_box_fits_in_itself():
    assert codes(reported(moments_of((A * A / 12, B * B / 12, C * C / 12)))) == []


def test_half_of_the_mass_at_either_end_is_the_most_that_fits():
    """The variance then is a quarter of the squared width, which is Popoviciu's bound."""
    assert codes(reported(moments_of((A * A / 4, B * B / 4, C * C / 4)))) == []
    (found,) = reported(moments_of((A * A / 4, 1.25 * B * B / 4, C * C / 4))).findings
    assert found.code == "U602" and "along (0, 1, 0)" in found.message and "0.3 m wide, allow 0.15 m" in found.message
    (found,) = reported(moments_of((A * A / 4, 4 * B * B / 4, C * C / 4))).findings
    assert found.hint == "the inertia is at least 4 times too large"


def test_axes_are_those_of_the_inertia():
    """The same box, turned: the wide direction of the mass lies across the shape's narrow one."""
    assert codes(reported(moments_of((C * C / 4, B * B / 12, A * A / 12)))) == ["U602"]


@pytest.mark.parametrize(("spread", "expected"), [(0.004, ["U603"]), (0.02, [])])
def test_a_point_is_noted(spread, expected):
    assert codes(reported(moments_of(3 * (spread**2,)))) == expected
