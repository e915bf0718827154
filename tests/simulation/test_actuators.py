"""Steps of worlds with actuators: closed forms, limits, energy, all ways to step, derivatives, and refusals."""

import warnings

import numpy as np
import pytest

import treesim
from tests.coupled import coupled
from tests.differentiation.test_linearize import differences, matrices
from treesim import Body, DCMotor, Inertia, Joint, Motor, PositionServo, Tree, UnsupportedError, VelocityServo, World
from treesim.kernels.stepping.rules import RULES
from treesim.simulation import step
from treesim.simulation.control import StatelessController

INERTIA = 0.5  # kg m^2
FREE = {"use_limits": False, "use_joint_friction": False}
IMPLICIT = [name for name, rule in RULES.items() if rule.implicit]
LIMITS = {"effort_limit": 30.0, "velocity_limit": 2.0}
ACTUATORS = {
    "motor": Motor(gear=5, rotor_inertia=1e-3, **LIMITS),
    "servo": PositionServo(2000, 50, **LIMITS),
    "sampled": PositionServo(200, 5, gains="explicit", **LIMITS),
    "velocity": VelocityServo(100, **LIMITS),
    "curve": PositionServo(2000, 50, effort_limit=30, curve=((0, 90), (2, 0))),
    "dc": DCMotor(resistance=0.5, torque_constant=0.05, gear=50, voltage_limit=6, current_limit=10),
}


def wheel(actuator, **joint) -> World:
    """A body about z."""
    body = Body("body", 0, Joint("joint", "continuous", **joint), Inertia(2.0, rotational=INERTIA * np.eye(3)))
    return World(Tree("wheel", [body]), actuators={"joint": actuator})


def arm(actuator) -> World:
    return World(treesim.load("ur5"), actuators={"*": actuator}, **FREE)


