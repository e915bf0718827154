"""Seams of static boxes that lie flush stop nothing, and steps between boxes that do not, do."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, ball, cube, free_body, quaternion, shape, simulate, turned
from tests.kernels.contact.test_collision import contacts
from treesim.kernels.contact.box_internal_edges import FLUSH


def slabs(step=0.0, thickness=0.2, **surface):
    """Two slabs that meet at x = 0, the second higher by `step`."""
    places = [(x, 0, z - thickness / 2) for x, z in ((-1, 0.0), (1, step))]
    return [treesim.StaticBox((2, 1, thickness), treesim.Placement(translation=x), **surface) for x in places]


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_a_cube_slides_over_a_seam_as_over_a_plane(friction, turn):
    q, v = at((-0.2, 0.02, 0.05), turned((0, 0, 1), turn)), turned((0, 0, 1), -turn) @ [2.0, 0, 0]
    runs = [
        simulate(treesim.World(cube(), ground=ground), q, [*v, 0, 0, 0], duration=0.25)
        for ground in (slabs(friction=friction), treesim.Ground(friction=friction))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert runs[0].q[-1, 0] > 0.15


def test_a_ball_rolls_over_a_seam_as_over_a_plane():
    q, v = at((-0.1, 0.02, 0.1)), [1.0, 0.1, 0, -1.0, 10.0, 0]  # it rolls without sliding
    runs = [
        simulate(treesim.World(ball(), ground=ground), q, v, duration=0.25)
        for ground in (slabs(friction=0.5), treesim.Ground(friction=0.5))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert runs[0].q[-1, 0] > 0.1


@pytest.mark.parametrize("height", [0.01, 0.1])
def test_a_step_between_boxes_stops_a_cube(height):
    run = simulate(treesim.World(cube(), ground=slabs(height, friction=0.0)), at((-0.1, 0, 0.05)), [0.5, 0, 0, 0, 0, 0],
                   duration=0.15)  # fmt: skip
    assert front_corner(run).max() < 1e-4 and run.solver_info[:, 0].max() < 1e-4


def front_corner(run):
    """How far the lower front edge of a cube has come, which tips over what is low."""
    turn = 2 * np.arctan2(run.q[:, 4], run.q[:, 6])
    return run.q[:, 0] + 0.05 * (np.cos(turn) - np.sin(turn))


def test_a_box_on_a_slab_stops_what_slides_there():
    """Its lower border lies on the slab: nothing covers the face above it."""
    slab = treesim.StaticBox((4, 1, 0.2), treesim.Placement(translation=(0, 0, -0.1)), friction=0.0)
    block = treesim.StaticBox((0.2, 1, 0.02), treesim.Placement(translation=(0.1, 0, 0.01)), friction=0.0)
    run = simulate(
        treesim.World(cube(), ground=[slab, block]), at((-0.1, 0, 0.05)), [0.5, 0, 0, 0, 0, 0], duration=0.15
    )
    assert front_corner(run).max() < 1e-4


def test_four_boxes_that_meet_in_a_corner_are_one_floor():
    places = [(x, y, -0.1) for x in (-1, 1) for y in (-1, 1)]
    floor = [treesim.StaticBox((2, 2, 0.2), treesim.Placement(translation=x), friction=0.1) for x in places]
    q, v = at((-0.15, -0.12, 0.05)), [2.0, 1.6, 0, 0, 0, 0]
    runs = [
        simulate(treesim.World(cube(), ground=ground), q, v, duration=0.2)
        for ground in (floor, treesim.Ground(friction=0.1))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)
    assert (runs[0].q[-1, :2] > 0.1).all()


@pytest.mark.parametrize("lean", [1e-4, -1e-4])
@pytest.mark.parametrize(("step", "carries"), [(0.9 * FLUSH, False), (1.1 * FLUSH, True), (1e-5, True)])
def test_the_edge_of_a_step_carries_a_cube_that_leans_over_it(step, carries, lean):
    """The side of the higher box is covered only up to the height of the lower one."""
    floor = [
        treesim.StaticBox((1, 1, 0.2), treesim.Placement(translation=(0.5 * side, 0, -0.1 - step * (side > 0))))
        for side in (-1, 1)
    ]
    found = contacts(cube(), floor, at((0, 0, 0.05), turned((0, 1, 0), lean)))
    on_edge = (np.abs(found.point[:, 0]) < 1e-3) & (found.pair == 0)
    assert on_edge.sum() == 2 * (carries or lean < 0)  # leaning away from the seam, the edge is no internal one


@pytest.mark.parametrize("lean", [1e-4, 0.0, -1e-4])
@pytest.mark.parametrize("step", [0.01, -0.01])
def test_a_plate_keeps_its_contacts_on_an_edge_away_from_a_higher_box(lean, step):
    """Its normal leans to the higher box, at whose side the contacts are not."""
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.045, 0.045) for z in (-0.01, 0.01)]
    plate = free_body(1.0, 5e-3, shape("hull", (), vertices=corners))
    places = [treesim.Placement(np.eye(3), (0.075, y, z)) for y, z in ((-0.075, -0.1), (0.075, step - 0.1))]
    ground = [treesim.StaticBox((0.15, 0.15, 0.2), place, name=name) for place, name in zip(places, "ab", strict=True)]
    turn = turned((0, 1, 0), -0.05) @ turned((1, 0, 0), lean)  # only the edge at x = 0 touches
    q = np.r_[turn @ (0, 0, 0.01 - 1e-5) + (0, -0.075, 0), quaternion(turn)]
    stepper = treesim.Stepper(treesim.World(plate, ground=ground), 1e-3, substeps=1)
    points = stepper.step(stepper.reset(q))[1].contact.points
    wanted = [(0, -0.12, 0), (0, -0.03, 0)]
    found = points["position"][np.argsort(points["position"][:, 1])]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.sort(points["gap"]), -1e-5 - 0.045 * abs(lean) * np.array([1, -1]), rtol=0, atol=1e-6)
