"""Joint limits and Coulomb friction of joints, with every backend of forward dynamics, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest

import treesim
from tests.contact.scenes import RULES, G, pendulum, simulate
from treesim.model import generators

STOP = 0.5  # rad


def rotor(friction, inertia=1.0):
    """A wheel about a vertical axis, which gravity does not turn."""
    body = treesim.Body(
        "wheel", 0, treesim.Joint("axle", "continuous", axis=(0, 0, 1), joint_friction=friction),
        treesim.Inertia(1.0, (0, 0, 0), np.diag([inertia] * 3)),
    )  # fmt: skip
    return treesim.Tree("rotor", [body])


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
@pytest.mark.parametrize("rule", RULES)
def test_a_pendulum_stops_at_its_limit_and_rests_there(rule, dt):
    """C16: no overshoot, no rebound."""
    robot = pendulum(lower=-STOP, upper=STOP)
    run = simulate(robot, [0.0], duration=1.0, dt=dt, integrator=rule)
    assert run.q.max() < STOP + 1e-9
    after = run.q[:, 0] > STOP - 1e-9
    assert after.sum() > 0.5 / dt and np.abs(run.v[after][1:]).max() < 1e-12
    assert run.solver_info[:, 2].max() <= 0 and run.solver_info[-1, 1] < 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_the_limit_carries_what_gravity_asks_for(rule):
    """The impulse of the limit is h g cos(0.5), upward against the fall; the midpoint rule's is that of gravity half a
    step later in free fall, where cos(q) is less by h^2 g cos(0.5) sin(0.5) / 4."""
    stepper = treesim.Stepper(pendulum(upper=STOP), substeps=1, integrator=rule)
    state = stepper.reset([STOP])
    for _ in range(5):
        state, _ = stepper.step(state)
    (kept,) = state.contact[np.abs(state.contact) > 0]
    fallen = 1e-6 * G * np.cos(STOP) / 4 if rule == "implicit_midpoint" else 0.0
    assert abs(kept) == pytest.approx(1e-3 * G * np.cos(STOP + fallen), rel=1e-10)


def test_without_limits_it_falls_through():
    world = treesim.World(pendulum(upper=STOP), use_limits=False)
    assert simulate(world, [0.0], duration=0.8).q.max() > 1.0


def test_both_limits_of_a_joint_between_which_is_nothing():
    robot = pendulum(lower=0.2, upper=0.2)
    run = simulate(robot, [0.2], [1.0], duration=0.1)
    assert np.abs(run.q - 0.2).max() < 1e-12 and np.abs(run.v).max() < 1e-12


def test_a_start_beyond_a_limit_comes_back_without_speed():
    run = simulate(pendulum(upper=STOP), [STOP + 0.01], duration=0.1)
    assert np.abs(run.v).max() < 1e-12
    assert STOP < run.q[-1, 0] < STOP + 1.1e-5 and (np.diff(run.q[:, 0]) < 1e-12).all()


@pytest.mark.parametrize("speed", [1.0, 30.0, 300.0])
def test_no_speed_passes_a_limit(speed):
    run = simulate(pendulum(lower=-STOP, upper=STOP), [0.0], [speed], duration=0.6)
    assert run.q.max() < STOP + 1e-9


@pytest.mark.parametrize("rule", RULES)
def test_friction_above_the_load_holds_and_below_it_slides(rule):
    """C17: 9.81 N m, held by 9.82 N m for ten seconds to the last bit, not by 9.80."""
    held = simulate(pendulum(joint_friction=9.82), [0.0], duration=10.0, dt=5e-3, integrator=rule)
    assert not held.q.any() and not held.v.any()
    slides = simulate(pendulum(joint_friction=9.80), [0.0], duration=1.0, dt=5e-3, integrator=rule)
    assert slides.q[-1, 0] > 1e-3


@pytest.mark.parametrize(("rule", "angle"), [("implicit_midpoint", 6.25), ("semi_implicit_euler", 6.2475)])
def test_a_rotor_stops_when_friction_has_taken_its_momentum(rule, angle):
    """C17: 5 rad/s, 2 N m on 1 kg m^2: 2.5 s, v^2 / (2 f) = 6.25 rad; Euler's angle lags by half a step, h v / 2."""
    run = simulate(rotor(2.0), [0.0], [5.0], duration=2.6, integrator=rule)
    t = 1e-3 * np.arange(1, 2601)
    np.testing.assert_allclose(run.v[:, 0], np.maximum(5 - 2 * t, 0), rtol=0, atol=1e-10)
    assert run.q[-1, 0] == pytest.approx(angle, abs=1e-9)
    assert (np.diff(run.q[2501:, 0]) == 0).all()


