"""Corners of boxes that coincide are one contact each."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, free_body, shape
from tests.kernels.contact.test_near_pairs import State
from treesim.kernels.contact.coincident import EQUAL, are_opposite, drop_coincident, is_near
from treesim.kernels.contact.each_collision import OneState
from treesim.kernels.contact.near_pairs import list_near

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


def test_shapes_of_one_body_keep_their_contacts():
    """Two crates in one body stand side by side on a slab, and share two corners: each has four contacts of its own."""
    slab = treesim.free_body("slab", "box", (1.0, 1.0, 0.1), 10.0)
    halves = [shape("box", (0.2, 0.2, 0.2), treesim.Placement(translation=(x, 0, 0))) for x in (-0.1, 0.1)]
    world = treesim.World(
        slab, bodies=[free_body(1.0, 0.01, *halves)], ground=treesim.Ground(), surface=treesim.Surface()
    )
    q = world.robot.neutral()
    q[2], q[9] = 0.05, 0.2
    stepper = treesim.Stepper(world, 1e-3)
    _, report = stepper.step(stepper.reset(q))
    assert report.contact.count == 12, "four on the ground, eight on the slab"


def test_contacts_of_many_boxes_are_compared_with_those_of_the_same_two():
    """Eight boxes side by side and on each other, on a slab: what is left is what comparing all contacts leaves."""
    boxes = [treesim.free_body(f"box{k}", "box", (SIDE,) * 3, 1.0) for k in range(8)]
    world = treesim.World(boxes[0], bodies=boxes[1:], ground=treesim.StaticBox((2, 2, 0.2)))
    places = SIDE * np.array([(i, j, k + 1) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    state = State(world.robot, world.touching, np.concatenate([at(x) for x in places]))
    count = len(state.contacts(list_near, 1e-3, np.empty((0, 9)))[0])
    m, touch, expected = state.memory, state.touch, []
    for c in range(count):
        opposite = [k for k in expected if are_opposite(touch, m.pair[c], m.pair[k]) and is_near(m, c, k)]
        if not any(abs(m.gap[k] - m.gap[c]) < EQUAL for k in opposite):
            expected.append(c)
    slots = m.slot[expected].tolist()
    left = drop_coincident(OneState(touch, m), count)
    assert len(expected) < count and m.slot[:left].tolist() == slots
