"""The work of a step with contact: against closed forms, and against the change of energy."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, at, ball, cube, pendulum, shape, turned, world_velocity
from tests.contact.scenes import free_body as body_of
from treesim.kernels.contact.work import work_of_corrections

SLOPE = np.arctan(0.5)
DT = 1e-3


class Books(NamedTuple):
    """Of K steps: states before and after them, q (1 + K, nq), v (1 + K, nv); energies (1 + K,), and the work of
    controls and of all that resists in each (K,)."""

    q: np.ndarray
    v: np.ndarray
    energy: np.ndarray
    control: np.ndarray
    passive: np.ndarray

    @property
    def error(self):
        """Of each step (K,): what nothing accounts for."""
        return np.diff(self.energy) - self.control - self.passive


def books(world, q, v=None, duration=0.5, dt=DT, control=None, **options):
    """The energy of steps of one state, and their work."""
    stepper = treesim.Stepper(world, dt, substeps=1, **options)
    state, works = stepper.reset(q, v), []
    states = [state]
    for _ in range(round(duration / dt)):
        state, report = stepper.step(state, control)
        assert report.ok
        states.append(state)
        works.append((float(report.control_work), float(report.passive_work)))
    q, v = (np.array([getattr(s, x) for s in states]) for x in "qv")
    return Books(q, v, np.sum(treesim.energy(world.robot, q, v), axis=0), *np.array(works).T)


def box_on_a_slope(mu):
    """10 kg at rest on a slope of 1 in 2 that falls along x."""
    R = turned((0, 1, 0), SLOPE)
    world = treesim.World(
        body_of(10.0, 0.1, shape("box", (0.2, 0.2, 0.2))), ground=treesim.Ground(friction=mu, normal=R[:, 2])
    )
    return world, at(0.1 * R[:, 2], R)


@pytest.mark.parametrize("rule", RULES)
def test_no_work_is_done_on_a_box_that_friction_holds(rule):
    """Forces times speeds that are rounding; positions move by no more than impulses are solved to, 1e-9 m/s."""
    found = books(*box_on_a_slope(0.501), integrator=rule)
    assert np.abs(found.passive).max() < 1e-15 and np.abs(found.error).max() < 10 * G * DT * 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_the_work_of_sliding_friction_is_its_force_along_the_way(rule):
    """mu m g cos times the distance; the mean velocity of Euler's steps is behind by half a step's acceleration."""
    mu, m = 0.3, 10.0
    found = books(*box_on_a_slope(mu), integrator=rule)
    speeds = np.array([np.linalg.norm(world_velocity(*state)) for state in zip(found.q, found.v, strict=True)])
    force = mu * m * G * np.cos(SLOPE)
    solved = 1e-9 * m * speeds[1:]  # impulses are solved to 1e-9 m/s
    expected = -force * DT * (speeds[1:] + speeds[:-1]) / 2
    assert (np.abs(found.passive - expected) <= 1e-9 * np.abs(expected) + solved).all()
    if rule == "implicit_midpoint":
        way = np.linalg.norm(found.q[:, :3] - found.q[0, :3], axis=1)
        off = np.abs(np.cumsum(found.passive) + force * way[1:])
        assert (off <= 1e-9 * force * way[1:] + np.cumsum(solved)).all()
        assert np.abs(found.error).max() < m * G * DT * 1e-9 + solved.max()  # of positions too


@pytest.mark.parametrize("e", [1.0, 0.8, 0.5, 0.0])
def test_a_bounce_takes_what_restitution_leaves_of_the_kinetic_energy(e):
    """(1 - e^2) m v^2 / 2 at the impact, within its step, of which the balance is exact: positions are corrected to
    where the ball was when it turned."""
    height, m = 0.2, 2.0
    world = treesim.World(ball(mass=m), ground=treesim.Ground(restitution=e))
    found = books(world, at((0, 0, 0.1 + height)), duration=0.3)
    assert np.sum(found.passive) == pytest.approx(-(1 - e**2) * m * G * height, rel=1e-9, abs=1e-7)
    assert np.abs(found.error).max() < 1e-12 and np.count_nonzero(np.abs(found.passive) > 1e-9) == (e < 1)


@pytest.mark.parametrize("rule", RULES)
def test_friction_and_impacts_without_restitution_only_take(rule):
    """Of cubes thrown at the ground without gravity, in every step: lambda' sigma+ <= 0 by the laws, and so
    lambda' (sigma + sigma+) / 2 = lambda' sigma+ - lambda' G lambda / 2 <= 0, and no energy comes from elsewhere."""
    robot, rng = cube(), np.random.default_rng(1)
    weightless = treesim.Tree("cube", robot.bodies, gravity=(0, 0, 0), shapes=robot.shapes)
    world = treesim.World(weightless, ground=treesim.Ground(friction=0.7))
    for _ in range(5):
        axis = rng.normal(size=3)
        q = at((0, 0, 0.1), turned(axis / np.linalg.norm(axis), 1.0))
        v = np.r_[rng.normal(size=2), 0, 10 * rng.normal(size=3)]
        v[:3] = turned(axis / np.linalg.norm(axis), -1.0) @ [v[0], v[1], -3.0]
        found = books(world, q, v, 0.1, integrator=rule)
        assert found.passive.max() < 1e-15 and found.passive.min() < -0.1, "it hits the ground"


