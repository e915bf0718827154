"""Actuators with memory: delay, lag, rate limit, digital controllers and inductance, in whatever carries states."""

import itertools
import math
import pickle

import numpy as np
import pytest

import treesim
from treesim import (
    ArgumentError,
    BatchStepper,
    Body,
    DCMotor,
    Ground,
    Inertia,
    Joint,
    Motor,
    PositionServo,
    Simulation,
    Stepper,
    Trajectory,
    Tree,
    UnsupportedError,
    VelocityServo,
    World,
)

RULES = ("implicit_midpoint", "semi_implicit_euler")
WINDING = {"resistance": 0.5, "torque_constant": 0.05, "back_emf": 0.06, "inductance": 0.01}
ROTOR = 0.01  # kg m^2
UR5 = treesim.load("ur5")


def one_joint(kind="prismatic", inertia=1.0, **joint):
    """Return a robot with one joint without gravity, which moves a mass [kg] or an inertia [kg m^2]."""
    body = Body("b", 0, Joint("j", kind, **joint), Inertia(inertia, rotational=inertia * np.eye(3)))
    return Tree("one", [body], gravity=(0, 0, 0))


def velocities(actuator, controls, dt=1e-3, robot=None, **options):
    """Return the velocities of the joint after each step under controls, from rest."""
    stepper = Stepper(World(robot or one_joint(), actuators={"j": actuator}), dt, **options)
    state, found = stepper.reset(), []
    for u in controls:
        state, _ = stepper.step(state, [u])
        found.append(state.v[0])
    return np.array(found)


def every_kind(robot):
    """Return an actuator of each kind of memory for the joints of ur5."""
    names = robot.joint_names
    return dict(zip(names, (
        Motor(delay=0.003), Motor(delay=(0.0, 0.01), interpolate=True, before="first"),
        PositionServo(100, 10, lag=0.01, rate_limit=5.0, delay=0.0024), DCMotor(**WINDING, voltage_limit=24, gear=20),
        PositionServo(10, 1, gains="explicit", period=0.002), VelocityServo(3, lag=0.02, before="first"),
    ), strict=True))  # fmt: skip


@pytest.mark.parametrize("rule", [*RULES, "rk4", "explicit_euler"])
@pytest.mark.parametrize("substeps", [1, 3])
def test_a_delay_of_whole_steps_shifts_the_response_to_the_bit(rule, substeps):
    u = np.random.default_rng(0).normal(size=40)
    options = {"integrator": rule, "substeps": substeps}
    plain, late = (velocities(Motor(delay=delay), u, **options) for delay in (0.0, 0.007))
    assert np.array_equal(late[7:], plain[:-7]) and not late[:7].any() and plain[0]


def test_a_delay_between_steps_acts_from_the_next_part_or_is_linear():
    u = np.arange(1.0, 9.0)
    held = np.diff(velocities(Motor(delay=0.0025), u, substeps=2), prepend=0.0) / 1e-3
    linear = np.diff(velocities(Motor(delay=0.0025, interpolate=True), u, substeps=1), prepend=0.0) / 1e-3
    assert held == pytest.approx([0, 0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]), "in the second of two parts"
    assert linear == pytest.approx([0, 0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]), "the mean of two commands"


@pytest.mark.parametrize("rule", [*RULES, "rk4"])
def test_lag_is_a_first_order_filter(rule):
    """Under a constant force F, v = F (t - T (1 - exp(-t / T))): the mean of each part is exact."""
    v, t = velocities(Motor(lag=0.05), np.full(200, 3.0), integrator=rule), 1e-3 * np.arange(1, 201)
    assert v == pytest.approx(3 * (t + 0.05 * np.expm1(-t / 0.05)), abs=1e-13)


def test_rate_limit_bounds_changes_of_the_control():
    v = velocities(Motor(rate_limit=100.0), [1.0] * 20 + [0.85] * 5, substeps=1)
    forces = np.minimum(0.1 * np.arange(1, 21), 1.0)
    assert np.diff(v, prepend=0.0) / 1e-3 == pytest.approx([*forces, 0.9, *[0.85] * 4])


@pytest.mark.parametrize(
    ("actuator", "target"),
    [
        (PositionServo(100, 5, delay=0.002), 0.3), (PositionServo(100, 5, delay=0.002, before="first"), 1.0),
        (PositionServo(100, 5, delay=0.002, before="zero"), 0.0), (PositionServo(100, 5, lag=1e9), 0.3),
        (PositionServo(100, 5, rate_limit=1e-9), 0.3), (PositionServo(100, 5, lag=1e9, before="zero"), 0.0),
        (PositionServo(100, 5, rate_limit=1e-9, before="first"), 1.0),
    ],
)  # fmt: skip
def test_what_acts_before_the_first_command(actuator, target):
    plain = Stepper(World(one_joint(), actuators={"j": PositionServo(100, 5)}))
    late = Stepper(World(one_joint(), actuators={"j": actuator}))
    expected, _ = plain.step(plain.reset([0.3]), [target])
    found, _ = late.step(late.reset([0.3]), [1.0])
    assert found.v == pytest.approx(expected.v, abs=1e-12)