def states(robot, count, seed=0):
    """Return states and targets, some of them far beyond the limits of the actuators."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    return q, 3 * rng.normal(size=(count, robot.nv)), 5 * rng.normal(size=(count, robot.nv))


@pytest.mark.parametrize("rule", RULES)
def test_a_motor_turns_its_rotor_too(rule):
    """The acceleration is N u / (I + N^2 J), and the force N u."""
    stepper = treesim.Stepper(wheel(Motor(gear=10, rotor_inertia=1e-3)), 1e-3, integrator=rule)
    after, report = stepper.step(stepper.reset(), [0.3])
    assert after.v[0] / 1e-3 == pytest.approx(3 / (INERTIA + 100e-3), rel=1e-12) and report.force[0] == 3


def test_a_dc_motor_follows_its_closed_form():
    motor = DCMotor(resistance=0.5, torque_constant=0.05, back_emf=0.06, gear=20)
    control = np.full((1, 1000, 1), 12.0)
    v = treesim.rollout(wheel(motor), [[0.0]], [[0.0]], control, 1e-3, integrator="rk4").v[0, :, 0]
    rate, no_load, t = 20**2 * 0.05 * 0.06 / 0.5 / INERTIA, 12 / (20 * 0.06), np.arange(1, 1001) * 1e-3
    np.testing.assert_allclose(v, no_load * (1 - np.exp(-rate * t)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dt", [1e-4, 1e-3, 5e-3])
def test_no_motor_exceeds_its_terminal_speed(rule, dt):
    motor = Motor(gear=10, effort_limit=500, velocity_limit=5)
    stepper = treesim.Stepper(wheel(motor), dt, integrator=rule, substeps=1)
    state, speeds = stepper.reset(), []
    for _ in range(round(0.1 / dt)):
        state, report = stepper.step(state, [100.0])
        speeds.append(state.v[0])
        assert report.force[0] <= 500
    assert max(speeds) <= 5 * (1 + 1e-14) and speeds[-1] > 5 * (1 - 1e-6) and np.diff(speeds).min() > -1e-12


@pytest.mark.parametrize("kind", ACTUATORS)
@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.implicit or rule.stages == 1])
def test_forces_are_within_their_limits_at_the_speed_where_they_act(kind, rule):
    """In free motion: for implicit integrators at v + theta h qdd, for others at the start of the step."""
    world = arm(ACTUATORS[kind])
    table, limit = world.actuator_table, world.robot.effort_limit
    q, v, u = states(world.robot, 100)
    for dt in (1e-4, 1e-3, 5e-3):
        stepper = treesim.Stepper(world, dt, integrator=rule, substeps=1)
        after, report = stepper.step(stepper.reset(q, v), u)
        theta = stepper.settings.table[1:].reshape(-1, world.robot.nv)[5] if RULES[rule].implicit else 0.0
        line = table.slope * (v + theta * (after.v - v))
        lower, upper = (np.clip(sign * table.stall - line, -limit, limit) for sign in (-1, 1))
        assert (report.force <= upper + 1e-12 * table.stall).all()
        assert (report.force >= lower - 1e-12 * table.stall).all()


@pytest.mark.parametrize("rule", RULES)
def test_saturated_substeps_are_counted(rule):
    """On the effort limit and on the line, and not within them."""
    world = wheel(Motor(effort_limit=50, curve=((0, 100), (10, 0))))
    stepper = treesim.Stepper(world, 1e-3, integrator=rule, substeps=2)
    for speed, torque, count in ((1.0, 60, 2), (1.0, -50, 2), (1.0, 49, 0), (7.0, 60, 2), (7.0, 20, 0), (-7.0, -60, 2)):
        report = stepper.step(stepper.reset([0.1], [speed]), [torque])[1]
        assert report.saturated.tolist() == [count], (speed, torque)
    state = stepper.reset(np.zeros((3, 1)), np.full((3, 1), 7.0))
    assert stepper.step(state, [[60.0], [20], [-60]])[1].saturated.tolist() == [[2], [0], [2]]


@pytest.mark.parametrize("rule", RULES)
def test_the_force_that_is_reported_did_the_work(rule):
    """On a wheel, force times h is the change of momentum, and its work that of kinetic energy."""
    for motor in ACTUATORS.values():
        world = wheel(motor)
        inertia = INERTIA + world.robot.armature[0]
        for v in (-3.0, 0.2, 1.5, 9.0):
            stepper = treesim.Stepper(world, 1e-3, integrator=rule, substeps=1)
            after, report = stepper.step(stepper.reset([0.1], [v]), [4.0])
            assert report.force[0] == pytest.approx(inertia * (after.v[0] - v) / 1e-3, abs=1e-9)
            if RULES[rule].order > 1 and rule != "midpoint":
                done = inertia / 2 * (after.v[0] ** 2 - v**2)
                assert report.control_work == pytest.approx(done, abs=1e-12 if rule == IMPLICIT[0] else 1e-6)


def test_explicit_gains_hold_the_force_of_the_start():
    sampled, exact = (wheel(PositionServo(100, 3, gains=gains)) for gains in ("explicit", "implicit"))
    for rule in RULES:
        after = []
        for world in (sampled, exact):
            stepper = treesim.Stepper(world, 1e-2, integrator=rule, substeps=1)
            after.append(stepper.step(stepper.reset([0.1], [1.0]), [0.2])[0].v[0])
        assert after[0] == pytest.approx(1 + 1e-2 * (100 * 0.1 - 3) / INERTIA, rel=1e-13)
        assert (after[0] == after[1]) == (RULES[rule].stages == 1 and not RULES[rule].implicit)


def test_servos_are_gains_in_another_form():
    """With kp and kd for all joints, the results have the same bits."""
    robot = treesim.load("ur5")
    world, plain = World(robot, actuators={"*": PositionServo(50, 2)}), World(robot)
    q, v, u = states(robot, 3)
    runs = treesim.rollout(world, q, v, np.tile(u[:, None], (1, 20, 1)), 1e-3)
    same = treesim.rollout(plain, q, v, np.tile(u[:, None], (1, 20, 1)), 1e-3, kp=50.0, kd=2.0)
    assert np.array_equal(runs.q, same.q) and np.array_equal(runs.v, same.v)


@pytest.mark.filterwarnings("ignore::treesim.LimitWarning")
@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler", "rk4"])
def test_all_ways_to_step_agree(rule):
    robot = treesim.load("go2", base="floating")
    ground = None if rule == "rk4" else treesim.Ground()
    actuators = {"*_hip_*": Motor(gear=6, rotor_inertia=1e-4, **LIMITS), "*": PositionServo(60, 2, **LIMITS)}
    options = FREE if ground is None else {}
    world = World(robot, ground=ground, actuators=actuators, sensors=treesim.JointTorque(), **options)
    q = robot.standing(robot.clamp(np.r_[0, 0, 0, 0, 0, 0, 1, np.tile([0.1, 0.8, -1.5], 4)]))
    u = np.r_[np.zeros(6), np.tile([0.5, 0.9, -1.2], 4)]
    steps, how = 12, {"integrator": rule, "dt": 2e-3}
    stepper = treesim.Stepper(world, **how)
    state, forces = stepper.reset(q), []
    for _ in range(steps):
        state, report = stepper.step(state, u)
        forces.append(report.force)
    with warnings.catch_warnings(action="ignore", category=treesim.DivergedWarning):  # of rk4, with steps this long
        run = treesim.Simulation(world, controller=lambda t, q, v: u, **how).run(steps * 2e-3, q0=q)
    np.testing.assert_allclose(run.v[-1], state.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.tau[:-1], forces, rtol=0, atol=1e-9)
    table = world.actuator_table
    law = table.gain * u + table.kp * (u - np.r_[np.zeros(6), state.q[7:]]) - table.kd * state.v
    upper, lower = (np.clip(s * table.stall - table.slope * state.v, -30, 30) for s in (1, -1))
    np.testing.assert_allclose(run.tau[-1, 6:], np.clip(law, lower, upper)[6:], rtol=0, atol=1e-9)
    rows = [np.tile(x, (9, 1)) for x in (q, np.zeros(robot.nv), u)]
    rolled = treesim.rollout(world, *rows[:2], np.tile(u, (9, steps, 1)), **how)
    np.testing.assert_allclose(rolled.v[:, -1], np.tile(state.v, (9, 1)), rtol=0, atol=1e-9 if ground else 1e-12)
    np.testing.assert_allclose(rolled.sensors["joint_torque"][0], forces, rtol=0, atol=1e-6)
    batch = treesim.BatchStepper(world, 9, **how)
    batch.put(slice(None), *rows[:2])
    for _ in range(steps):
        batch.step(rows[2])
    assert np.array_equal(batch.v, rolled.v[:, -1])


@pytest.mark.parametrize("make", [lambda: treesim.load("ur5"), lambda: coupled(2)], ids=["arm", "mimic"])
def test_the_midpoint_rule_balances_their_energy(make):
    """Of the wheel to rounding; of others to the error of the integrator, which is of order 2."""
    motor = DCMotor(resistance=0.5, torque_constant=0.05, gear=20, rotor_inertia=1e-4, damping=0.1)
    run = treesim.Simulation(wheel(motor), 1e-3, controller=lambda t, q, v: [12 * np.sin(t)]).run(0.3)
    assert abs(run.energy_error).max() < 1e-13 and run.work[-1, 0] > 1e-3
    robot = make()
    world = World(robot, actuators={"*": motor}, **FREE)
    errors = [abs(treesim.Simulation(world, dt, substeps=1).run(0.1).energy_error).max() for dt in (2e-3, 1e-3)]
    assert errors[0] < 1e-2 and errors[0] / errors[1] > 3


@pytest.mark.parametrize("kind", ACTUATORS)
@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler", "rk4"])
def test_derivatives(kind, rule):
    """Of free motion and saturated joints, at states where no force is near a corner of its limits."""
    world = arm(ACTUATORS[kind])
    stepper = treesim.Stepper(world, 1e-3, integrator=rule, substeps=1)
    q, v, u = (x[0] for x in states(world.robot, 1, seed=3))
    ahead, behind = differences(stepper, q, v, u, 1e-6)
    assert abs(matrices(treesim.linearize(stepper, q, v, u)) - (ahead + behind) / 2).max() < 1e-7


def test_gradients_of_rollouts():
    world = World(treesim.load("ur5"), actuators={"wrist*": ACTUATORS["dc"], "*": PositionServo(200, 9)}, **FREE)
    q, v, u = states(world.robot, 1)
    v, control, rng = 0.1 * v, np.tile(0.1 * u[:, None], (1, 5, 1)), np.random.default_rng(5)
    runs, pullback = treesim.rollout_vjp(world, q, v, control, dt=2e-3)
    weights, d = rng.normal(size=runs.v.shape), rng.normal(size=control.shape)
    found = float((pullback(np.zeros(runs.q.shape), weights).control * d).sum())

    def value(h):
        return float((weights * treesim.rollout(world, q, v, control + h * d, dt=2e-3).v).sum())

    assert found == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, rel=1e-6)


def test_gains_that_differ_between_rollouts():
    servo, motor = arm(PositionServo(20, 1)), arm(Motor(gear=2))
    q, v, u = states(servo.robot, 2)
    kp = np.array([[20.0] * 6, [40.0] * 6])
    runs = treesim.rollout(servo, q, v, u[:, None], 1e-3, model_parameters={"kp": kp})
    for k, gain in enumerate((20, 40)):
        alone = treesim.rollout(arm(PositionServo(gain, 1)), q[k : k + 1], v[k : k + 1], u[k : k + 1, None], 1e-3)
        np.testing.assert_allclose(runs.v[k], alone.v[0], rtol=0, atol=1e-12)
    with pytest.raises(UnsupportedError, match=r"kp of joint .*only position servos have gains that differ"):
        treesim.rollout(motor, q, v, u[:, None], 1e-3, model_parameters={"kp": kp})


def test_what_does_not_simulate_actuators_says_so(monkeypatch):
    class Live(StatelessController):
        stiffness = damping = np.zeros(1)
        torque = staticmethod(lambda t, q, v: np.zeros(1))

    world = wheel(Motor())
    with pytest.raises(UnsupportedError, match=r"has actuators.*live pages"):
        treesim.Simulation(world, controller=Live())
    monkeypatch.setattr(step.plugins, "get", lambda kind, name: object())
    with pytest.raises(UnsupportedError, match="'own' does not simulate the actuators of <World of 'wheel'"):
        step.check_rows(world, "own")
