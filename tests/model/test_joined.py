"""Merged trees: every part of every tree is there."""

import pytest

import treesim
from treesim.model.joined import joined

pytestmark = [pytest.mark.nojit, pytest.mark.filterwarnings("ignore::treesim.UrdfWarning")]


def test_lines_notes_and_own_inertias_of_later_trees_are_kept():
    first, second = treesim.load("ur5"), treesim.load("talos_reduced", base="floating")
    both = joined([first, second])
    assert [body.line for body in both.bodies] == [body.line for body in (*first.bodies, *second.bodies)]
    assert [body.own for body in both.bodies] == [body.own for body in (*first.bodies, *second.bodies)]
    assert any(body.own for body in second.bodies) and all(body.line for body in second.bodies)
    assert second.notes and both.notes == (*first.notes, *second.notes)
    assert len(both.welds) == len(first.welds) + len(second.welds)


def test_spanning_trees_keep_the_welds():
    robot = treesim.load("panda")
    assert robot.mimic_joints and robot.welds and robot.spanning.welds == robot.welds