def test_pushes_out_of_an_overlap_are_booked_as_what_they_lift():
    """A ball that starts 1 cm deep: m g for each metre, and no speed; pushes below 1e-9 m/s are not booked."""
    world = treesim.World(ball(), ground=treesim.Ground())
    found = books(world, at((0, 0, 0.09)), duration=0.1)
    np.testing.assert_allclose(found.passive, G * np.diff(found.q[:, 2]), rtol=1e-9, atol=G * DT * 1e-9)
    assert np.sum(found.passive) == pytest.approx(G * 0.01, rel=0.01)


@pytest.mark.parametrize("rule", RULES)
def test_a_push_back_to_a_limit_is_booked_as_what_it_lifts(rule):
    """A pendulum of 1 kg that hangs half a radian beyond its limit: m g l times the sine, however far the first
    steps take it; there it rests."""
    found = books(treesim.World(pendulum(lower=-1.0, upper=0.2)), [0.7], duration=0.7, integrator=rule)
    assert np.sum(found.passive) == pytest.approx(G * (np.sin(0.7) - np.sin(0.2 + 1e-5)), rel=1e-7)
    assert np.abs(found.error).max() < 1e-9 and np.abs(found.v).max() < 1e-9


def test_the_work_of_joint_friction_is_its_torque_along_the_way():
    """2 N m times the angle, of a pendulum that swings until it holds it; the error is of the rule's order, 2."""
    found = [books(treesim.World(pendulum(joint_friction=2.0)), [-0.5], duration=1.0, dt=dt) for dt in (2e-3, 1e-3)]
    for run in found:
        np.testing.assert_allclose(run.passive, -2.0 * np.abs(np.diff(run.q[:, 0])), rtol=0, atol=1e-14)
    coarse, fine = (np.abs(run.error).sum() for run in found)
    assert 3.9 < coarse / fine < 4.1


@pytest.mark.parametrize("dissipation", [0.0, 0.02])
def test_dampers_of_soft_ground_take_energy_and_springs_give_it_back(dissipation):
    """Of a tilted cube that tumbles: what is left is of first order, as points turn about the body in a step."""
    world = treesim.World(cube(), ground=treesim.Ground(stiffness=1e4, dissipation_time=dissipation))
    start = at((0, 0, 0.3), turned((1, 0, 0), 0.5))
    coarse, fine = (books(world, start, duration=0.4, dt=dt) for dt in (5e-4, 1.25e-4))
    assert fine.passive.max() > 1e-3, "springs give back"
    assert (fine.passive.sum() < -1.0) if dissipation else (abs(fine.passive.sum()) < 1e-3)
    assert 3.0 < np.abs(coarse.error).sum() / np.abs(fine.error).sum() < 5.0
    assert np.abs(fine.error).sum() < 1e-3 * G * 0.3


def test_a_free_step_s_work_is_its_own_to_the_bit():
    robot = treesim.load("simple_humanoid", base="floating")
    q = robot.neutral()
    q[2] += 2.0
    v, u = np.random.default_rng(0).normal(size=(2, robot.nv))
    u[:6] = 0
    world = treesim.World(robot, ground=treesim.Ground(), use_limits=False, use_joint_friction=False)
    apart, free = (
        books(w, q, v, 0.01, control=u)
        for w in (world, treesim.World(robot, use_limits=False, use_joint_friction=False))
    )
    assert all(np.array_equal(x, y) for x, y in zip(apart, free, strict=True)) and np.abs(free.control).max() > 1e-3


def falling(name):
    """A robot above the ground, leaning forwards."""
    robot = treesim.load(name, base="floating")
    q = robot.neutral()
    q[3:7] = 0, np.sin(0.1), 0, np.cos(0.1)
    return treesim.World(robot, ground=treesim.Ground(friction=0.8)), treesim.standing(robot, q)