def test_drawn_delays_differ_by_rollout_seed_and_episode():
    world = World(one_joint(), actuators={"j": Motor(delay=(0.002, 0.02))})
    stepper = Stepper(world)
    first, other = (stepper.reset(np.zeros((4000, 1)), seed=seed).actuators[:, -1] for seed in (0, 1))
    assert first.min() >= 2 and first.max() <= 20 and abs(first.mean() - 11) < 4 * 18 / math.sqrt(12 * 4000)
    assert not np.isclose(first, other).any() and np.array_equal(
        first, stepper.reset(np.zeros((4000, 1))).actuators[:, -1]
    )
    batch = BatchStepper(world, 2)
    found = [batch._kept.actuators[:, -1].copy()]
    for _ in range(2):
        batch.step(np.zeros(1))
        batch.put([1], [0.0], [0.0])
        found.append(batch._kept.actuators[:, -1].copy())
    assert np.array_equal(found[0], first[:2]) and len({x[1] for x in found}) == 3 and len({x[0] for x in found}) == 1
    runs = treesim.rollout(world, np.zeros((2, 1)), [0.0], np.ones((40, 1)), seed=1, substeps=1)
    begun = (runs.v[:, :, 0] != 0).argmax(axis=1)
    assert np.array_equal(begun, np.ceil(other[:2])), "commands act in the first step after their delay"


@pytest.mark.parametrize("servo", [PositionServo, VelocityServo])
def test_digital_controllers_hold_their_force(servo):
    """The force of the state at multiples of the period acts until the next one, across steps."""
    gains = (200.0, 4.0) if servo is PositionServo else (4.0,)
    stepper = Stepper(
        World(one_joint(), actuators={"j": servo(*gains, gains="explicit", period=0.0015)}), 1e-3, substeps=2
    )
    state, q, v, force, h = stepper.reset([0.1], [0.2]), 0.1, 0.2, 0.0, 5e-4
    for k in range(20):
        state, report = stepper.step(state, [0.5])
        mean = 0.0
        for part in range(2):
            if (2 * k + part) % 3 == 0:
                force = 200 * (0.5 - q) - 4 * v if servo is PositionServo else 4 * (0.5 - v)
            q, v, mean = q + h * (v + h / 2 * force), v + h * force, mean + force / 2
        assert (state.q[0], state.v[0], report.force[0]) == pytest.approx((q, v, mean), abs=1e-12)


def motor_solution(t, voltage, winding, inertia):
    """Return speed and current at a time, of a motor at rest and without load, under a constant voltage."""
    R, L, K, E = (winding[name] for name in ("resistance", "inductance", "torque_constant", "back_emf"))
    values, vectors = np.linalg.eig(np.array([[0.0, K / inertia], [-E / L, -R / L]]))
    steady = np.array([voltage / E, 0.0])
    return (steady - vectors @ (np.exp(values * t) * np.linalg.solve(vectors, steady))).real


def motor_run(dt, rule, steps, robot=None, voltage=12.0):
    stepper = Stepper(
        World(robot or one_joint("revolute", ROTOR), actuators={"j": DCMotor(**WINDING)}),
        dt,
        integrator=rule,
        substeps=1,
    )
    state = stepper.reset()
    for _ in range(steps):
        state, _ = stepper.step(state, [voltage])
    return np.array([state.v[0], state.actuators[-1]])


@pytest.mark.parametrize(("rule", "order"), [("implicit_midpoint", 2), ("semi_implicit_euler", 1)])
def test_inductance_converges_to_the_analytic_solution(rule, order):
    exact = motor_solution(0.2, 12.0, WINDING, ROTOR)
    runs = [motor_run(0.2 / n, rule, n) for n in (400, 800, 1600, 3200)]
    errors = [abs(run - exact) for run in runs]
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.05)
    table = runs
    for power in range(order, 4, 3 - order if order == 1 else 2):  # Richardson: even powers of the midpoint rule
        table = [after + (after - before) / (2**power - 1) for before, after in itertools.pairwise(table)]
    assert abs(table[-1] - exact).max() < (1e-9 if order == 2 else 1e-6)


