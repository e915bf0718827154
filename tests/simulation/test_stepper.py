"""The stepper: one state and many, reports, copies, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.engine.call.generic import runs_compiled

ROBOT = trees.tree("random_a")


def states(count, robot=ROBOT, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([robot.random(rng) for _ in range(count)]), 0.3 * rng.normal(size=(count, robot.nv))


def through(stepper, q, v, u, steps=5):
    state = stepper.reset(q, v)
    for _ in range(steps):
        state, report = stepper.step(state, u)
        report.check()
    return state, report


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_a_batch_is_its_states(engine):
    q, v = states(70)
    stepper = treesim.Stepper(ROBOT, 1e-3, engine=engine)
    u = 0.1 * np.ones(ROBOT.nv)
    many, report = through(stepper, q, v, u)
    assert many.t == pytest.approx(5e-3) and report.energy.shape == report.control_work.shape == (70,)
    for b in (0, 33, 69):
        one, details = through(stepper, q[b], v[b], u)
        np.testing.assert_allclose(many.q[b], one.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(report.control_work[b], details.control_work, rtol=1e-9, atol=1e-14)


def test_steps_are_those_of_simulations_and_rollouts():
    q, v = states(1)
    run = treesim.Simulation(ROBOT, dt=2e-3).run(0.02, q[0], v[0])
    rolled = treesim.rollout(ROBOT, q, v, steps=10, dt=2e-3)
    state, report = through(treesim.Stepper(ROBOT, 2e-3), q[0], v[0], None, 10)
    assert np.array_equal(state.q, run.q[-1]) and np.array_equal(state.v, run.v[-1])
    assert report.energy == pytest.approx(run.energy[-1], rel=1e-12)
    np.testing.assert_allclose(rolled.q[0], run.q[1:], rtol=0, atol=1e-12)


def test_gains_follow_targets_as_controllers_do():
    robot = treesim.load("ur5")
    target, q = np.full(6, 0.4), np.zeros(6)
    stepper = treesim.Stepper(robot, 2e-3, kp=80.0, kd=4.0)
    state, report = through(stepper, q, np.zeros(6), target, 20)
    pd = treesim.control.PD(robot, target, kp=80.0, kd=4.0)
    run = treesim.Simulation(robot, dt=2e-3, controller=pd).run(0.04, q)
    np.testing.assert_allclose(state.q, run.q[-1], rtol=0, atol=1e-12)
    assert (np.abs(report.force) <= robot.effort_limit).all()


def test_pickles_and_copies_give_the_same_bits():
    q, v = states(3)
    stepper = treesim.Stepper(ROBOT, 1e-3, integrator="semi_implicit_euler", gravity=(0, 0, -3), threads=1)
    expected = through(stepper, q, v, None)[0]
    for other in (pickle.loads(pickle.dumps(stepper)), copy.deepcopy(stepper)):
        found = through(other, q, v, None)[0]
        assert np.array_equal(found.q, expected.q) and np.array_equal(found.v, expected.v)
    state, report = pickle.loads(pickle.dumps(stepper.step(expected)))
    again, details = stepper.step(pickle.loads(pickle.dumps(expected)))
    assert np.array_equal(state.q, again.q) and np.array_equal(report.energy, details.energy)


def test_failed_states_are_told_and_the_others_stepped():
    q, v = states(4)
    v[2] = 1e200
    stepper = treesim.Stepper(ROBOT, 1e-3)
    with np.errstate(all="ignore"):
        after, report = stepper.step(stepper.reset(q, v))
    assert report.status.tolist() == [0, 0, 2, 0] and not report.ok and repr(report) == "<Report: 1 not stepped>"
    assert np.isfinite(after.q[[0, 1, 3]]).all()
    assert np.isnan(report.energy).tolist() == [False, False, True, False]
    with pytest.raises(treesim.NonFiniteError, match="state 2: "):
        report.check()


def test_backends_in_the_interpreter_tell_of_failures_too():
    q, v = states(2)
    v[1] = 1e200
    stepper = treesim.Stepper(ROBOT, 1e-3, backend="reference")
    after, report = stepper.step(stepper.reset(q, v))
    assert report.status.tolist() == [0, 2] and np.isfinite(after.q[0]).all()
    with pytest.raises(treesim.NonFiniteError, match="state 1: "):
        report.check()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: treesim.Stepper(ROBOT, dt=0), "dt must be"),
        (lambda: treesim.Stepper("ur5"), "must be a Tree"),
        (lambda: treesim.Stepper(ROBOT, substeps=0), "substeps must be"),
        (lambda: treesim.Stepper(ROBOT, dt=10.0), "20000 substeps of 0.0005 s"),
        (lambda: treesim.Stepper(ROBOT, integrator="rk5"), "unknown integrator 'rk5'"),
        (lambda: treesim.Stepper(ROBOT, kp=-1.0), "kp must be finite and not negative"),
        (lambda: treesim.Stepper(ROBOT).reset(np.zeros(3)), "q0"),
        (
            lambda: treesim.Stepper(ROBOT).reset(*(x[:n] for x, n in zip(states(3), (2, 3), strict=True))),
            "different numbers",
        ),
        (lambda: step_with(np.zeros(2)), "control"),
        (lambda: step_with(np.full(ROBOT.nv, np.nan)), "is not finite"),
        (lambda: step_with(np.zeros((2, ROBOT.nv))), r"control has shape \(2, "),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(treesim.TreesimError, match=message):
        call()


def step_with(control):
    stepper = treesim.Stepper(ROBOT)
    return stepper.step(stepper.reset(), control)


@pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
def test_a_step_passes_through_few_functions():
    import sys

    stepper = treesim.Stepper(ROBOT, 1e-3, substeps=1)
    q, v = states(64)
    state, u = stepper.reset(q, v), np.zeros((64, ROBOT.nv))
    stepper.step(state, u)
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        stepper.step(state, u)
    finally:
        sys.setprofile(None)
    assert calls < 80


def test_a_stepper_of_single_states_takes_a_batch():
    """Whose code is looked up for a sequence of calls before it is called itself."""
    stepper = treesim.Stepper(treesim.load("ur5"))
    one, _ = stepper.step(stepper.reset(np.full(6, 0.1)))
    many, _ = stepper.step(stepper.reset(np.full((64, 6), 0.1)))
    np.testing.assert_allclose(many.q, np.tile(one.q, (64, 1)), rtol=1e-12)
    again, _ = stepper.step(stepper.reset(np.full((64, 6), 0.1)))
    np.testing.assert_array_equal(again.q, many.q)
