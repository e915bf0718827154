"""Settings of Bullet that make a comparison fail are recognised."""

from __future__ import annotations

import pytest

from treesim.compare import explain

PybulletAdapter = pytest.importorskip("treesim_pybullet.adapter", reason="needs pybullet").PybulletAdapter

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


@pytest.mark.parametrize(
    ("robot", "base", "most"),
    [("panda", "fixed", "at most 1 N m"), ("ur5", "fixed", "at most 1 N m"), ("a1", "floating", "at most 0.1")],
)
def test_motors_left_on(robot, base, most):
    """Motors act with maximum force in some states, or stop every joint, as on a1's light legs."""
    causes = explain(robot, PybulletAdapter(motors=True), base=base)
    (found,) = causes.explanations
    assert causes.complete and found.kind == "motor" and most in found.cause


def test_inertias_of_bullets_own():
    causes = explain("panda", PybulletAdapter(boxes=True), base="fixed")
    (found,) = causes.explanations
    assert causes.complete and (found.kind, found.owner) == ("inertia_of_box", "11 links")