def test_electric_energy_is_balanced():
    """V i = R i^2 + d/dt (L i^2 / 2) + back-emf times i holds for each step of the midpoint rule."""
    dt, motor = 1e-3, DCMotor(**WINDING, gear=3)
    stepper = Stepper(World(one_joint("revolute", ROTOR), actuators={"j": motor}), dt, substeps=1)
    state, rng = stepper.reset(), np.random.default_rng(0)
    R, L, E = (WINDING[name] for name in ("resistance", "inductance", "back_emf"))
    for _ in range(50):
        before, voltage = state, rng.uniform(-24, 24)
        state, report = stepper.step(state, [voltage])
        i0, i1, mean = before.actuators[-1], state.actuators[-1], report.force[0] / (3 * WINDING["torque_constant"])
        speed = 3 * (before.v[0] + state.v[0]) / 2
        terms = voltage * mean, R * mean**2, L * (i1**2 - i0**2) / (2 * dt), E * speed * mean
        assert terms[0] - sum(terms[1:]) == pytest.approx(0, abs=1e-12 * max(map(abs, terms)))


def test_a_locked_rotor_has_the_current_of_its_circuit():
    """i+ = (i (L/h - R/2) + V) / (L/h + R/2) by the midpoint rule, and the voltage is limited."""
    robot, L, R = one_joint("revolute", 1e9), WINDING["inductance"], WINDING["resistance"]
    stepper = Stepper(World(robot, actuators={"j": DCMotor(**WINDING, voltage_limit=24)}), 1e-3, substeps=1)
    state, current = stepper.reset(), 0.0
    for _ in range(100):
        state, _ = stepper.step(state, [1e3])
        current = (current * (L / 1e-3 - R / 2) + 24) / (L / 1e-3 + R / 2)
        assert state.actuators[-1] == pytest.approx(current, rel=1e-8)
    slow = motor_run(0.05, "implicit_midpoint", 60, robot)[1]
    assert slow == pytest.approx(12 / R, rel=1e-6), "currents much faster than a step do not oscillate"


@pytest.mark.filterwarnings("ignore:the energy is off")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ground", [None, Ground(height=-0.5)])
def test_all_carriers_have_the_same_bits(rule, ground, tmp_path):
    world = World(UR5, actuators=every_kind(UR5), ground=ground)

    def control(t, q=None, v=None):
        return np.sin(50 * t + np.arange(6))

    q0, u = np.full(6, 0.3), np.array([control(t) for t in 1e-3 * np.arange(40)])
    simulation = Simulation(world, controller=control, integrator=rule, seed=7)
    run = simulation.run(0.04, q0)
    stepper = Stepper(world, integrator=rule)
    state, forces = stepper.reset(q0, seed=7), []
    for x in u:
        state, report = stepper.step(pickle.loads(pickle.dumps(state)), x)
        forces.append(report.force)
    assert np.array_equal(state.q, run.q[-1]) and np.array_equal(run.tau[:-1], forces)
    assert treesim.replay(run, controller=control).same
    simulation.run(0.015, q0).save(path := tmp_path / "run.npz")
    assert np.array_equal(simulation.run_from(0.025, Trajectory.load(path)).q[-1], run.q[-1])
    runs = treesim.rollout(world, np.tile(q0, (3, 1)), np.zeros(6), u, integrator=rule, seed=7)
    assert abs(runs.q[0, -1] - state.q).max() < 1e-13 and abs(runs.q[1, -1] - state.q).max() > 1e-6
    alone = treesim.rollout(world, q0, np.zeros(6), u, integrator=rule, seed=7, threads=1)
    assert np.array_equal(alone.q[0], runs.q[0])
    batch = BatchStepper(world, 3, integrator=rule, seed=7)
    batch.put(slice(None), q0, np.zeros(6))
    for k, x in enumerate(u):
        batch.step(x)
        batch = pickle.loads(pickle.dumps(batch)) if k == 20 else batch
    assert np.array_equal(batch.q, runs.q[:, -1])
    batch.put([1], q0, np.zeros(6), (7, 0, 0))
    for x in u:
        batch.step(x)
    assert np.array_equal(batch.q[1], runs.q[0, -1]), "put begins the memory of a row again"


def test_a_step_taken_again_has_the_same_commands():
    """Contact points and wrenches of pairs are those of the step that was taken, with external forces, too."""
    robot = treesim.load("go2", base="floating")
    world = World(robot, ground=Ground(), actuators={"*": PositionServo(60, 2, delay=0.004, lag=0.003)})
    stepper, q = Stepper(world), robot.neutral()
    q[2], q[7:] = 0.5, np.tile([0.0, 0.8, -1.5], 4)
    q = treesim.standing(robot, q, Ground())
    state, target = stepper.reset(q), np.concatenate([np.zeros(6), np.tile([0.1, 0.7, -1.4], 4)])
    for _ in range(100):
        before = state
        state, report = stepper.step(before, target, {robot.body_names[0]: [5.0, 0, 0, 0, 0, 0]})
    points, wrench = report.contact.points, report.contact.wrench_array
    assert len(points) >= 3 and points["force"].sum(axis=0) == pytest.approx(wrench[1:, :3].sum(axis=0), abs=1e-9)


