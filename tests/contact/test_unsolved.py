"""Steps in which contact was not solved are told once, with what touched, and `report.ok` is False."""

import warnings

import numpy as np
import pytest

import treesim
from treesim import ContactWarning, Ground, World, free_body
from treesim.contact.base import ContactSolver
from treesim.contact.history import ContactHistory
from treesim.contact.unsolved import is_solved, misses, warn_of_run, warn_of_states, warn_of_step
from treesim.errors import ConvergenceError
from treesim.kernels.contact.layout import INFO, STATE_INFO
from treesim.kernels.contact.problem import relative_velocities


def solve_nothing(problem, impulse, sigma, tolerance, most, memory):
    """A solver that leaves the impulses as they are given, as if all iterations that it may make were in vain."""
    relative_velocities(problem, impulse, sigma)
    return most


def no_memory(rows, q):
    """None."""
    return np.empty(0, q.dtype)


class Idle(ContactSolver):
    """Solves nothing."""

    name, about = "idle", "does nothing"
    kernel = staticmethod(solve_nothing)
    memory = staticmethod(no_memory)


BOX = free_body("crate", "box", (0.2, 0.2, 0.2), 2.0)
WORLD = World(BOX, ground=Ground())
START, ABOVE = np.array([[0, 0, 0.1, 0, 0, 0, 1.0], [0, 0, 1.1, 0, 0, 0, 1.0]])


@pytest.fixture
def warned():
    """The warnings of a test; those before it do not count."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lambda: [str(one.message) for one in caught if issubclass(one.category, ContactWarning)]


def test_a_run_warns_once_with_steps_residual_and_time(warned):
    run = treesim.Simulation(WORLD, contact_solver=Idle()).run(0.1, START)
    (text,) = warned()
    wrong = int((run.residual[:-1] > 1e-5).sum())
    assert f"in {wrong} of 100 steps" in text and f"violated by up to {run.residual.max():.3g} m/s" in text
    assert f"t = {run.t[run.residual.argmax()]:.6g} s" in text and "smaller dt" in text


def test_a_run_that_is_solved_does_not_warn(warned):
    treesim.Simulation(WORLD).run(0.1, START)
    treesim.rollout(WORLD, np.tile(START, (9, 1)), np.zeros(6), steps=20)
    stepper = treesim.Stepper(WORLD)
    assert stepper.step(stepper.reset(START))[1].ok and not warned()


def test_bodies_that_touch_are_named(warned, monkeypatch):
    monkeypatch.setattr("treesim.contact.unsolved.UNSOLVED", -1.0)  # nothing is solved well enough
    treesim.Simulation(WORLD).run(0.01, START)
    assert "'crate' had the largest contact forces" in warned()[0]
    stepper = treesim.Stepper(WORLD)
    state = stepper.reset(START)
    for _ in range(3):
        state, report = stepper.step(state)
    assert not report.ok and "largest contact forces on 'crate'" in warned()[1]
    assert len(warned()) == 2, "a stepper warns once"


def test_residuals_that_are_no_numbers_are_misses():
    solver_info = np.zeros((2, STATE_INFO))
    solver_info[0, INFO.residual], solver_info[1, INFO.position_residual] = np.nan, 1e-3
    assert not is_solved(solver_info).any()
    assert misses(solver_info) == [
        "contact law violated by up to nan m/s or rad/s",
        "position constraints violated by up to 0.001 m/s or rad/s",
    ]


def test_a_solver_may_make_500_iterations():
    stepper = treesim.Stepper(WORLD, contact_solver=Idle(), substeps=1)
    with pytest.warns(ContactWarning):
        _, report = stepper.step(stepper.reset(START))
    assert report.contact.iterations == 2 * 500, "for velocities, and for positions"


@pytest.mark.parametrize("kind", [INFO.residual, INFO.position_residual])
@pytest.mark.parametrize(("residual", "solved"), [(0.96e-5, True), (1.04e-5, False)])
def test_a_step_is_solved_up_to_a_residual(kind, residual, solved, warned):
    solver_info = np.zeros((2, STATE_INFO))
    solver_info[1, kind] = residual
    assert is_solved(solver_info).tolist() == [True, solved] and (misses(solver_info) == []) == solved
    warn_of_states(solver_info[:, kind], "rollouts")
    warn_of_run(ContactHistory(("a",), np.zeros((2, 1, 6)), solver_info), np.arange(2.0), 1.0)
    assert len(warned()) == 0 if solved else 2


@pytest.mark.parametrize(("part", "expected"), [(0.96e-6, False), (1.04e-6, True)])
def test_impulses_may_give_energy_by_rounding(part, expected, warned):
    solver_info = np.zeros((2, STATE_INFO))
    solver_info[1, INFO.certificate] = part * 5.0
    warn_of_run(ContactHistory(("a",), np.zeros((2, 1, 6)), solver_info), np.arange(2.0), 5.0)
    assert ["J of energy gained in a step" in text for text in warned()] == [True] * expected


@pytest.mark.parametrize("bodies", [3, 4])
def test_three_bodies_are_named(bodies, warned):
    solver_info, wrench = np.full((1, STATE_INFO), 1.0), np.ones((1, bodies, 6))
    names = tuple(f"body {k}" for k in range(bodies))
    warn_of_run(ContactHistory(names, wrench, solver_info), np.arange(1.0), 5.0)
    warn_of_step(solver_info[0], np.concatenate([np.zeros((1, 6)), wrench[0]]), names)
    assert [text.count("body ") for text in warned()] == [3, 3]


def test_steppers_say_so_in_the_report(warned):
    stepper = treesim.Stepper(WORLD, contact_solver=Idle())
    _, report = stepper.step(stepper.reset(START))
    assert not report.ok and not report.status.any() and len(warned()) == 1
    with pytest.raises(ConvergenceError, match="contact was not solved: contact law violated by"):
        report.check()
    _, report = stepper.step(stepper.reset(np.stack([ABOVE, START])))
    assert not report.ok
    with pytest.raises(ConvergenceError, match="state 1: contact"):
        report.check()


def test_rollouts_and_batch_steppers_warn_once(warned):
    q0 = np.stack([ABOVE, START])
    treesim.rollout(WORLD, q0, np.zeros(6), steps=5, contact_solver=Idle())
    assert "1 of 2 rollouts, number 1 the worst" in warned()[0]
    batch = treesim.BatchStepper(WORLD, 2, contact_solver=Idle())
    batch.put(slice(None), q0, np.zeros(6))
    for _ in range(3):
        batch.step()
    assert "1 of 2 states" in warned()[1] and len(warned()) == 2


def test_contacts_without_room_are_told(warned, monkeypatch):
    monkeypatch.setattr("treesim.contact.tables.CAPACITY", 2)
    monkeypatch.setattr("treesim.contact.contact_solve.free_memory", lambda: 0)
    world = World(BOX, ground=Ground())
    treesim.Simulation(world).run(0.01, START)
    assert "up to 2 contacts beyond the capacity" in warned()[0]
    stepper = treesim.Stepper(world)
    assert not stepper.step(stepper.reset(START))[1].ok and "2 contacts beyond the capacity" in warned()[1]


def test_energy_that_impulses_give_is_told(warned, monkeypatch):
    monkeypatch.setattr("treesim.contact.unsolved.ENERGY", -1e9)
    treesim.Simulation(WORLD).run(0.01, START)
    assert "J of energy gained in a step" in warned()[0]