def test_friction_work_is_the_lost_energy():
    robot = rotor(2.0)
    stepper = treesim.Stepper(robot, substeps=1)
    state, work = stepper.reset([0.0], [5.0]), 0.0
    for _ in range(2600):
        state, report = stepper.step(state)
        work += float(report.passive_work)
    assert work == pytest.approx(-12.5, rel=1e-9)


def test_a_push_against_friction():
    """2 N m of friction, 3 N m of torque on 1 kg m^2: 1 rad/s^2 from rest on; 1.9 N m do nothing."""
    robot = rotor(2.0)
    assert not simulate(robot, [0.0], duration=0.1, control=np.array([1.9])).q.any()
    run = simulate(robot, [0.0], duration=0.5, control=np.array([3.0]))
    assert run.v[-1, 0] == pytest.approx(0.5, rel=1e-12) and run.q[-1, 0] == pytest.approx(0.125, rel=1e-9)


def test_a_load_on_one_joint_and_friction_on_every_other():
    """Friction of one joint of a chain sticks exactly while the others move."""
    base = generators.chain(4, ("revolute",))
    bodies = [
        replace(b, joint=replace(b.joint, joint_friction=1e3 if k == 1 else 0.0))
        for k, b in enumerate(base.bodies)
    ]  # fmt: skip
    robot = treesim.Tree("chain", bodies, gravity=base.gravity)
    run = simulate(robot, np.full(4, 0.3), duration=0.3)
    assert np.abs(run.q[:, 1] - 0.3).max() < 1e-10 and np.abs(run.q[-1] - 0.3).max() > 0.1


BACKENDS = [name for name in treesim.available("dynamics") if name != "auto"]
EVERYDAY = {"crba_ltdl", "rjk", "reference", "conjugate_gradient", "constraint_force"}  # one of each kind


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=[pytest.mark.slow] * (name not in EVERYDAY)) for name in BACKENDS]
)
def test_every_backend_meets_limits_and_friction_alike(backend):
    """A double pendulum with friction that hits its limits: the states of all backends are those of dense algebra."""
    inertia = treesim.Inertia(1.0, (1.0, 0, 0), np.diag([0.01, 0.1, 0.1]))
    place = treesim.Placement(translation=(1.0, 0, 0))
    first = treesim.Joint("first", "revolute", axis=(0, 1, 0), lower=-STOP, upper=0.3, joint_friction=0.5)
    second = treesim.Joint(
        "second", "revolute", placement=place, axis=(0, 1, 0), lower=-0.4, upper=0.4, joint_friction=0.2
    )
    robot = treesim.Tree("two", [treesim.Body("a", 0, first, inertia), treesim.Body("b", 1, second, inertia)])
    run, exact = (
        simulate(robot, [0.1, 0.0], [1.0, 2.0], duration=0.25, dt=5e-3, backend=name) for name in (backend, "aba")
    )
    scale = 1e-6 if backend.startswith("conjugate") else 1e-10
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=scale)
    assert run.q[:, 1].max() == pytest.approx(0.4, abs=1e-9)


def test_only_states_that_reach_a_limit_go_through_the_stage(monkeypatch):
    """Of a batch in which some swing freely and some into their limit each moves as it does alone."""
    hinge = treesim.Joint("hinge", "revolute", axis=(0, 1, 0), lower=-0.5, upper=0.5)
    robot = treesim.Tree("pendulum", [treesim.Body("rod", 0, hinge, treesim.Inertia(1.0, (0, 0, -1.0)))])
    stepper = treesim.Stepper(robot, dt=1e-3, substeps=1)
    seen = []
    run = type(stepper.code.stage).run
    monkeypatch.setattr(
        type(stepper.code.stage),
        "run",
        lambda self, given, *more: (seen.append(len(given.q)), run(self, given, *more))[1],
    )
    q, v = np.linspace(-0.4, 0.4, 20)[:, None], np.zeros((20, 1))
    q[-3:], v[-3:] = 0.4, 3.0
    many, alone = stepper.reset(q, v), [stepper.reset(*state) for state in zip(q, v, strict=True)]
    for _ in range(60):
        many, alone = stepper.step(many)[0], [stepper.step(state)[0] for state in alone]
    assert 3 in seen and max(seen) == 3
    for k, state in enumerate(alone):
        np.testing.assert_allclose(many.q[k], state.q, rtol=0, atol=1e-14)
    assert (many.q <= 0.5 + 1e-12).all() and (many.v[-3:] < 0).all()  # these have met their limit and fall back
