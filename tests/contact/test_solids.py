"""Planes, boxes and grids of heights: several at once, and each against a plane where it is one."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, at, ball, cube, free_body, shape, simulate, turned


def groove(angle, mu=0.0):
    """Two planes that meet along y, each so far from level."""
    normals = ((np.sin(angle), 0, np.cos(angle)), (-np.sin(angle), 0, np.cos(angle)))
    return [treesim.Ground(normal=n, friction=mu) for n in normals]


@pytest.mark.parametrize("angle", [0.3, np.pi / 4, 1.2])
def test_a_ball_rests_in_a_groove(angle):
    """Without friction each side carries m g / (2 cos)."""
    robot = ball()
    start = at((0, 0, 0.1 / np.cos(angle)))
    world = treesim.World(robot, ground=groove(angle))
    run = simulate(world, start, duration=0.1)
    assert np.abs(run.v).max() < 1e-8
    stepper = treesim.Stepper(world, substeps=1)
    state = stepper.reset(start)
    for _ in range(20):
        state, _ = stepper.step(state)
    normals = state.contact[1:].reshape(-1, world.touching.stored_size)[:, 3] / 1e-3
    np.testing.assert_allclose(normals, G / (2 * np.cos(angle)), rtol=1e-7)


def test_a_ball_slides_along_a_groove_as_a_wedge():
    """Friction of a wedge: mu m g / cos(angle) against the motion; the ball's inertia keeps it from rolling."""
    angle, mu = np.pi / 4, 0.2
    robot = free_body(1.0, 1e6, shape("sphere", (0.1,)))
    world = treesim.World(robot, ground=groove(angle, mu))
    run = simulate(world, at((0, 0, 0.1 / np.cos(angle))), [0, 1.0, 0, 0, 0, 0], duration=0.2)
    t = 1e-3 * np.arange(1, 201)
    np.testing.assert_allclose(run.v[:, 1], 1 - mu * G / np.cos(angle) * t, rtol=0, atol=1e-6)


@pytest.mark.parametrize("robot", [ball(), cube()], ids=["ball", "cube"])
def test_the_top_of_a_box_is_a_plane(robot):
    q = at((0.05, 0.02, 0.4), turned((0.6, 0.8, 0), 0.5))
    v = [0.3, 0, 0, 1, 2, 3]
    on = [
        simulate(treesim.World(robot, ground=g), q, v, duration=0.4)
        for g in (treesim.Ground(height=0.1, friction=0.5), treesim.StaticBox((4, 4, 0.2), friction=0.5))
    ]
    np.testing.assert_allclose(on[1].q, on[0].q, rtol=0, atol=1e-9)
    assert on[0].solver_info[:, 3].max() > 0


@pytest.mark.parametrize("robot", [ball(), cube()], ids=["ball", "cube"])
def test_a_slope_made_of_heights_is_a_tilted_plane(robot):
    """C6 again: heights of a plane, over 9 x 9 points, and the ball crosses many triangles."""
    angle = 0.3
    R = turned((0, 1, 0), angle)
    x = (np.arange(41) - 20) * 0.1
    heights = np.repeat(-np.tan(angle) * x[:, None], 9, axis=1)
    grounds = (
        treesim.HeightField(heights, spacing=(0.1, 0.1), friction=0.2),
        treesim.Ground(normal=R[:, 2], friction=0.2),
    )
    q = at((-0.5, 0.03, 0.5 * np.tan(angle)) + 0.13 * R[:, 2], R)
    runs = [simulate(treesim.World(robot, ground=g), q, [0, 0.1, 0, 0, 0, 0], duration=0.8) for g in grounds]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-8)
    assert runs[1].q[-1, 0] > -0.2


def test_a_ball_falls_into_a_bowl_of_heights_and_stays():
    x = (np.arange(21) - 10) * 0.1
    heights = 0.5 * (x[:, None] ** 2 + x[None, :] ** 2)
    world = treesim.World(ball(), ground=treesim.HeightField(heights, friction=0.6))
    run = simulate(world, at((0.35, 0.22, 0.5)), duration=4.0)
    assert run.solver_info[:, 0].max() < 1e-4 and np.abs(run.q[:, :2]).max() < 0.6
    assert run.energy[-1] < run.energy[0] - 1.0 and run.solver_info[-1, 0] < 1e-4


