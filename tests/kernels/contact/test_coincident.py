"""Corners of boxes that coincide are one contact each."""

import numpy as np
import pytest

import treesim

SIDE = 0.2


def first_step(shift, turned):
    """The contacts of two boxes of the same size on one another, the upper one shifted, in a first step."""
    boxes = [treesim.free_body(f"box{k}", "box", (SIDE,) * 3, 1.0) for k in range(2)]
    world = treesim.World(
        boxes[0], bodies=boxes[1:], ground=treesim.Ground(friction=0.5), surface=treesim.Surface(friction=0.5)
    )
    q = world.robot.neutral()
    q[2], q[9] = SIDE / 2, 1.5 * SIDE
    q[7] = shift
    if turned:
        q[10:14] = 0, 0, np.sqrt(0.5), np.sqrt(0.5)
    stepper = treesim.Stepper(world, 1e-3)
    return stepper.step(stepper.reset(q))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e-9, 1e-6, 1e-3])
def test_boxes_touch_in_four_points(shift, turned):
    """Both boxes find the four corners of the other: eight contacts, of which four would be redundant."""
    state, report = first_step(shift, turned)
    assert report.contact.count == 8, "four on the ground, four between the boxes"
    assert report.contact.residual < 1e-9
    assert np.abs(state.v).max() < 1e-9
