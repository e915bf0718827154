"""What a world with a ground cannot be, and says so."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import at, ball, free_body, pendulum, shape
from treesim.contact.tables import CAPACITY


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: treesim.Ground(friction=-1), "friction must be a number, 0 or more, got -1"),
        (lambda: treesim.Ground(friction=np.nan), "friction must be"),
        (lambda: treesim.Ground(friction="ice"), "friction must be a number, 0 or more, got 'ice'"),
        (lambda: treesim.Ground(restitution=1.1), r"restitution must be a number, 0 ... 1, got 1.1"),
        (lambda: treesim.Ground(stiffness=0), "stiffness must be positive"),
        (lambda: treesim.Ground(stiffness=-1.0), "stiffness must be"),
        (lambda: treesim.Ground(dissipation_time=-0.1), "dissipation_time must be"),
        (lambda: treesim.Ground(normal=(0, 0, 0)), "normal must be a direction"),
        (lambda: treesim.Ground(normal=(0, 1)), "normal must be 3 finite numbers"),
        (lambda: treesim.Ground(height=np.inf), "height must be a number, -1e.09 ... 1e.09, got inf"),
        (lambda: treesim.StaticBox((1, 1, 0)), "size must be three positive lengths"),
        (lambda: treesim.StaticBox((1, 1)), "size must be 3 finite numbers"),
        (lambda: treesim.HeightField(np.zeros((1, 5))), r"heights must be finite numbers \(nx, ny\), two or more"),
        (lambda: treesim.HeightField([[0.0, np.nan], [0, 0]]), "heights must be finite"),
        (lambda: treesim.HeightField(np.zeros((2, 2)), spacing=(0.1, 0)), "spacing must be two positive lengths"),
        (lambda: treesim.World(ball(), ground=3), "ground must be a sequence of Ground or StaticBox or .*, got 3"),
        (lambda: treesim.World(ball(), ground=[treesim.Ground(), "floor"]), r"ground\[1\] must be .*, got 'floor'"),
        (lambda: treesim.World(pendulum(), ground=treesim.Ground()), "'pendulum' has nothing to touch the ground with"),
        (lambda: stepper(integrator="rk4"), "integrator 'rk4' does not simulate contact: take 'implicit_midpoint' or"),
        (lambda: stepper(contact_solver="psg"), "unknown contact solver 'psg': did you mean 'pgs'"),
        (lambda: stepper(contact_solver=3), "contact_solver must be a name or a ContactSolver, got 3"),
        (lambda: stepper().reset(at((0, 0, -1.0))), r"q0 has link 'sphere' 1.1 m inside Ground: start from"),
        (lambda: stepper().reset([at((0, 0, 1)), at((0, 0, 0))]), r"q0\[1\] has link 'sphere' 0.1 m inside"),
        (lambda: treesim.Simulation(world(), integrator="rk4"), "'rk4' does not simulate contact"),
        (lambda: treesim.Simulation(world(), contact_solver="psg"), "unknown contact solver"),
        (lambda: treesim.Simulation(world()).run(0.1, at((0, 0, -1.0))), "1.1 m inside Ground"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(treesim.TreesimError, match=message):
        call()


def world():
    return treesim.World(ball(), ground=treesim.Ground())


def stepper(**options):
    return treesim.Stepper(world(), **options)


SLAB = treesim.Placement(translation=(0, 0, -0.5))


@pytest.mark.parametrize("floor", [treesim.Ground(), treesim.StaticBox((4, 4, 1), SLAB, name="slab")])
def test_what_is_too_deep_is_told_where_to_start(floor):
    moved, joints = "treesim.standing.* floating base", "the base is fixed, so other joint positions"
    hand = shape("sphere", (0.05,), treesim.Placement(translation=(1, 0, 0)))
    swings, falls = pendulum()._with(shapes=(hand,)), ball(0.05)
    for robot, q, advice in ((swings, [0.5], joints), (falls, at((0, 0, -0.2)), moved)):
        with pytest.raises(
            treesim.ArgumentError, match=f"inside .*start from {'another q0: ' * (robot is swings)}{advice}"
        ):
            treesim.Simulation(treesim.World(robot, ground=floor)).run(0.1, q)
    both = treesim.World(swings, ground=floor, bodies=[falls])  # each advice is that for the link that is inside
    for q, advice in (([0.5, *at((5, 0, 1))], joints), ([-0.5, *at((0, 0, -0.2))], moved)):
        with pytest.raises(treesim.ArgumentError, match=advice):
            treesim.Simulation(both).run(0.1, q)


def test_shallow_overlaps_start():
    assert stepper().reset(at((0, 0, 0.085))).q[2] == 0.085


def test_more_contacts_than_there_was_room_for_at_first_all_count():
    places = [treesim.Placement(translation=(0.1 * (i % 12), 0.1 * (i // 12), 0)) for i in range(CAPACITY + 8)]
    robot = free_body(1.0, 1.0, *(shape("sphere", (0.05,), place) for place in places))
    made = treesim.Stepper(treesim.World(robot, ground=treesim.Ground()), substeps=1)
    state, report = made.step(made.reset(at((0, 0, 0.05))))
    assert int(report.contact.count) == CAPACITY + 8 and int(report.contact.left_out) == 0
    assert abs(state.v[2]) < 1e-7
