"""Torsional and rolling friction of contacts, against closed forms."""

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, at, ball, cube, free_body, shape, simulate, turned, world_velocity
from treesim.contact.description import described, surface_of
from treesim.engine.call.generic import runs_compiled
from treesim.simulation.serialization import plain, restored

R, DT = 0.1, 1e-3
ROLLING, TORSIONAL = 0.002, 0.003
BOTH = {"torsional_friction": TORSIONAL, "rolling_friction": ROLLING}


def on_plane(robot, normal=(0, 0, 1), **parameters):
    return treesim.World(robot, ground=treesim.Ground(**{"friction": 0.8, "normal": normal} | parameters))


def speeds(run):
    """Velocities of a free body's origin in world axes (K, 3)."""
    return np.array([world_velocity(q, v) for q, v in zip(run.q, run.v, strict=True)])


def lying(robot_radius):
    """A configuration of a body whose z axis lies along the world's x axis."""
    return at((0, 0, robot_radius), turned((0, 1, 0), np.pi / 2))


@pytest.mark.parametrize("solver", ["pgs", "admm"])
@pytest.mark.parametrize("rule", RULES)
def test_a_rolling_ball_decelerates_and_stops(rule, solver):
    """(mu_r / R) g / (1 + 2/5) in any direction, then exactly at rest."""
    speed, heading, a = 0.1, np.array([np.cos(0.6), np.sin(0.6), 0]), ROLLING / R * G / 1.4
    v = np.r_[speed * heading, np.cross((0, 0, 1), speed * heading) / R]
    run = simulate(
        on_plane(ball(R), rolling_friction=ROLLING), at((0, 0, R)), v, integrator=rule, contact_solver=solver
    )
    expected = np.maximum(speed - a * DT * np.arange(1, 1001), 0)[:, None] * heading
    close = 1e-12 if solver == "pgs" else 1e-6  # admm: 1000 steps of its tolerance
    np.testing.assert_allclose(speeds(run), expected, rtol=0, atol=close)
    assert np.linalg.norm(run.q[-1, :2]) == pytest.approx(speed**2 / (2 * a), abs=DT * speed)
    assert np.abs(run.v[-100:]).max() < (1e-15 if solver == "pgs" else 1e-7)
    assert np.ptp(run.q[-100:], axis=0).max() < (1e-15 if solver == "pgs" else 1e-8)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("heading", [0.0, 0.4, np.pi / 4, 2.0])
