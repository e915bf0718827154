"""Shapes that overlap in the neutral pose: how deep, and which pairs are none."""

import importlib.util

import pytest

import treesim
from tests.doctor.robots import joint, robot, shape, solid

BALL = solid() + shape('<sphere radius="0.1"/>')
NEEDS_COAL = pytest.mark.skipif(not importlib.util.find_spec("coal"), reason="hulls and cylinders meet by coal")


def reported(first, second, distance):
    text = robot(
        joint("one", "base", "first"), joint("two", "base", "second", xyz=f"{distance} 0 0"),
        base="", first=solid() + first, second=solid() + second,
    )  # fmt: skip
    return [one for one in treesim.check(text).findings if one.code == "U608"]


@pytest.mark.parametrize("with_coal", [True, False])
def test_spheres_overlap_by_the_sum_of_their_radii_less_the_distance(with_coal, monkeypatch):
    if not with_coal:
        monkeypatch.setattr("treesim.doctor.collision_shapes.importlib.util.find_spec", lambda name: None)
    elif not importlib.util.find_spec("coal"):
        pytest.skip("coal is not installed")
    sphere = shape('<sphere radius="0.1"/>')
    (found,) = reported(sphere, sphere, 0.15)
    assert found.message == "in the neutral pose links overlap: 'first' and 'second' by 50 mm"
    assert reported(sphere, sphere, 0.1995) == [], "less than 1 mm is a touch"
    assert reported(sphere, sphere, 0.25) == []


@NEEDS_COAL
def test_cylinders_overlap():
    cylinder = shape('<cylinder radius="0.1" length="0.5"/>')
    (found,) = reported(cylinder, cylinder, 0.18)
    assert "by 20 mm" in found.message


def test_without_coal_what_was_not_looked_at_is_told(monkeypatch):
    monkeypatch.setattr("treesim.doctor.collision_shapes.importlib.util.find_spec", lambda name: None)
    cylinder = shape('<cylinder radius="0.1" length="0.5"/>')
    text = robot(joint("one", "base", "x"), joint("two", "base", "y"), base="", x=solid() + cylinder, y=BALL)
    diagnosis = treesim.check(text)
    assert any("coal" in reason for reason in diagnosis.skipped)


def test_neighbours_may_overlap():
    text = robot(joint("one", "base", "x"), joint("two", "x", "y"), base="", x=BALL, y=BALL)
    assert "U608" not in [one.code for one in treesim.check(text).findings]
