"""Kinematic bodies: they follow their motion exactly, and contact with them does work."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import treesim
from treesim.errors import ArgumentError, UnknownNameError, UnsupportedError

BELT = treesim.free_body("belt", "box", (4.0, 0.6, 0.1), 1.0)
CRATE = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
START = [0, 0, 0.15, 0, 0, 0, 1, *BELT.neutral()]
LIFT = treesim.Waypoints([0, 0.02, 0.1, 0.2], [(0, 0, 0), (0, 0, 0), (0.01, 0, 0.05), (0, 0, 0)], periodic=True)
SOLVED = 1e-12  # m/s: residual at which a step keeps the impulses of the last one
RULES = ("implicit_midpoint", "semi_implicit_euler")


PUSH = np.ones(6)


def pushed(f_ext):
    stepper = treesim.Stepper(world_of(LIFT))
    return stepper.step(stepper.reset(START), f_ext=f_ext)


def rolled(model_parameters=None, steps=2, **options):
    options |= {"steps": steps, "model_parameters": model_parameters}
    return treesim.rollout(world_of(LIFT), START, np.zeros(12), **options)


def world_of(motion, robot=CRATE, **options):
    return treesim.World(robot, bodies=BELT, kinematic={"belt": motion}, **options)


@pytest.mark.parametrize("rule", RULES)
def test_a_crate_on_a_belt_slips_until_it_has_its_speed(rule):
    speed, mu = 0.5, treesim.Surface().friction
    run = treesim.Simulation(world_of(treesim.Conveyor((speed, 0, 0))), integrator=rule).run(0.5, q0=START)
    slip = speed / (mu * 9.81)  # s
    np.testing.assert_allclose(run.v[-1, :6], [speed, 0, 0, 0, 0, 0], rtol=0, atol=10 * SOLVED)
    assert run.q[-1, 0] == pytest.approx(speed * (0.5 - slip / 2), abs=speed * 1e-3), "a step of slipping"
    assert np.array_equal(run.q[:, 7:], np.tile(BELT.neutral(), (len(run), 1))), "only its surface moves"
    # the belt does twice the work that the crate takes up; the other half is friction
    np.testing.assert_allclose(run.work[-1], [speed**2, -(speed**2) / 2], rtol=0, atol=100 * SOLVED)
    assert np.abs(run.energy_error).max() < 100 * SOLVED


@pytest.mark.parametrize("rule", RULES)
def test_a_lift_follows_its_waypoints_and_does_the_work(rule):
    run = treesim.Simulation(world_of(LIFT), integrator=rule).run(0.5, q0=START)
    poses = np.array([LIFT(t) for t in run.t])
    np.testing.assert_allclose(run.q[:, 7:], poses, rtol=0, atol=1e-15)
    height = run.q[:, 2] - run.q[:, 9]
    np.testing.assert_allclose(height[:101], 0.15, rtol=0, atol=1e-10)
    assert height.max() > 0.2 and height.min() > 0.15 - 1e-10, "at the top it is thrown up, and it lands again"
    flight = 0.0 if rule == "implicit_midpoint" else 9.81 * 1e-3 / 2  # m g v dt / 2 for a kilogram, below 1 m/s
    assert np.abs(run.energy_error).max() < 1e-11 + flight
    assert run.penetration.max() < 1e-10 and run.residual.max() < 1e-12
    assert treesim.replay(pickle.loads(pickle.dumps(run))).same


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize("rule", RULES)
def test_contact_lasts_on_a_table_that_falls_with_less_than_g(rule, dt):
    rate, g = 5.0, 9.81
    amplitude = 0.95 * g / rate**2
    end = 0.8  # s

    def shaken(t):
        if t > end + 1e-9:
            raise IndexError("a motion may end with the run")
        return [0, 0, amplitude * math.sin(rate * t)]

    start = [0, 0, amplitude * rate, *np.zeros(9)]
    run = treesim.Simulation(world_of(shaken), dt, integrator=rule).run(end, q0=START, v0=start)
    force = run.contact_wrench("crate", "belt")[:-1, 2]
    wanted = g - amplitude * rate**2 * np.sin(rate * (run.t[:-1] + dt / 2))
    jerk = amplitude * rate**3
    # the limiter omits changes of acceleration near its zeros, and at both ends of the motion
    np.testing.assert_allclose(force[2:-1], wanted[2:-1], rtol=0, atol=jerk * dt)
    assert (run.contact_wrench("crate", "belt")[:-1, 2] > 0).all()
    np.testing.assert_allclose(run.q[:, 2] - run.q[:, 9], 0.15, rtol=0, atol=1e-10)


def test_a_body_that_starts_suddenly_does_not_move_before():
    started = treesim.Waypoints([0, 0.02, 1.0], [(0, 0, 0), (0, 0, 0), (0, 0, 0.5)])
    for dt in (1e-2, 5e-4):  # many substeps, and one
        run = treesim.Simulation(world_of(started), dt).run(0.04, q0=START)
        still = run.t < 0.02 + dt / 2
        np.testing.assert_allclose(run.q[still, 2], 0.15, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.v[~still][1:, 2], 0.5 / 0.98, rtol=0, atol=1e-10, err_msg="not thrown up")


def test_a_tilting_table_holds_what_turns_with_it():
    def tilted(t):
        angle = 0.05 * (1 - math.cos(20 * t))  # rad; a crate 0.3 m from the axis falls with up to 6 m/s^2
        return [0, 0, 0, math.sin(angle / 2), 0, 0, math.cos(angle / 2)]

    at = [0, 0.1, *START[2:]]
    run = treesim.Simulation(world_of(tilted, surface=treesim.Surface(friction=2.0))).run(0.5, q0=at)
    assert (run.contact_wrench("crate", "belt")[:-1, 2] > 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_all_ways_of_stepping_agree(rule):
    world, steps = world_of(LIFT), 150
    run = treesim.Simulation(world, integrator=rule).run(steps * 1e-3, q0=START)
    stepper = treesim.Stepper(world, integrator=rule)
    state, work = stepper.reset(START), np.zeros(2)
    many = stepper.reset(np.tile(START, (3, 1)))
    for _ in range(steps):
        state, report = stepper.step(state)
        work += report.control_work, report.passive_work
        many, _ = stepper.step(many)
    rolled = treesim.rollout(
        world, np.tile(START, (3, 1)), np.zeros(world.robot.nv), steps=steps, integrator=rule, work=True
    )
    batch = treesim.BatchStepper(world, 2, steps=10, integrator=rule)
    batch.put(slice(None), START, np.zeros(world.robot.nv))
    for _ in range(steps // 10):
        batch.step()
    for q in (state.q, many.q[2], rolled.q[1, -1], batch.q[1]):
        np.testing.assert_allclose(q, run.q[-1], rtol=0, atol=1e-12)
    for total in (work, rolled.work[2, -1]):
        np.testing.assert_allclose(total, run.work[-1], rtol=0, atol=1e-12)
    masses = treesim.rollout(
        world,
        START,
        np.zeros(world.robot.nv),
        steps=steps,
        integrator=rule,
        model_parameters={"mass": {"crate": [1.0, 2.0]}},
    )
    np.testing.assert_allclose(masses.q[:, -1], np.tile(run.q[-1], (2, 1)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("backend", ["crba_ltdl", "rjk", "innovations"])
def test_backends_agree(backend):
    expected = treesim.Simulation(world_of(LIFT)).run(0.1, q0=START)
    found = treesim.Simulation(world_of(LIFT), backend=backend).run(0.1, q0=START)
    np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-12)


def test_a_wall_pushes_a_ball_and_passes_through_the_ground():
    ball = treesim.free_body("ball", "sphere", (0.05,), 0.5)
    robot = treesim.World(
        ball, bodies=BELT, ground=treesim.Ground(friction=0.0), kinematic={"belt": lambda t: (t - 2.2, 0, 0)}
    )
    run = treesim.Simulation(robot).run(0.4, q0=[0, 0, 0.05, 0, 0, 0, 1, *BELT.neutral()])
    assert run.v[100, 0] == 0, "before it arrives"
    np.testing.assert_allclose(run.v[-1, :3], [1, 0, 0], rtol=0, atol=1e-9)
    assert np.abs(run.energy_error).max() < 1e-9


def test_a_turntable_given_by_a_function_throws_a_crate_off():
    def turn(t):
        pose = np.eye(4)
        pose[:3, :3] = Rotation.from_euler("z", t * t).as_matrix()
        return pose

    run = treesim.Simulation(world_of(turn), 2e-3).run(2.6, q0=[0.5, *START[1:]])
    assert np.abs(run.energy_error).max() < 1e-12
    distance = np.hypot(run.q[:, 0], run.q[:, 1])
    holds = np.hypot((2 * run.t) ** 2 * 0.5, 2 * 0.5) < 0.5 * treesim.Surface().friction * 9.81
    assert np.abs(distance[holds] - 0.5).max() < 1e-3 and distance[-1] > 0.6, "friction holds it, and then no longer"
    with pytest.raises(UnsupportedError, match="cannot be repeated"):
        treesim.replay(run)


@pytest.mark.parametrize("rule", RULES)
def test_what_sticks_to_a_turning_body_creeps_by_first_order(rule):
    rate, h = 1.0, 5e-4  # rad/s, s
    moving = world_of(lambda t: (0, 0, 0, 0, 0, math.sin(rate * t / 2), math.cos(rate * t / 2)))
    v0 = [0, 0.5 * rate, 0, 0, 0, rate, *np.zeros(6)]
    run = treesim.Simulation(moving, h, integrator=rule).run(0.5, q0=[0.5, *START[1:]], v0=v0)
    outward = np.hypot(run.q[:, 0], run.q[:, 1]) - 0.5
    np.testing.assert_allclose(outward[-1], rate**2 * 0.5 * h / 2 * 0.5, rtol=1e-2)


@pytest.mark.slow
def test_a_quadruped_stands_on_a_lift():
    robot = treesim.load("go2", base="floating")
    world = world_of(treesim.Waypoints([0, 1], [(0, 0, 0), (0, 0, 0.5)]), robot)
    deck = treesim.Ground(height=0.05)
    posture = robot.clamp(robot.neutral())
    q = treesim.standing(robot, posture, deck)
    hold = treesim.PD(robot, posture, kp=300, kd=10)
    run = treesim.Simulation(world, controller=hold).run(0.5, q0=[*q, *BELT.neutral()])
    assert run.v[-1, 2] == pytest.approx(0.5, abs=0.05)
    assert np.abs(run.energy_error).max() < 1e-3 * run.metadata["energy_range"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: treesim.World(CRATE, kinematic={"lift": LIFT}), UnknownNameError, "lift"),
        (lambda: treesim.World(CRATE, kinematic=LIFT), ArgumentError, "motions by name"),
        (lambda: treesim.World(CRATE, kinematic={"crate": 3}), ArgumentError, "Waypoints"),
        (lambda: treesim.World(treesim.load("ur5"), kinematic={"wrist_3_link": LIFT}), ArgumentError, "revolute"),
        (
            lambda: treesim.World(treesim.load("g1_29dof_rev_1_0", base="floating"), kinematic={"pelvis": LIFT}),
            ArgumentError, "carries",
        ),
        (lambda: treesim.Simulation(world_of(LIFT), integrator="rk4"), UnsupportedError, "does not move kinematic"),
        (lambda: treesim.Stepper(world_of(lambda t: (1, 2))).reset(START), ArgumentError, "must return a position"),
        (lambda: treesim.Stepper(world_of(lambda t: (1, 2, math.nan))).reset(START), ArgumentError, "must return"),
        (lambda: treesim.Waypoints([0, 0], np.zeros((2, 3))), ArgumentError, "must increase"),
        (lambda: treesim.Waypoints([0, 1], np.zeros((3, 3))), ArgumentError, "2 x 3 finite numbers"),
        (lambda: treesim.Waypoints([0, 1], np.eye(3)[:2], periodic=True), ArgumentError, "must be the first"),
        (lambda: treesim.Waypoints([0, 1], np.zeros((2, 3)), np.zeros((2, 4))), ArgumentError, "quaternion"),
        (lambda: treesim.Conveyor((1, 2)), ArgumentError, "velocity of Conveyor"),
        (lambda: treesim.Stepper(world_of(lambda t: 1 / 0)).reset(START), ArgumentError, "'belt' failed.*ZeroDivision"),
        (lambda: treesim.Stepper(world_of(lambda t: np.diag([1, 1, 1, 2.0]))).reset(START), ArgumentError, "a pose"),
        (lambda: pushed({"belt": PUSH}), ArgumentError, "f_ext: 'belt' is a kinematic body"),
        (lambda: pushed({("belt", "world"): PUSH}), ArgumentError, "f_ext: 'belt' is a kinematic body"),
        (lambda: pushed(np.ones((2, 6))), ArgumentError, "f_ext: 'belt' is a kinematic body"),
        (lambda: rolled(f_ext={"belt": PUSH}), ArgumentError, "f_ext: 'belt' is a kinematic body"),
        (lambda: rolled(f_ext={"belt": -np.ones((1, 2, 6))}), ArgumentError, "f_ext: 'belt' is a kinematic body"),
        (
            lambda: rolled(f_ext=treesim.ExternalForce("belt", (1, 0, 0), start=1.0)),
            ArgumentError, "f_ext: 'belt' is a kinematic body",
        ),
        (
            lambda: treesim.Simulation(world_of(LIFT), external_forces=lambda *_: {"belt": PUSH}).run(0.01, START),
            ArgumentError, "external_forces: 'belt' is a kinematic body",
        ),
        (lambda: rolled({"mass": {"belt": 2.0}}), ArgumentError, "mass of link 'belt' is 2 kg; a kinematic body keeps"),
        (lambda: rolled({"armature": np.ones(12)}), ArgumentError, r"'belt_joint\[0\]' is 1 kg m\^2; a kinematic"),
        (lambda: world_of(LIFT, constraints=treesim.FrameConstraint("belt")), ArgumentError, "'belt'.* but kinematic"),
        (
            lambda: treesim.Simulation(world_of(LIFT), external_forces=[treesim.ExternalForce("belt", (1, 0, 0))]),
            ArgumentError, "no force moves",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_model_parameters_of_others_leave_a_kinematic_body_its_inertia():
    """Its rotor inertia, whose inverse is 0, is none of the given ones; its work is that in the given gravity."""
    gravity = np.array([[0, 0, -9.81], [0, 0, -5.0], [1.0, 0, -9.81]])
    fields = {"mass": [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]], "armature": np.zeros((3, 12)), "gravity": gravity}
    fields["damping"] = np.zeros(12)
    runs = rolled(fields, steps=150, work=True)
    np.testing.assert_allclose(runs.q[:, -1, 7:], np.tile(LIFT(0.15), (3, 1)), rtol=0, atol=1e-15)
    assert np.abs(runs.energy_error).max() < 1e-10


def test_quaternions_of_both_signs_are_one_pose():
    turns = [(0, 0, 0, 1), (0, 0, 1, 0), (0, 0, 0, -1)]
    assert treesim.Waypoints([0, 1, 2], np.zeros((3, 3)), turns, periodic=True)(2.5)[6] == pytest.approx(0.5**0.5)


def test_loops_to_kinematic_bodies_are_followed_and_their_work_is_said_to_be_left_out():
    body = treesim.Body("hand", 0, treesim.Joint("hand_joint", "floating"), treesim.Inertia(1.0, rotational=np.eye(3)))
    hand, arm = treesim.Tree("hand", [body]), treesim.load("ur5")  # without shapes
    q = np.array([0.3, -1.2, 1.5, -0.5, 0.7, 0.2])
    place = treesim.frame_pose(arm, q, "tool0")[:3, 3]
    moving = {"hand": lambda t: place + np.array([0, 0.1 * t, 0])}
    with pytest.warns(treesim.EnergyWarning, match="left out of the energy balance") as caught:
        loop = treesim.LoopConstraint("tool0", "hand", rows="linear")
        world = treesim.World(arm, [loop], bodies=hand, kinematic=moving, use_limits=False)
    assert [each.filename for each in caught] == [__file__]
    stepper = treesim.Stepper(world)
    state = stepper.reset([*q, *place, 0, 0, 0, 1])
    for _ in range(200):
        state, _ = stepper.step(state)
    end = treesim.frame_pose(arm, state.q[:6], "tool0")[:3, 3]
    np.testing.assert_allclose(end, moving["hand"](0.2), rtol=0, atol=1e-9)


def test_a_periodic_motion_ends_where_it_begins():
    def around(gap):
        return treesim.Waypoints([0, 1, 2], [(0, 0, 0), (1, 0, 0), (0, 0, gap)], periodic=True)

    assert around(0.95e-9)(3.0)[0] == pytest.approx(1.0)
    with pytest.raises(ArgumentError, match="the last pose of periodic Waypoints must be the first one"):
        around(1.05e-9)


@pytest.mark.parametrize(("length", "accepted"), [(0.48, False), (0.52, True), (1.92, True), (2.08, False)])
def test_quaternions_of_about_length_1_are_scaled(length, accepted):
    if accepted:
        assert treesim.Waypoints([0.0], np.zeros((1, 3)), [(0, 0, 0, length)])(0.0)[6] == 1
    else:
        with pytest.raises(ArgumentError, match="a quaternion must be of length 1"):
            treesim.Waypoints([0.0], np.zeros((1, 3)), [(0, 0, 0, length)])


@pytest.mark.parametrize(("jump", "warned"), [(9.9e-3, False), (10.1e-3, True)])
def test_a_motion_that_jumps_is_named_once_with_its_time(jump, warned):
    """Steps of 1 ms: a jump of 1 cm is a velocity of 10 m/s."""
    world = world_of(lambda t: (0.0, 0.0, 0.2 * t + jump * (t > 0.0035) + jump * (t > 0.0065)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", treesim.ContactWarning)
        treesim.Simulation(world).run(0.01, START)
    texts = [str(one.message) for one in caught if "jumps" in str(one.message)]
    assert len(texts) == warned
    if warned:
        assert texts[0].startswith(
            "the motion of 'belt' jumps at t = 0.003 s, by 0.0103 m and 0 rad in a step of 0.001"
        )


def test_a_turn_that_jumps_is_named():
    half = [0.0, 0.0, math.sin(0.1), math.cos(0.1)]
    world = world_of(lambda t: [0, 0, 0, *(half if t > 0.0035 else (0, 0, 0, 1))])
    with pytest.warns(treesim.ContactWarning, match=r"by 0 m and 0\.2 rad .* at 0 m/s and 200 rad/s"):
        treesim.Simulation(world).run(0.01, START)


def test_a_fast_motion_without_jumps_is_no_jump():
    with warnings.catch_warnings():
        warnings.simplefilter("error", treesim.ContactWarning)
        treesim.Simulation(world_of(lambda t: (50.0 * t, 0.0, -1.0))).run(0.01, START)


def test_the_time_of_a_batch_stepper_begins_anew_with_each_state_that_is_put():
    motion = treesim.Waypoints([0, 1], [(0, 0, 0), (0, 0, 0.5)])
    stepper = treesim.BatchStepper(world_of(motion), 3, 1e-3, steps=4)
    start, height = np.array(START), lambda: stepper.q[:, 9]
    stepper.put(slice(None), start, np.zeros(12))
    for _ in range(2):
        stepper.step()
    stepper.put([1], start, np.zeros(12))
    assert stepper.times.tolist() == [0.008, 0.0, 0.008] and stepper.t == 0.008
    np.testing.assert_allclose(height(), 0.5 * stepper.times, atol=1e-12)
    twin = pickle.loads(pickle.dumps(stepper))
    for one in (stepper, twin):
        one.step()
        assert np.allclose(one.times, [0.012, 0.004, 0.012], rtol=0, atol=1e-15)
        np.testing.assert_allclose(one.q[:, 9], 0.5 * one.times, atol=1e-12)
    fresh = treesim.BatchStepper(world_of(motion), 1, 1e-3, steps=4)
    fresh.put([0], start, np.zeros(12))
    fresh.step()
    np.testing.assert_array_equal(stepper.q[1], fresh.q[0])


def test_states_of_a_batch_do_not_see_that_the_motion_of_others_ends():
    def falling(t):
        if t > 0.0505:
            raise IndexError("the motion ends")
        return [0, 0, -4.0 * t * t]

    alone, both = (treesim.BatchStepper(world_of(falling), count) for count in (1, 2))
    for stepper in (alone, both):
        stepper.put(slice(None), np.array(START), np.zeros(12))
    for _ in range(20):
        both.step(np.zeros((2, 12)))
    both.put([0], np.array(START), np.zeros(12))  # the other one is 20 steps ahead
    for _ in range(30):
        alone.step(np.zeros((1, 12)))
        both.step(np.zeros((2, 12)))
    assert np.array_equal(both.q[0], alone.q[0]) and np.array_equal(both.v[0], alone.v[0])
