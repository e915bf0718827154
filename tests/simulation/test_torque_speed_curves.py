"""Steps of motors with piecewise linear torque-speed curves: closed forms, corners, all ways to step, and refusals."""

import numpy as np
import pytest

import treesim
from tests.coupled import coupled
from tests.simulation.test_actuators import FREE, INERTIA, arm, states, wheel
from treesim import Motor, PositionServo, World
from treesim.kernels.stepping.rules import RULES

CURVE = ((0.0, 60.0), (10.0, 50.0), (15.0, 20.0), (20.0, 0.0))  # concave at 10, convex at 15
LINES = ((60.0, 1.0), (110.0, 6.0), (80.0, 4.0))  # stall torque and slope of its pieces
IN_LINE = [((0.0, 32.0), (2.0, 0.0)), ((0.0, 32.0), (0.5, 24.0), (1.25, 12.0), (2.0, 0.0))]  # the same line


def time_to(speed) -> float:
    """Return the time [s] in which a wheel reaches a speed at the limit of its motor."""
    ends = np.minimum([v for v, _ in CURVE], speed)
    return sum(
        INERTIA / slope * np.log((stall - slope * a) / (stall - slope * b))
        for (stall, slope), a, b in zip(LINES, ends, ends[1:], strict=False)
    )


@pytest.mark.parametrize("rule", RULES)
def test_a_motor_follows_its_closed_form(rule):
    """Beyond both corners; errors are of the order of the integrator, and of order 2 at corners."""
    end = time_to(17.0)
    order, error = (1, 20) if RULES[rule].order == 1 else (2, 100)
    for count in (50, 100, 200, 400, 800):
        control, h = np.full((1, count, 1), 100.0), end / count
        run = treesim.rollout(wheel(Motor(curve=CURVE)), [[0.0]], [[0.0]], control, h, integrator=rule, substeps=1)
        assert abs(run.v[0, -1, 0] - 17) < error * h**order, (count, abs(run.v[0, -1, 0] - 17) / h**order)


@pytest.mark.parametrize("rule", RULES)
def test_the_terminal_speed_is_that_of_the_curve(rule):
    """At the load of 5 N m, and without one at the speed where the force is 0."""
    for load, terminal in ((5.0, 18.75), (0.0, 20.0)):
        stepper = treesim.Stepper(wheel(Motor(curve=CURVE)), 2e-3, integrator=rule)
        state, wrench = stepper.reset([0.0], [9.0]), {"body": [0, 0, 0, 0, 0, -load]}
        for _ in range(1500):
            state, _ = stepper.step(state, [100.0], f_ext=wrench if load else None)
        assert state.v[0] == pytest.approx(terminal, rel=1e-9)


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.implicit])
def test_corners(rule):
    """The line is that of the piece in which the step begins, in both directions, also for braking."""
    h, world = 1e-3, wheel(Motor(effort_limit=55, curve=CURVE))
    stepper = treesim.Stepper(world, h, integrator=rule, substeps=2)
    ahead = h / 2 * RULES[rule].theta
    for corner, *pieces in ((10.0, *LINES[:2]), (15.0, *LINES[1:])):
        for speed, (stall, slope) in zip((corner, np.nextafter(corner, 99)), pieces, strict=True):
            most = (stall - slope * speed) / (1 + ahead * slope / INERTIA)
            for sign in (1, -1):
                part = treesim.Stepper(world, h / 2, integrator=rule, substeps=1)
                report = part.step(part.reset([0.0], [sign * speed]), [sign * 100.0])[1]
                assert sign * report.force[0] == pytest.approx(most, rel=1e-12) and report.saturated == 1
                report = part.step(part.reset([0.0], [sign * speed]), [-sign * 100.0])[1]
                assert report.force[0] == pytest.approx(-sign * 55) and report.saturated == 1
                assert part.step(part.reset([0.0], [sign * speed]), [sign * 10.0])[1].saturated == 0
    report = stepper.step(stepper.reset([0.0], [[9.99], [14.0]]), np.full((2, 1), 100.0))[1]
    assert report.saturated.tolist() == [[2], [2]]