def pushed(name):
    """A robot that stands under drives, and moves forwards with 1 m/s: world, q, v, and the drives' options."""
    robot = treesim.load(name, base="floating")
    q, simple = treesim.standing(robot, robot.neutral()), np.r_[np.zeros(6), np.ones(robot.nv - 6)]
    world, drives = treesim.World(robot, ground=treesim.Ground(friction=0.8)), {"kp": 300 * simple, "kd": 10 * simple}
    return world, q, np.eye(robot.nv)[0], {"control": np.r_[np.zeros(6), q[7:]], **drives}


@pytest.mark.parametrize(
    "rule, motion",
    [
        pytest.param(rule, motion, marks=[pytest.mark.slow] * ((rule, motion) != (RULES[0], "falls")))
        for rule in RULES
        for motion in ("falls", "is pushed")
    ],
)
def test_the_error_falls_with_dt(rule, motion):
    """All steps' errors together, positive and negative ones, of a humanoid that hits the ground: of first order, of
    four times the steps."""
    name = "g1_29dof_rev_1_0"
    world, q, v, drives = pushed(name) if motion == "is pushed" else (*falling(name), None, {})
    coarse, fine = (np.abs(books(world, q, v, 0.4, dt, integrator=rule, **drives).error).sum() for dt in (2e-3, 5e-4))
    assert fine < coarse / 2.5, (coarse, fine)


@pytest.mark.slow
def test_a_robot_that_stands_under_drives_has_a_flat_balance():
    """Its drives hold its weight at rest: before, the motion of a step without ground was in the books, 0.3 J each
    second. Its neutral legs are far beyond their limits, and the work of bringing them back is booked as well."""
    robot = treesim.load("go2", base="floating")
    q = treesim.standing(robot, robot.neutral())
    world = treesim.World(robot, ground=treesim.Ground())
    run = treesim.Simulation(world, dt=DT, controller=treesim.PD(robot, q)).run(4.0, q)
    error = run.energy_error
    assert np.abs(error).max() < 1e-3 * run.metadata["energy_range"]
    assert np.ptp(error[run.t > 3]) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g1_29dof_rev_1_0", "anymal_c"])
def test_robots_that_stand_and_fall_keep_their_books(name):
    """For 20 s. At rest positions move by no more than impulses are solved to, 1e-9 m/s; a fall has its largest error
    in the few steps in which whole bodies hit the ground, and turn fast joints by tens of rad/s."""
    world, q = falling(name)
    upright = treesim.standing(world.robot, world.robot.neutral())
    stood = treesim.Simulation(world, dt=DT, controller=treesim.PD(world.robot, upright)).run(20.0, upright)
    assert np.ptp(stood.energy_error[stood.t > 12]) < world.robot.mass * G * 8 * 1e-9
    assert np.abs(stood.energy_error).max() < 2e-3 * stood.metadata["energy_range"]
    fell = treesim.Simulation(world, dt=DT).run(20.0, q)
    assert np.abs(fell.energy_error).max() < 0.01 * fell.metadata["energy_range"]


def test_lanes_count_the_work_of_single_steps():
    world, q = falling("simple_humanoid")
    rng, robot = np.random.default_rng(0), world.robot
    v, u = 0.1 * rng.normal(size=(3, robot.nv)), np.zeros((60, robot.nv))
    u[:, 6:] = rng.normal(size=robot.nv - 6)
    runs = treesim.rollout(world, np.tile(q, (3, 1)), v, u, DT, substeps=1, work=True)
    for k in range(3):
        found = books(world, q, v[k], 0.06, control=u[0])
        total = np.stack([np.cumsum(found.control), np.cumsum(found.passive)], axis=1)
        np.testing.assert_allclose(runs.work[k], total, rtol=1e-6, atol=1e-7)
        assert total[-1, 1] < -0.1


@pytest.mark.parametrize(("correction", "lifted"), [(0.97e-9, 0.0), (1.03e-9, 1e-3 * 1.03e-9 * 98.1)])
def test_corrections_within_the_tolerance_lift_nothing(correction, lifted):
    """Whatever the impulses: 98.1 N that are raised at such a speed for 1 ms."""
    still = SimpleNamespace(mean=[0.0])
    m = SimpleNamespace(impulse=[0.3], mean_change=[correction], end_change=[0.0], mean=[0.0], lift=[98.1], step=still)
    found = work_of_corrections(SimpleNamespace(nv=1), None, None, 1e-3, (0.5, 1e-9), m)
    assert found == pytest.approx(lifted, rel=1e-12, abs=0)
