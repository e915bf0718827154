"""Bullet's settings that spoil a comparison are named as what they are."""

from __future__ import annotations

import pytest
from treesim_pybullet.adapter import PybulletAdapter

from treesim.compare import explain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_with_the_right_settings_nothing_differs():
    assert explain("panda", PybulletAdapter(), base="fixed").explanations == ()


@pytest.mark.parametrize(
    ("robot", "base", "owner"), [("panda", "fixed", "link 'panda_link7'"), ("a1", "floating", "9 links")]
)
def test_merged_links(robot, base, owner):
    causes = explain(robot, PybulletAdapter(merge=True), base=base)
    (found,) = causes.explanations
    assert causes.complete and (found.kind, found.owner) == ("merged_unturned", owner)
    assert found.effect > 0.01


@pytest.mark.parametrize("robot", ["panda", "ur5"])
def test_motors_left_on(robot):
    causes = explain(robot, PybulletAdapter(motors=True), base="fixed")
    (found,) = causes.explanations
    assert causes.complete and found.kind == "motor" and "at most 1 N m" in found.cause
