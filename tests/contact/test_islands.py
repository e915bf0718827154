"""Islands in reports and warnings: names and numbers of bodies that contacts connect."""

import numpy as np
import pytest

import treesim
from treesim.contact.unsolved import warn_of_step
from treesim.errors import ContactWarning, UnsupportedError
from treesim.kernels.contact.layout import INFO

DT = 1e-3


def stacked(*heights, robots=()):
    """World of stacks of boxes, and its configuration; robots stand apart."""
    boxes = [treesim.free_body(f"{s}{k}", "box", (0.2,) * 3, 1.0) for s, n in enumerate(heights) for k in range(n)]
    first, *others = (*robots, *boxes)
    world = treesim.World(first, bodies=others, ground=treesim.Ground())
    q = world.robot.neutral()
    places = [(2.0 * s + 2, 0, 0.1 + 0.2 * k) for s, n in enumerate(heights) for k in range(n)]
    q[len(q) - 7 * len(boxes) :].reshape(-1, 7)[:, :3] = places
    return world, q


def test_islands_have_the_names_of_their_bodies():
    world, q = stacked(2, 1, 3)
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset(q))
    assert report.contact.islands == (("00", "01"), ("10",), ("20", "21", "22"))
    assert report.contact.island_count == 3


def test_bodies_in_the_air_are_no_islands():
    world, q = stacked(2, 1)
    q[-5] = 3.0
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset(q))
    assert report.contact.islands == (("00", "01"),) and report.contact.island_count == 1


def test_a_robot_is_one_island():
    robot = treesim.load("solo12", base="floating")
    world, q = stacked(1, robots=[robot])
    q[: robot.nq] = treesim.standing(robot, robot.neutral())
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset(q))
    assert report.contact.islands == (robot.body_names, ("00",))
    alone = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()), DT)
    _, report = alone.step(alone.reset(q[: robot.nq]))
    assert report.contact.islands == (robot.body_names,) and report.contact.island_count == 1


def test_batches_count_islands_and_do_not_name_them():
    world, q = stacked(2, 1)
    high = q.copy()
    high[-5] = 3.0
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset(np.array([q, high])))
    assert report.contact.island_count.tolist() == [2, 1]
    with pytest.raises(UnsupportedError, match="one by one"):
        _ = report.contact.islands


def test_a_warning_names_the_island():
    world, q = stacked(2, 1)
    stepper = treesim.Stepper(world, DT)
    _, report = stepper.step(stepper.reset(q))
    contact, names = report.contact, world.robot.body_names
    info = contact._diagnostics
    info[INFO.residual], info[INFO.island] = 1e-3, 2
    with pytest.warns(ContactWarning, match="largest residual in the island of '10'"):
        warn_of_step(contact.solver_info, contact.wrench_array, names, contact.worst_islands)
    info[INFO.components] = 1
    with pytest.warns(ContactWarning) as found:
        warn_of_step(contact.solver_info, contact.wrench_array, names, contact.worst_islands)
    assert "island" not in str(found[0].message)