def test_a_ball_stays_on_a_slope_below_its_friction_and_rolls_above(rule, heading):
    """The threshold is tan(angle) = mu_r / R, whatever the direction: torques are bounded by a disk."""
    for tangent in (0.99 * ROLLING / R, 1.01 * ROLLING / R):
        angle = np.arctan(tangent)
        normal = np.array([np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), np.cos(angle)])
        run = simulate(on_plane(ball(R), normal, rolling_friction=ROLLING), at(R * normal), integrator=rule)
        a = max((np.sin(angle) - ROLLING / R * np.cos(angle)) * G / 1.4, 0)
        down = np.r_[np.cos(angle) * np.array([np.cos(heading), np.sin(heading)]), -np.sin(angle)]
        np.testing.assert_allclose(speeds(run)[-1], a * down, rtol=0, atol=1e-11)
        assert np.abs(run.solver_info[:, 1]).max() < 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_a_spinning_ball_stops(rule):
    """After t = (2/5) R^2 w / (mu_t g), at its place."""
    spin, rate = 3.0, TORSIONAL * G / (0.4 * R**2)
    run = simulate(
        on_plane(ball(R), torsional_friction=TORSIONAL), at((0, 0, R)), [0, 0, 0, 0, 0, spin], integrator=rule
    )
    expected = np.maximum(spin - rate * DT * np.arange(1, 1001), 0)
    assert spin / rate < 0.5
    np.testing.assert_allclose(run.v[:, 5], expected, rtol=0, atol=1e-11)
    assert np.abs(run.v[-100:]).max() < 1e-15 and np.abs(run.v[:, :5]).max() < 1e-15
    assert np.abs(run.q[:, :2]).max() == 0
    begun = run.wrench[0, 1]
    np.testing.assert_allclose(begun, [0, 0, G, 0, 0, -TORSIONAL * G], rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
def test_long_bodies_roll_on_all_their_points(kind):
    """The torque is that of the weight, however many contacts share it."""
    axial = (0.4 if kind == "capsule" else 0.5) * R**2
    body = free_body(1.0, (0.01, 0.01, axial), shape(kind, (R, 0.4)))
    v = [0, 0.2, 0, 0, 0, -0.2 / R]  # about its own axis, which lies along x
    turn = turned((0, 1, 0), np.pi / 2)
    v[:3] = turn.T @ [0, 0.2, 0]
    run = simulate(on_plane(body, rolling_friction=ROLLING), lying(R), v, duration=0.5)
    a = ROLLING / R * G / (1 + axial / R**2)
    np.testing.assert_allclose(speeds(run)[:, 1], 0.2 - a * DT * np.arange(1, 501), rtol=0, atol=1e-6)
    assert np.abs(run.v[:, 3:5]).max() < 1e-6


@pytest.mark.parametrize("rule", RULES)
def test_a_box_spins_down_by_torsional_friction_alone(rule):
    """Without sliding friction its torque is mu_t m g, however the weight is shared among four points."""
    run = simulate(
        on_plane(cube(0.1), friction=0.0, torsional_friction=TORSIONAL), at((0, 0, 0.05)), [0.1, 0, 0, 0, 0, 8.0],
        duration=0.6, integrator=rule,
    )  # fmt: skip
    rate = TORSIONAL * G / (0.1**2 / 6)
    expected = np.maximum(8 - rate * DT * np.arange(1, 601), 0)
    assert expected[-50] == 0
    np.testing.assert_allclose(run.v[:, 5], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(run.v[:, :2], axis=1), 0.1, rtol=0, atol=1e-9)


SURFACES = ({}, {"restitution": 0.7}, {"stiffness": 1e4, "dissipation_time": 0.01})


@pytest.mark.parametrize("surface", SURFACES, ids=["rigid", "bouncing", "soft"])
@pytest.mark.parametrize("rule", RULES)
def test_torques_are_bounded_and_only_dissipate(rule, surface):
    """Of a ball that tumbles with three different moments of inertia: rolling within a disk, torsion in an interval."""
    body, torques = free_body(1.0, (2e-3, 1.5e-3, 1e-3), shape("sphere", (R,))), []
    stepper = treesim.Stepper(on_plane(body, **BOTH, **surface), DT, substeps=1, integrator=rule)
    state = stepper.reset(at((0, 0, 0.2)), [0.5, 0.1, 0, 3.0, 2.0, 15.0])
    for _ in range(800):
        state, report = stepper.step(state)
        force, moment = np.split(report.contact.wrench_array[1], 2)
        torques.append((*(moment - np.cross([0, 0, -R], force)), force[2]))
        assert report.ok and report.contact.certificate <= 1e-12
    x, y, z, normal = np.array(torques).T
    rolling, slack = np.hypot(x, y), 1e-9 * normal.max()
    assert (rolling <= ROLLING * normal + slack).all() and (np.abs(z) <= TORSIONAL * normal + slack).all()
    touching = normal > 0
    assert (rolling[touching] > 0.999 * ROLLING * normal[touching]).sum() > 1
    assert (np.abs(z[touching]) > 0.999 * TORSIONAL * normal[touching]).sum() > 1


@pytest.mark.parametrize("rule", RULES)
def test_what_rolling_and_spinning_lose_is_passive_work(rule):
    world = on_plane(ball(R), **BOTH)
    stepper = treesim.Stepper(world, DT, integrator=rule)
    state = stepper.reset(at((0, 0, R)), [0.1, 0, 0, 0, 1.0, 3.0])
    energy, work = [0.5 * 0.1**2 + 0.2 * R**2 * (1 + 9) + G * R], []
    for _ in range(1000):
        state, report = stepper.step(state)
        work.append(float(report.passive_work))
        energy.append(float(report.energy))
    assert np.diff(energy).max() < 1e-14 and energy[-1] == pytest.approx(G * R, abs=1e-12)
    np.testing.assert_allclose(work, np.diff(energy), rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", ["pgs", "admm"])
@pytest.mark.parametrize("rule", RULES)
def test_a_falling_box_comes_to_rest_and_its_energy_never_grows(rule, solver):
    """Points, edges and faces touch: groups of one to four contacts with one normal."""
    stepper = treesim.Stepper(on_plane(cube(), **BOTH), DT, integrator=rule, contact_solver=solver)
    state = stepper.reset(at((0, 0, 0.12), turned((0.6, 0.8, 0), 0.5)), [1, 0.3, 0, 3, 2, 10.0])
    energy = []
    for _ in range(1000):
        state, report = stepper.step(state)
        assert report.ok and report.contact.certificate <= 1e-9
        energy.append(float(report.energy))
    assert np.diff(energy).max() < (1e-6 if rule == "implicit_midpoint" else 1e-4)
    assert np.abs(state.v).max() < (1e-12 if solver == "pgs" else 1e-7)


def test_a_hit_on_a_free_body_keeps_momentum():
    """A spinning ball hits a free box off its centre; the torques on both are opposite."""
    spins = []
    for mu in (0.02, 0.0):
        surface = treesim.Surface(friction=0.3, torsional_friction=mu, rolling_friction=mu)
        world = treesim.World(cube(0.4, 2.0), bodies=[ball(R)], surface=surface)
        stepper = treesim.Stepper(world, DT, substeps=1, gravity=(0, 0, 0), integrator=RULES[1])
        q, v = np.r_[at((0, 0, 0)), at((0.05, 0.03, 0.3))], np.r_[np.zeros(6), 0, 0, -1.0, 2.0, 1.0, 20.0]
        state, before, seen = stepper.reset(q, v), treesim.momentum(world.robot, q, v), 0.0
        for _ in range(20):
            arm = state.q[7:10] - state.q[:3]
            state, report = stepper.step(state)
            of_box, of_ball = report.contact.between("cube", "ball"), report.contact.between("ball", "cube")
            np.testing.assert_allclose(of_box[:3], -of_ball[:3], rtol=0, atol=1e-9)
            np.testing.assert_allclose(of_box[3:], -of_ball[3:] - np.cross(arm, of_ball[:3]), rtol=0, atol=1e-9)
            seen = max(seen, of_ball[2])
        np.testing.assert_allclose(treesim.momentum(world.robot, state.q, state.v), before, rtol=0, atol=1e-11)
        assert seen > 100
        spins.append(state.v[11])
    assert spins[1] - spins[0] > 1


def test_a_ball_on_a_free_box_brakes_it_by_its_torque():
    """On a box that slides without friction, ball and box together keep their momentum along the ground."""
    surface = treesim.Surface(friction=0.8, **BOTH)
    world = treesim.World(cube(1.0, 2.0), ground=treesim.Ground(friction=0), bodies=[ball(R)], surface=surface)
    q, v = np.r_[at((0, 0, 0.5)), at((0, 0, 1 + R))], np.r_[np.zeros(6), 0.1, 0, 0, 0, 1.0, 0]
    run = simulate(world, q, v, duration=0.8)
    momentum = np.array([treesim.momentum(world.robot, *state) for state in zip(run.q, run.v, strict=True)])
    np.testing.assert_allclose(momentum[:, 0], 0.1, rtol=0, atol=1e-10)
    assert run.v[-1, 0] == pytest.approx(0.1 / 3, abs=1e-10)
    assert np.abs(run.v[-1, [3, 4, 5, 9, 10, 11]]).max() < 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_robots_with_limits_lose_energy(rule):
    """Of a leg with a ball as its foot that falls with its knee at the limit: the midpoint corrector's rows, too."""
    thigh = treesim.Inertia(1.0, (0, 0, -0.2), 0.01 * np.eye(3))
    shank = treesim.Inertia(0.5, (0, 0, -0.2), 0.005 * np.eye(3))
    below = treesim.Placement(translation=(0, 0, -0.4))
    knee = treesim.Joint("knee", "revolute", axis=(0, 1, 0), lower=-0.1, upper=0.3, placement=below)
    foot = treesim.CollisionShape(2, below, "sphere", size=(0.05,), link="shank")
    head = treesim.CollisionShape(1, treesim.Placement(), "sphere", size=(0.08,), link="thigh")
    bodies = [
        treesim.Body("thigh", 0, treesim.Joint("free", "floating"), thigh),
        treesim.Body("shank", 1, knee, shank),
    ]
    robot = treesim.Tree("leg", bodies, shapes=[foot, head])
    world = on_plane(robot, torsional_friction=0.01, rolling_friction=0.01)
    q = np.r_[at((0, 0, 0.9), turned((0, 1, 0), 0.2)), 0.1]
    run = simulate(world, q, [0.5, 0.2, 0, 0, 0, 8.0, 5.0], duration=2.0, integrator=rule)
    assert run.solver_info[:, [1, 6]].max() < 1e-8 and run.solver_info[:, 2].max() <= 1e-12
    assert np.diff(run.energy).max() < 1e-6
    assert np.abs(run.v[-1]).max() < 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_coefficients_of_what_is_not_touched_change_no_bit(rule):
    q, v = at((0, 0, 0.12), turned((0.6, 0.8, 0), 0.5)), [1, 0.3, 0, 3, 2, 10.0]
    far = treesim.Ground(height=-9.0, torsional_friction=1.0, rolling_friction=1.0)
    two = treesim.World(cube(), ground=[treesim.Ground(), far])
    near = treesim.World(cube(), ground=[treesim.Ground(), treesim.Ground(height=-9.0)])
    np.testing.assert_array_equal(*(simulate(world, q, v, duration=0.3, integrator=rule).v for world in (two, near)))


@pytest.mark.skipif(not runs_compiled(), reason="plain Python has no rollouts on SIMD lanes")
@pytest.mark.parametrize("rule", RULES)
def test_rollouts_equal_steppers(rule):
    """A ball on a plane would run on SIMD lanes, which do not have these rows."""
    world, rng = on_plane(ball(R), **BOTH), np.random.default_rng(3)
    q = np.array([at((0, 0, R + 0.01 * k)) for k in range(9)])
    v = rng.normal(size=(9, 6)) * [0.3, 0.3, 0, 3, 3, 10]
    how = {"dt": DT, "integrator": rule, "substeps": 1}
    runs = treesim.rollout(world, q, v, steps=100, **how)
    for k in range(9):
        np.testing.assert_allclose(runs.v[k], simulate(world, q[k], v[k], duration=0.1, **how).v, rtol=0, atol=1e-10)
    batch = treesim.BatchStepper(world, 9, steps=100, **how)
    batch.put(slice(None), q, v)
    batch.step()
    np.testing.assert_array_equal(batch.v, runs.v[:, -1])


def test_a_run_continues_with_its_warm_start():
    simulation = treesim.Simulation(on_plane(cube(), **BOTH), DT)
    q, v = at((0, 0, 0.05)), [0.5, 0, 0, 0, 0, 10.0]
    whole, first = simulation.run(0.2, q, v), simulation.run(0.1, q, v)
    np.testing.assert_array_equal(simulation.run_from(0.1, first).v[-1], whole.v[-1])


def test_surfaces_and_worlds_are_restored():
    ground = treesim.Ground(friction=0.5, **BOTH)
    assert repr(ground) == (
        "<Ground: normal (0, 0, 1), height 0 m, friction 0.5, restitution 0, rigid, torsional friction 0.003 m, "
        "rolling friction 0.002 m>"
    )
    assert surface_of(described(ground)) == ground == restored(plain(ground)) != treesim.Ground(friction=0.5)
    older = {name: value for name, value in described(ground).items() if name not in BOTH}
    assert surface_of(older) == treesim.Ground(friction=0.5)
    world = restored(plain(on_plane(cube(), **BOTH)))
    np.testing.assert_array_equal(world.touching.geometry, on_plane(cube(), **BOTH).touching.geometry)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("value", [-1e-3, np.nan, "much", None])
def test_bad_coefficients_are_refused(name, value):
    with pytest.raises(treesim.ArgumentError, match=f"{name} must be a number, 0 or more, got"):
        treesim.Ground(**{name: value})


def test_the_convex_relaxation_refuses_them():
    """Its disk would grow with the speed."""
    with pytest.raises(treesim.UnsupportedError, match="torsional and rolling friction of surfaces: use"):
        treesim.Stepper(on_plane(ball(), **BOTH), contact_solver="convex")


MJCF = """
<mujoco><option timestep="2e-4" integrator="implicitfast" cone="elliptic" impratio="100" tolerance="1e-12"/>
<worldbody><geom type="plane" size="0 0 1" condim="6" friction="0.8 {torsional} {rolling}" solref="0.004 1"/>
<body pos="0 0 {radius}"><freejoint/><geom type="sphere" size="{radius}" mass="1" condim="6" friction="0 0 0"/></body>
</worldbody></mujoco>
"""


def test_mujoco_rolls_and_spins_as_far():
    """An opinion: its contacts are soft, and its cone is one of all directions together."""
    mujoco = pytest.importorskip("mujoco")
    for v in ([0.1, 0, 0, 0, 1.0, 0], [0, 0, 0, 0, 0, 2.0]):
        model = mujoco.MjModel.from_xml_string(MJCF.format(torsional=TORSIONAL, rolling=ROLLING, radius=R))
        data = mujoco.MjData(model)
        data.qvel[:] = v
        mujoco.mj_step(model, data, 1000)
        mine = simulate(on_plane(ball(R), **BOTH), at((0, 0, R)), v, duration=0.2)
        found = np.r_[world_velocity(mine.q[-1], mine.v[-1]), mine.v[-1, 3:]]
        np.testing.assert_allclose(found, data.qvel, rtol=0, atol=0.02 * np.abs(v).max())
        assert np.abs(found).max() < 0.9 * np.abs(v).max()