def test_policies_command_actuators():
    def policy(t, q, v, p, u):
        u[:] = p[0] * (0.5 - q)

    world = World(one_joint(), actuators={"j": Motor(delay=0.005)})
    runs = treesim.rollout(world, [0.0], [0.0], policy, steps=30, policy_parameters=[[20.0], [40.0]])
    plain = treesim.rollout(world.robot, [0.0], [0.0], policy, steps=25, policy_parameters=[[20.0], [40.0]])
    assert not runs.v[:, :5].any() and runs.v[:, 5] == pytest.approx(plain.v[:, 0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motor(delay=-1e-3), "delay of Motor must be a time in seconds, not negative.*got -0.001"),
        (lambda: Motor(delay=(0.2, 0.1)), "delay of Motor must be .* or a pair .least, most. of them"),
        (lambda: Motor(delay="late"), "delay of Motor must be"),
        (lambda: Motor(delay=(0.0, math.nan)), "delay of Motor must be"),
        (lambda: Motor(lag=-1.0), "lag of Motor must be a number"),
        (lambda: Motor(rate_limit=0.0), "rate_limit of Motor must be a number, finite, above 0"),
        (lambda: Motor(before="first"), "before of Motor needs delay, lag or rate_limit"),
        (lambda: Motor(delay=0.1, before="start"), 'before="start" of Motor would be a position'),
        (lambda: Motor(delay=0.1, before="then"), "before must be 'zero' or 'first' or 'start', got 'then'"),
        (lambda: Motor(interpolate=True), "interpolate of Motor is for delayed controls"),
        (lambda: PositionServo(1, 1, period=0.01), 'PositionServo: period is that of a digital controller.*"explicit"'),
        (lambda: DCMotor(resistance=1, torque_constant=1, inductance=-1), "inductance of DCMotor"),
    ],
)  # fmt: skip
def test_invalid_parameters(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("actuator", "options", "error", "message"),
    [
        (Motor(delay=0.2565), {}, ArgumentError, "joint 'j': a delay of 0.2565 s is 256.5 steps of 0.001 s: at most"),
        (PositionServo(1, 1, gains="explicit", period=7e-4), {"substeps": 2}, ArgumentError, "period 0.0007 s must be"),
        (DCMotor(**WINDING), {"integrator": "rk4"}, UnsupportedError, "integrator 'rk4' does not simulate inductance"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("made", [Stepper, Simulation, BatchStepper])
def test_what_steps_do_not_support(made, actuator, options, error, message):
    world = World(one_joint(), actuators={"j": actuator})
    with pytest.raises(error, match=message):
        made(world, *([2] if made is BatchStepper else []), dt=1e-3, **options)


def test_limits_just_below():
    Stepper(World(one_joint(), actuators={"j": Motor(delay=0.256)}))
    Stepper(World(one_joint(), actuators={"j": PositionServo(1, 1, gains="explicit", period=5e-4)}), substeps=2)


def test_states_of_other_actuators_are_refused():
    world = World(one_joint(), actuators={"j": Motor(delay=0.01)})
    stepper, simulation = Stepper(world), Simulation(world)
    foreign = Stepper(one_joint()).reset()
    with pytest.raises(
        ArgumentError, match=r"its memory of actuators has shape \(0,\), but \(11,\) is needed: begin wit"
    ):
        stepper.step(foreign, [0.0])
    with pytest.warns(treesim.ContinuationWarning, match="no memory of this world's actuators"):
        simulation.run_from(0.01, foreign)


@pytest.mark.parametrize(("kd", "warns"), [(1.9, True), (2.1, False), (399.0, False), (401.0, True)])
def test_sampled_gains_that_oscillate_are_named(kd, warns):
    """Stable are kp T/2 < kd < 2 I/T: 2 and 400 here; the motion agrees."""
    servo = PositionServo(800, kd, gains="explicit", period=5e-3)
    world = World(one_joint(), actuators={"j": servo})
    if warns:
        with pytest.warns(treesim.LightJointWarning, match="'j'.*sampled every 0.005 s: on its least inertia of 1 t"):
            stepper = Stepper(world, 5e-3, substeps=1)
    else:
        stepper = Stepper(world, 5e-3, substeps=1)
    state = stepper.reset([1.0])
    for _ in range(4000):
        state, _ = stepper.step(state, [0.0])
    assert (abs(state.q[0]) > 1) == warns
