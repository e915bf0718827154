"""What viewers are given to draw is sound, whatever meshes are called and wherever joints are."""

import os

import numpy as np
import pytest

from tests.fuzz.mutators import FILES
from treesim import Body, Inertia, Joint, Placement, Tree
from treesim.model.tree import Visual
from treesim.viewing.protocols import drawables, skeleton


def arm(visuals=(), place=(0, 0, 1.0)):
    joints = [Joint("a", "revolute"), Joint("b", "revolute", placement=Placement(translation=np.array(place)))]
    bodies = [Body(joint.name, i, joint, Inertia(1.0, np.array(place))) for i, joint in enumerate(joints)]
    return Tree("r" * 10_000, bodies, visuals=visuals)


def test_meshes_that_no_file_can_be_called_give_one_warning():
    files = [file for file in FILES if not os.path.isfile(file)] + ["x" * 1000 + str(k) for k in range(1000)]
    with pytest.warns(UserWarning, match="sticks are drawn in their place") as caught:
        drawn = drawables(arm([Visual(1, Placement(), "mesh", (1.0, 1.0, 1.0), file=file) for file in files]))
    assert len(caught) == 1 and len(str(caught[0].message)) < 1000
    assert {visual.body for visual in drawn} == {1} and "mesh" not in {visual.kind for visual in drawn}


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e160, 1e300])
def test_sticks_point_the_right_way_however_far_joints_are_apart(scale):
    direction = np.array([3.0, 0, -4.0]) / 5
    sticks = [visual for visual in skeleton(arm(place=tuple(scale * direction))) if visual.kind == "cylinder"]
    assert len(sticks) == (2 if scale > 1e-9 else 0)
    for stick in sticks:
        assert np.abs(stick.placement.rotation[:, 2] - direction).max() < 1e-15
        assert stick.size[1] == pytest.approx(scale)


@pytest.mark.parametrize(("length", "sticks"), [(0.95e-9, 0), (1.05e-9, 2)])
def test_joints_at_one_place_have_no_stick_between_them(length, sticks):
    shapes = skeleton(arm(place=(0, 0, length)))
    assert sum(shape.kind == "cylinder" for shape in shapes) == sticks
