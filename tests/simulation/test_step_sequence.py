"""Steps of one state as one call: the same results as by calls one by one."""

import copy
import pickle

import numpy as np
import pytest

import treesim
from tests.simulation.test_step_result import PUSHED, START, box
from treesim.engine.call.generic import runs_compiled
from treesim.simulation.step_sequence import PartCode, ResultBlocks, StepSequence

pytestmark = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python")
RULES = ("implicit_midpoint", "semi_implicit_euler")


def case(name):
    """A stepper's robot or world, its start, and a control."""
    if name == "contact":
        return box(), START, PUSHED, np.array([0, 0, 0, 0.01, 0, 0])
    robot = treesim.load("ur5" if name == "free" else "panda")
    q = (robot.lower + robot.upper) / 2  # far from limits, near which steps go one by one
    return robot, q, np.full(robot.nv, 0.1), np.linspace(-1, 1, robot.nv)


def one_by_one(stepper):
    """The same stepper without sequences."""
    other = pickle.loads(pickle.dumps(stepper))
    other.code.sequence = lambda count, *_: StepSequence(PartCode(None, None, stepper.code._shapes), count)
    return other


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["contact", "free", "mimic joints"])
def test_one_call_gives_the_bits_of_several(name, rule):
    robot, q, v, control = case(name)
    stepper = treesim.Stepper(robot, 2e-3, integrator=rule, substeps=2)
    other = one_by_one(stepper)
    state = same = stepper.reset(q, v)
    for _ in range(10):
        state, report = stepper.step(state, control)
        same, expected = other.step(same, control)
        for key in ("q", "v", "contact"):
            assert np.array_equal(getattr(state, key), getattr(same, key)), key
        for key in ("force", "control_work", "passive_work", "status"):
            assert np.array_equal(getattr(report, key), getattr(expected, key)), key
        for key in ("wrench", "pairs", "solver_info"):
            assert np.array_equal(getattr(report.contact, key), getattr(expected.contact, key)), key
    assert report.ok


def test_sequences_are_used():
    for name in ("contact", "free", "mimic joints"):
        robot, q, v, control = case(name)
        stepper = treesim.Stepper(robot, 1e-3)
        state = stepper.reset(q, v)
        found = stepper.code.sequence(1).run(state.q, state.v, control, state.contact)
        assert isinstance(found, ResultBlocks) and found.solved


def test_batches_need_no_sequence():
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot, 1e-3, substeps=1)
    state, report = stepper.step(stepper.reset(np.zeros((3, robot.nq))))
    assert report.ok and not stepper.code._sequences
    stepper.step(stepper.reset(np.zeros(robot.nq)))
    assert stepper.code._sequences
    again, report = stepper.step(stepper.reset(np.zeros((3, robot.nq))))
    assert report.ok and np.array_equal(again.q, state.q) and again.contact.shape == state.contact.shape


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("substeps", [1, 2])
def test_parts_near_joint_limits_need_the_contact_solve(rule, substeps):
    robot = treesim.load("ur5")
    stepper = treesim.Stepper(robot, 1e-3, integrator=rule, substeps=substeps)
    upper, still = robot.clamp(np.full(robot.nq, 1e3)), np.zeros(robot.nv)
    for q, alone in ((upper - 1.0, True), (upper, False)):
        found = stepper.code.sequence(2).run(q, still, still, None)
        assert (found is not None) == alone  # two parts near limits are taken one by one
    q, v = upper - 1e-3, np.full(robot.nv, 0.7)  # the limits act after some steps
    state = same = stepper.reset(q, v)
    other, impulses = one_by_one(stepper), []
    for _ in range(5):
        state, report = stepper.step(state)
        same, expected = other.step(same)
        for key in ("q", "v", "contact"):
            assert np.array_equal(getattr(state, key), getattr(same, key)), key
        assert np.array_equal(report.contact.solver_info, expected.contact.solver_info)
        assert report.ok
        impulses.append(np.abs(state.contact).max())
    assert impulses[0] == 0.0 and impulses[-1] > 0.0
    assert np.all(state.q <= upper + 1e-9)


def test_steps_that_fail_are_explained_by_calls_one_by_one():
    stepper = treesim.Stepper(treesim.load("ur5"), 1e-3)
    state = stepper.reset()
    state.v[2] = 1e200
    after, report = stepper.step(state)
    assert not report.ok and not np.isfinite(after.v).all()
    with pytest.raises(treesim.NonFiniteError):
        report.check()


def test_results_are_copied_and_pickled():
    stepper = treesim.Stepper(box(), 1e-3, substeps=2)
    state, report = stepper.step(stepper.reset(START, PUSHED))
    for other in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert np.array_equal(stepper.step(other)[0].q, stepper.step(state)[0].q)
    again = pickle.loads(pickle.dumps(report))
    assert np.array_equal(again.contact.wrench, report.contact.wrench)


def test_arrays_of_a_state_are_made_when_read():
    robot, q, v, control = case("contact")
    stepper = treesim.Stepper(robot, 1e-3)
    state, report = stepper.step(stepper.reset(q, v), control)
    assert set(vars(state)).isdisjoint({"q", "v", "contact"})
    for same in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert np.array_equal(same.q, state.q) and np.array_equal(same.contact, state.contact)
        assert np.array_equal(stepper.step(same, control)[0].q, stepper.step(state, control)[0].q)
    assert state.q is state.q and np.array_equal(pickle.loads(pickle.dumps(report)).force, report.force)
    with pytest.raises(AttributeError, match="'State' object has no attribute 'qdd'"):
        _ = state.qdd
