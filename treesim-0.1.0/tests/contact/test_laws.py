"""Coulomb's and Signorini's laws in motion, against closed forms, under both rules that know contact."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, at, ball, cube, free_body, shape, simulate, turned, world_velocity

LEFT = 1e-5  # m: of an overlap

SLOPE = np.arctan(0.5)


def on_slope(robot, mu, angle, height):
    """A world whose ground falls along x, and the configuration of a body that lies on it."""
    R = turned((0, 1, 0), angle)
    return treesim.World(robot, ground=treesim.Ground(friction=mu, normal=R[:, 2])), at(height * R[:, 2], R)


def box():
    return free_body(10.0, 0.1, shape("box", (0.2, 0.2, 0.2)))


@pytest.mark.parametrize("rule", RULES)
def test_a_box_on_a_slope_sticks_above_its_friction_and_slides_below(rule):
    """C1, C2: tan of the slope is 0.5; acceleration g (sin - mu cos), which both rules integrate exactly."""
    world, q = on_slope(box(), 0.501, SLOPE, 0.1)
    stuck = simulate(world, q, integrator=rule)
    assert np.abs(stuck.v).max() < 1e-9 and np.abs(stuck.q[-1, :3] - q[:3]).max() < 1e-11
    for mu, speed in ((0.499, 8.774331e-3), (0.3, 1.754866)):
        world, q = on_slope(box(), mu, SLOPE, 0.1)
        slid = simulate(world, q, integrator=rule)
        assert speed == pytest.approx(G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), rel=1e-6)
        assert np.linalg.norm(slid.v[-1, :3]) == pytest.approx(G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), abs=1e-8)


@pytest.mark.parametrize("rule", RULES)
def test_a_sliding_cube_is_not_lifted_and_stops_where_it_should(rule):
    """C3: 6 m/s, mu 0.5, v0^2 / (2 mu g); the midpoint's positions are exact up to the stop within its last step."""
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.5))
    run = simulate(world, at((0, 0, 0.05)), [6.0, 0, 0, 0, 0, 0], duration=1.5, integrator=rule)
    distance, lag = 36 / (2 * 0.5 * G), 6.0 * 5e-4  # Euler's positions are behind by half a step
    assert np.abs(run.q[:, 2] - 0.05).max() < 1e-9 and np.abs(run.q[:, 3:6]).max() < 1e-9
    expected = distance - lag * (rule == "semi_implicit_euler")
    assert run.q[-1, 0] == pytest.approx(expected, abs=3e-6) and np.abs(run.v[-1]).max() < 1e-9
    assert run.solver_info[:, 0].max() < 1e-12


def test_the_convex_relaxation_lifts_a_sliding_cube():
    """The negative control of the one above: mu |v| h a step, some decimetres in all."""
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.5))
    run = simulate(world, at((0, 0, 0.05)), [6.0, 0, 0, 0, 0, 0], duration=0.15, contact_solver="convex")
    assert run.q[:, 2].max() - 0.05 > 0.1