def test_a_ball_leaves_the_edge_of_a_box_and_falls():
    world = treesim.World(ball(), ground=[treesim.StaticBox((1, 1, 0.5)), treesim.Ground(height=-0.25)])
    run = simulate(world, at((0.4, 0, 0.35)), [1.0, 0, 0, 0, 10.0, 0], duration=1.0)
    assert run.q[-1, 0] > 0.7 and run.q[-1, 2] == pytest.approx(-0.15, abs=1e-6)
    assert run.solver_info[:, 0].max() < 1e-4 and np.diff(run.energy).max() < 1e-6


def test_friction_of_each_surface_is_its_own():
    """A box slides from ice onto a rough slab, a millimetre lower: it keeps its speed on one, stops on the other."""
    slabs = [treesim.StaticBox((4, 1, 0.2), treesim.Placement(translation=(x, 0, z - 0.1)), friction=mu)
             for x, z, mu in ((-2, 0.0, 0.0), (2, -1e-3, 0.5))]  # fmt: skip
    run = simulate(treesim.World(cube(), ground=slabs), at((-0.3, 0, 0.05)), [1.0, 0, 0, 0, 0, 0], duration=1.0)
    assert run.v[200, 0] == pytest.approx(1.0, abs=1e-9) and np.abs(run.v[-1]).max() < 1e-9
    assert 0.0 < run.q[-1, 0] < 0.2


def test_bodies_feel_to_each_other_as_the_worlds_surface_says_and_not_as_the_ground():
    """A crate slides over a heavy slab that rests on ice: mu g of the two, whatever the ground's friction."""
    slab = treesim.free_body("slab", "box", (2, 2, 0.1), 1e6)
    crate = treesim.free_body("crate", "box", (0.1,) * 3, 1.0)
    world = treesim.World(
        slab, bodies=[crate], ground=treesim.Ground(friction=0.0), surface=treesim.Surface(friction=0.5)
    )
    run = simulate(world, np.r_[at((0, 0, 0.05)), at((0, 0, 0.15))], [0] * 6 + [1.0, 0, 0, 0, 0, 0], duration=0.1)
    assert run.v[-1, 6] == pytest.approx(1 - 0.5 * G * 0.1, rel=1e-5)


@pytest.mark.parametrize(("side", "aside"), [(0.1, 0.0), (0.3, 0.0), (0.3, 1e-6), (0.3, 1e-3)])
def test_stiffness_is_shared_by_the_points_of_each_shape(side, aside):
    """A crate of 1 kg sinks in by weight over stiffness, also one of the slab's size on all its corners."""
    slab = treesim.free_body("slab", "box", (0.3, 0.3, 0.1), 10.0)
    crate = treesim.free_body("crate", "box", (side, side, 0.1), 1.0)
    soft = treesim.Surface(stiffness=1e4, dissipation_time=0.02)
    world = treesim.World(slab, bodies=[crate], ground=treesim.Ground(), surface=soft)
    run = simulate(world, np.r_[at((0, 0, 0.05)), at((aside, 0, 0.15))], duration=1.0)
    assert 0.15 - run.q[-1, 9] == pytest.approx(G / 1e4, rel=1e-5)


@pytest.mark.parametrize("rule", RULES)
def test_a_ball_between_six_walls_keeps_its_energy_and_moves_as_a_triangle_wave(rule):
    """No friction, restitution 1, no gravity; both rules see the walls to v h at most, the midpoint exactly."""
    walls = [
        treesim.Ground(normal=n, height=-0.5, friction=0, restitution=1) for n in np.vstack([np.eye(3), -np.eye(3)])
    ]
    v = np.array([3.0, 2.0, 1.0])
    run = simulate(
        treesim.World(ball(), ground=walls),
        at((0, 0, 0)),
        [*v, 0, 0, 0],
        duration=3.0,
        integrator=rule,
        gravity=(0, 0, 0),
    )
    assert np.ptp(run.energy) < 1e-12
    way = 1e-3 * np.arange(1, 3001)[:, None] * v
    wave = 0.4 - np.abs((way + 0.4) % 1.6 - 0.8)
    close = 1e-9 if rule == "implicit_midpoint" else 30 * 3e-3  # Euler turns round within a step, some 12 times
    np.testing.assert_allclose(run.q[:, :3], wave, rtol=0, atol=close)