@pytest.mark.parametrize("servo", [Motor(curve=CURVE), PositionServo(2000, 50, curve=CURVE)])
@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.implicit or rule.stages == 1])
def test_forces_exceed_the_curve_by_the_curvature_within_a_step_only(rule, servo):
    world, rng = wheel(servo), np.random.default_rng(0)
    v = np.r_[rng.uniform(-22, 22, 200), rng.uniform(9.9, 10, 50), rng.uniform(14.9, 15, 50)][:, None]
    for h in (1e-4, 1e-3, 5e-3):
        stepper = treesim.Stepper(world, h, integrator=rule, substeps=1)
        after, report = stepper.step(stepper.reset(np.zeros(v.shape), v), rng.choice([-100, 100], v.shape))
        theta = RULES[rule].theta if RULES[rule].implicit else 0.0
        force, end = np.sign(v) * report.force, np.abs(v + theta * (after.v - v))  # positive where it drives
        allowed = np.interp(end, *np.transpose(CURVE)) - 4 * np.maximum(end - 20, 0)
        crossed = (np.abs(v) <= 10) & (end > 10)
        assert (force <= allowed + 5 * np.where(crossed, end - 10, 0) + 1e-10).all()


def test_all_ways_to_step_agree_to_the_bit():
    world, options = arm(Motor(curve=((0, 60), (1, 50), (3, 20), (5, 0)))), {"dt": 2e-3, "engine": "specialized"}
    q, v, u = states(world.robot, 5)
    u = 20 * u
    stepper, batch = treesim.Stepper(world, **options), treesim.BatchStepper(world, 5, **options)
    rolled = treesim.rollout(world, q, v, np.tile(u[:, None], (1, 12, 1)), **options)
    state, one = stepper.reset(q, v), [stepper.reset(*x) for x in zip(q, v, strict=True)]
    batch.put(slice(None), q, v)
    for _ in range(12):
        state, report = stepper.step(state, u)
        batch.step(u)
        one = [stepper.step(x, control)[0] for x, control in zip(one, u, strict=True)]
    assert report.saturated.any() and not report.saturated.all()
    for found in (state.v, batch.v, np.array([x.v for x in one])):
        assert np.array_equal(found, rolled.v[:, -1])
    run = treesim.Simulation(world, 2e-3, controller=lambda t, q, v: u[0]).run(0.024, q[0], v[0])
    np.testing.assert_allclose(run.v[-1], state.v[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler"])
@pytest.mark.parametrize("name", ["contact", "mimic"])
def test_points_of_one_line_are_that_line(name, rule):
    """In contact, with mimic joints, and under external forces."""
    robot = treesim.load("go2", base="floating") if name == "contact" else coupled(2)
    found, driven = [], robot.nv - 6 if name == "contact" else robot.nv
    for curve in IN_LINE:
        options = {"ground": treesim.Ground()} if name == "contact" else FREE
        world = World(robot, actuators={"*": PositionServo(60, 2, effort_limit=30, curve=curve)}, **options)
        q = robot.standing(robot.clamp(robot.neutral())) if name == "contact" else robot.neutral()
        u = np.r_[np.zeros(robot.nv - driven), np.resize([0.5, 0.9, -1.2], driven)]
        stepper = treesim.Stepper(world, 2e-3, integrator=rule)
        state, wrench = stepper.reset(q), {robot.bodies[-1].name: [0, 0, 0, 3.0, 4.0, 5.0]}
        for _ in range(20):
            state, _ = stepper.step(state, u, f_ext=wrench)
        for _ in range(20):
            state, report = stepper.step(state, u)
        rolled = treesim.rollout(world, [q] * 9, np.zeros((9, robot.nv)), np.tile(u, (9, 20, 1)), 2e-3, integrator=rule)
        found.append((state.v, report.force, rolled.v))
    assert np.abs(found[0][2]).max() > 0.5, "speeds are beyond the first corner"
    for x, y in zip(*found, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-8)


def test_lines_that_differ_between_rollouts():
    """Of other joints than the one with the curve, which keeps it."""
    q, v, u = states(treesim.load("ur5"), 2)

    def world(limit):
        line = Motor(effort_limit=30, velocity_limit=limit)
        curve = Motor(curve=((0, 60), (1, 50), (3, 20), (5, 0)))
        return World(treesim.load("ur5"), actuators={"wrist*": line, "*": curve}, **FREE)

    limits, how = [2.0, 4.0], {"dt": 1e-3, "substeps": 1}
    fields = {
        "actuator_velocity_limit": {name: limits for name in world(3).robot.joint_names if name.startswith("wrist")}
    }
    runs = treesim.rollout(world(3), q, v, 20 * u[:, None], model_parameters=fields, **how)
    for k, limit in enumerate(limits):
        alone = treesim.rollout(world(limit), q[k : k + 1], v[k : k + 1], 20 * u[k : k + 1, None], **how)
        np.testing.assert_allclose(runs.v[k], alone.v[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("control", [100.0, -100.0, 5.0])
@pytest.mark.parametrize("rule", RULES)
def test_derivatives_are_differences_in_each_piece(rule, control):
    """Just inside of each piece; at a corner those of the piece that the step uses, at lower speeds."""
    stepper = treesim.Stepper(wheel(Motor(effort_limit=58, curve=CURVE)), 1e-3, integrator=rule, substeps=1)
    v, h = np.array([[1.0], [5.0], [9.9999], [10.0001], [12.0], [14.9999], [15.0001], [18.0], [-12.0]]), 1e-5
    A, B, *_ = treesim.linearize(stepper, np.zeros(v.shape), v, np.full(v.shape, control))
    sides = [stepper.step(stepper.reset(np.zeros(v.shape), v + x), np.full(v.shape, control))[0].v for x in (h, -h)]
    np.testing.assert_allclose(A[:, 1, 1], ((sides[0] - sides[1]) / (2 * h))[:, 0], rtol=0, atol=1e-8)
    assert (B[:, 1, 0] != 0).all() if control == 5 else (B[:, 1, 0] == 0).all()
    if control == 100:
        assert len(set(A[:8, 1, 1].round(6))) >= 4, "pieces differ, and so does the effort limit"
        at, below = (treesim.linearize(stepper, [0.0], [x], [control]).A[1, 1] for x in (10.0, np.nextafter(10.0, 0)))
        assert at == pytest.approx(below, abs=1e-12) and abs(at - A[3, 1, 1]) > 1e-6


@pytest.mark.parametrize("name", ["free", "contact"])
@pytest.mark.parametrize("rule", ["implicit_midpoint", "semi_implicit_euler"])
def test_gradients_of_rollouts_are_differences(rule, name):
    rng, how, parts = np.random.default_rng(2), {"dt": 1e-3, "integrator": rule}, ("q0", "v0", "control")
    servo = PositionServo(200, 5, effort_limit=55, curve=((0, 60), (1, 50), (3, 20), (5, 0)), lag=0.002)
    if name == "contact":
        robot = treesim.load("go2", base="floating")
        world = World(robot, actuators={"*": servo}, ground=treesim.Ground())
        q, v = treesim.standing(robot, np.tile(robot.clamp(robot.neutral()), (2, 1))), 0.5 * rng.normal(size=(2, 18))
        parts = parts[1:]  # the ground is a kink of q0
        u = q[:, 1:] + 0.3 * rng.normal(size=(2, 18))
    else:
        world = arm(servo)
        q, v, u = states(world.robot, 3)
    u = np.tile(u[:, None], (1, 10, 1))
    runs, pullback = treesim.rollout_vjp(world, q, v, u, **how)
    weights, h = rng.normal(size=runs.v.shape), 1e-6
    found = pullback(None, weights)
    along = {part: rng.normal(size=getattr(found, part).shape) for part in parts}

    def cost(part, x):
        d = {"q0": 0.0, "v0": 0.0, "control": 0.0, part: x * along[part]}
        start = world.robot.integrate(q, np.broadcast_to(d["q0"], v.shape)), v + d["v0"]
        return (weights * treesim.rollout(world, *start, u + d["control"], **how).v).sum()

    for part, direction in along.items():
        wanted = (cost(part, h) - cost(part, -h)) / (2 * h)
        terms = getattr(found, part) * direction
        assert terms.sum() == pytest.approx(wanted, rel=0, abs=1e-6 * np.abs(terms).sum()), part


def test_samples_of_sweeps_are_rollouts(tmp_path):
    """With effort limits that differ, which hold besides the curve."""
    control, how = np.full((20, 1), 100.0), {"dt": 5e-3, "substeps": 1}
    study = treesim.sweep(
        wheel(Motor(curve=CURVE)), [0.0], [2.0], control, steps=20, samples=6, keep="last", workers=1,
        vary={"effort_limit[joint]": [30.0, 52.0]}, store=tmp_path / "s.zarr", **how,
    )  # fmt: skip
    limits = study.summary["effort_limit[joint]"].values
    for k, limit in enumerate(limits):
        alone = treesim.rollout(wheel(Motor(curve=CURVE, effort_limit=limit)), [[0.0]], [[2.0]], control[None], **how)
        np.testing.assert_allclose(study.replay(k).v[0, -1], alone.v[0, -1], rtol=0, atol=1e-12)
    assert set(limits) == {30.0, 52.0}