@pytest.mark.parametrize("rule", RULES)
def test_friction_acts_against_the_motion_in_every_direction(rule):
    """C4: 2 m/s at 37 degrees, mu 0.4: 0.509684 m, in that direction."""
    robot, heading = free_body(1.0, 1e3, shape("box", (0.1, 0.1, 0.1))), np.radians(37)
    world = treesim.World(robot, ground=treesim.Ground(friction=0.4))
    v = [2 * np.cos(heading), 2 * np.sin(heading), 0, 0, 0, 0]
    end = simulate(world, at((0, 0, 0.05)), v, integrator=rule).q[-1]
    lag = 1e-3 * (rule == "semi_implicit_euler")
    assert np.hypot(*end[:2]) == pytest.approx(4 / (2 * 0.4 * G) - lag, abs=1e-6)
    assert np.degrees(np.arctan2(end[1], end[0])) == pytest.approx(37, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_a_sliding_ball_comes_to_roll(rule):
    """C5: at 5/7 of its speed, after 2 v0 / (7 mu g)."""
    world = treesim.World(ball(), ground=treesim.Ground(friction=0.2))
    run = simulate(world, at((0, 0, 0.1)), [1.0, 0, 0, 0, 0, 0], integrator=rule)
    speeds = np.array([world_velocity(*state)[0] for state in zip(run.q, run.v, strict=True)])
    begins = 2 / (7 * 0.2 * G)
    t = 1e-3 * np.arange(1, 1001)
    np.testing.assert_allclose(speeds[t < begins], 1 - 0.2 * G * t[t < begins], rtol=0, atol=1e-10)
    np.testing.assert_allclose(speeds[t > begins + 1e-3], 5 / 7, rtol=0, atol=1e-10)
    assert np.abs(run.v[-1, 3:] @ run.v[-1, 3:] - (50 / 7) ** 2) < 1e-8


def test_in_axes_that_turn_with_the_ball_it_would_get_faster():
    """The negative control of the one above: Euler's explicit rule keeps the velocity of a rolling ball, which nothing
    pushes, in the ball's own axes, and |v| grows by (omega h)^2 / 2 a step: a hundredth in 0.5 s."""
    robot, v = ball(), np.array([5 / 7, 0, 0, 0, 50 / 7, 0])
    speeds = [
        np.linalg.norm(simulate(robot, at((0, 0, 0)), v, 0.5, gravity=(0, 0, 0), integrator=rule).v[-1, :3])
        for rule in (*RULES, "explicit_euler")
    ]
    np.testing.assert_allclose(speeds[:2], 5 / 7, rtol=1e-12)
    assert speeds[2] == pytest.approx(5 / 7 * np.exp(0.5 * (50 / 7) ** 2 * 1e-3 / 2), rel=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_a_ball_rolls_down_a_slope(rule):
    """C6: 5/7 g sin, without slipping."""
    angle = np.radians(20)
    world, q = on_slope(ball(), 0.8, angle, 0.1)
    run = simulate(world, q, integrator=rule)
    assert np.linalg.norm(run.v[-1, :3]) == pytest.approx(5 / 7 * G * np.sin(angle), abs=1e-10)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(50 / 7 * G * np.sin(angle), abs=1e-9)


def peaks(z):
    middle = z[1:-1]
    return middle[(middle > z[:-2]) & (middle >= z[2:])]


@pytest.mark.parametrize(("rule", "close"), [("implicit_midpoint", 1e-6), ("semi_implicit_euler", 2e-3)])
@pytest.mark.parametrize("e", [1.0, 0.8, 0.5])
def test_a_ball_bounces_to_e_squared_of_its_height(rule, close, e):
    """C7: with steps of 1 ms the top is seen to g h^2 / 8 = 1e-6 m."""
    world = treesim.World(ball(), ground=treesim.Ground(restitution=e))
    run = simulate(world, at((0, 0, 1.1)), duration=2.4, integrator=rule)
    found = peaks(run.q[:, 2] - 0.1)
    expected = e ** (2 * np.arange(1, len(found) + 1))
    seen = expected > 0.05
    assert seen.sum() >= 2
    np.testing.assert_allclose(found[seen], expected[seen], rtol=0, atol=close + 1.3e-6)


def test_slow_impacts_do_not_bounce():
    world = treesim.World(ball(), ground=treesim.Ground(restitution=1.0))
    run = simulate(world, at((0, 0, 0.1)), [0, 0, -0.04, 0, 0, 0], duration=0.05)
    assert np.abs(run.q[:, 2] - 0.1).max() < 1e-12 and np.abs(run.v).max() < 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_fifty_metres_a_second_end_at_the_surface(rule):
    """C20: no tunnel, no overlap, no rebound."""
    world = treesim.World(ball(), ground=treesim.Ground())
    run = simulate(world, at((0, 0, 1.1)), [0, 0, -50.0, 0, 0, 0], duration=0.1, integrator=rule)
    assert run.q[:, 2].min() > 0.1 - 1e-12 and run.q[-1, 2] == pytest.approx(0.1, abs=1e-12)
    assert np.abs(run.v[-1]).max() < 1e-12
    assert run.wrench[-1, 1, 2] == pytest.approx(G, rel=1e-9)
    blow = run.wrench[:, 1, 2].sum() * 1e-3  # N s: the momentum, and the weight meanwhile
    assert blow == pytest.approx(50 + G * 0.1, rel=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stiffness", [1e4, 1e6])
def test_a_soft_ground_yields_by_weight_over_stiffness(rule, stiffness):
    """C18: of a ball, and of a cube, whose four points share the stiffness."""
    surface = treesim.Ground(stiffness=stiffness, dissipation_time=0.02)
    for robot, height in ((ball(), 0.1), (cube(), 0.05)):
        run = simulate(treesim.World(robot, ground=surface), at((0, 0, height)), duration=0.8, integrator=rule)
        assert height - run.q[-1, 2] == pytest.approx(G / stiffness, rel=1e-6)
        assert run.solver_info[-1, 0] == pytest.approx(G / stiffness, rel=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_an_overlap_is_taken_back_without_speed(rule):
    """C19: a fifth of it a step, at b / (1 + b / 10 u), b a fifth of it over h or u = 1 m/s. Baumgarte's terms would
    throw the ball up at 2 m/s."""
    world = treesim.World(ball(), ground=treesim.Ground())
    run = simulate(world, at((0, 0, 0.09)), duration=0.1, integrator=rule)
    assert np.abs(run.v).max() < 1e-12
    depth, h = 0.1 - run.q[:, 2], 1e-3
    b = np.minimum(
        0.2 * (depth[:-1] - LEFT) / h, 1.0
    )  # behind the first step, in which no impulse is known that takes the weight
    np.testing.assert_allclose(np.diff(depth)[:40], (-h * b / (1 + 0.1 * b))[:40], rtol=1e-9)
    assert abs(depth[-1] - LEFT) < 1e-9 and (np.diff(depth) < 1e-12).all()
    np.testing.assert_allclose(run.solver_info[:, 0], depth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_tumbling_box_never_gains_energy(rule):
    """C21: thrown with spin onto its corners."""
    robot = free_body(1.0, (2e-3, 3e-3, 4e-3), shape("box", (0.1, 0.15, 0.2)))
    world, rng = treesim.World(robot, ground=treesim.Ground(friction=0.5)), np.random.default_rng(0)
    for _ in range(5):
        axis = rng.normal(size=3)
        q = at((0, 0, 0.4), turned(axis / np.linalg.norm(axis), rng.uniform(0, 3)))
        run = simulate(world, q, [*rng.normal(size=3), *(8 * rng.normal(size=3))], duration=0.6, integrator=rule)
        assert np.diff(run.energy).max() < 1e-3 and run.solver_info[:, 2].max() < 1e-9
        assert run.solver_info[:, 0].max() < 2e-5  # (omega h)^2 r / 2 of what turns in a step
        assert run.solver_info[:, 1].max() < 1e-4 and (run.solver_info[:, 1] > 1e-9).mean() < 0.05


def test_bouncing_with_friction_and_spin_gains_no_energy_by_impulses():
    """Newton's restitution of several points with friction may: the certificate stays at 0 or below."""
    robot = free_body(1.0, (2e-3, 3e-3, 4e-3), shape("box", (0.1, 0.15, 0.2)))
    world, rng = treesim.World(robot, ground=treesim.Ground(friction=0.5, restitution=1.0)), np.random.default_rng(1)
    for _ in range(3):
        axis = rng.normal(size=3)
        q = at((0, 0, 0.4), turned(axis / np.linalg.norm(axis), rng.uniform(0, 3)))
        run = simulate(world, q, [*rng.normal(size=3), *(8 * rng.normal(size=3))], duration=1.0)
        assert run.solver_info[:, 2].max() < 1e-9
        assert run.energy.max() < run.energy[0] + 0.05


@pytest.mark.parametrize("rule", RULES)
def test_the_friction_of_a_spinning_top_is_that_of_its_four_feet(rule):
    """A cube that spins on its face: each corner's friction mu m g / 4 acts at its radius; the spin falls linearly."""
    world = treesim.World(cube(), ground=treesim.Ground(friction=0.3))
    run = simulate(world, at((0, 0, 0.05)), [0, 0, 0, 0, 0, 10.0], duration=0.05, integrator=rule)
    radius, inertia = 0.05 * np.sqrt(2), 0.01 / 6
    slows = 0.3 * G * radius / inertia
    t = 1e-3 * np.arange(1, 51)
    np.testing.assert_allclose(run.v[:, 5], 10 - slows * t, rtol=0, atol=1e-6)
    assert np.abs(run.q[:, :2]).max() < 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "surface",
    [treesim.Ground(friction=0.5), treesim.Ground(friction=0.5, stiffness=1e4, dissipation_time=0.01),
     treesim.Ground(friction=0.5, restitution=0.7)],
    ids=["rigid", "soft", "bouncing"],
)  # fmt: skip
def test_the_certificate_is_the_change_of_kinetic_energy(rule, surface):
    """T(v+) - T(v_f), v_f the velocity of the step without a ground; a cube's inertia is the same about all axes. Of
    soft surfaces it is what friction takes."""
    robot = cube()
    world, without = treesim.World(robot, ground=surface), treesim.World(robot)
    stepper, free = (treesim.Stepper(w, substeps=1, integrator=rule) for w in (world, without))
    state = stepper.reset(at((0, 0, 0.13), turned((0.6, 0.8, 0), 0.4)), [1.0, 0.5, -1.0, 3.0, 1.0, 2.0])
    seen = 0
    for _ in range(300):
        unhindered, _ = free.step(free.reset(state.q, state.v))
        state, report = stepper.step(state)
        kinetic = [float(treesim.energy(robot, s.q, s.v)[0]) for s in (state, unhindered)]
        certificate = float(report.contact.certificate)
        assert certificate <= 1e-12
        if surface.stiffness is None:
            assert certificate == pytest.approx(kinetic[0] - kinetic[1], abs=1e-11)
        seen += certificate < -1e-6
    assert seen > 2


@pytest.mark.parametrize("rule", RULES)
def test_wrenches_are_the_change_of_momentum(rule):
    """Force and moment of a step along the world's axes, on a cube that is thrown: m dv / h + m g, I dw / h."""
    mass, inertia = 2.0, 2.0 * 0.01 / 6
    world = treesim.World(cube(mass=mass), ground=treesim.Ground(friction=0.5, normal=(0.1, 0, 1)))
    start = at((0, 0, 0.12), turned((0.6, 0.8, 0), 0.4)), np.array([1.0, 0.5, -1.0, 3.0, 1.0, 2.0])
    run = simulate(world, *start, duration=0.3, integrator=rule)
    states = [start, *zip(run.q, run.v, strict=True)]
    linear = np.array([world_velocity(q, v) for q, v in states])
    angular = np.array([world_velocity(q, np.roll(v, 3)) for q, v in states])
    force = mass * (np.diff(linear, axis=0) / 1e-3 + [0, 0, G])
    moment = inertia * np.diff(angular, axis=0) / 1e-3
    np.testing.assert_allclose(run.wrench[:, 1, :3], force, rtol=0, atol=1e-8 * np.abs(force).max())
    np.testing.assert_allclose(run.wrench[:, 1, 3:], moment, rtol=0, atol=1e-8 * np.abs(moment).max())
    assert np.abs(moment).max() > 1 and np.count_nonzero(run.solver_info[:, 3]) > 20
    np.testing.assert_allclose(run.wrench[:, 0, :3], -run.wrench[:, 1, :3], rtol=0, atol=1e-9)


def test_a_soft_surface_bounces_as_its_spring_does_whatever_its_restitution():
    runs = [
        simulate(
            treesim.World(ball(), ground=treesim.Ground(stiffness=1e4, restitution=e)), at((0, 0, 0.2)), duration=0.5
        )
        for e in (0.0, 1.0)
    ]
    assert np.array_equal(runs[0].q, runs[1].q)
