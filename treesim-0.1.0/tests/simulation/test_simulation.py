"""Simulation: what ends a run early is told with time and joint, and nothing simulated before is lost."""

import numpy as np
import pytest

import treesim
import treesim.simulation.control
from treesim.errors import DivergedWarning, EffortWarning
from treesim.model import generators
from treesim.simulation import simulation as module
from treesim.simulation.controlled import ControllerError

ROBOT = generators.chain(3)


class Torque:
    """A controller that gives what a function of time says, to every joint."""

    def __init__(self, of_time):
        self.of_time = of_time

    def torque(self, t, q, v):
        return self.of_time(t)


def test_a_controller_that_fails_ends_the_run_with_time_and_joint():
    def torque(t):
        tau = np.zeros(ROBOT.nv)
        tau[1] = np.nan if t > 0.0095 else 0.0
        return tau

    with pytest.warns(DivergedWarning, match="the run has stopped: .* is nan") as details:
        run = treesim.Simulation(ROBOT, controller=Torque(torque)).run(1.0)
    assert details[0].filename == __file__
    assert f"at t = 0.01 s: the controller's torque on joint {ROBOT.joint_names[1]!r} is nan" in run.stopped
    assert len(run.t) == 11 and np.isfinite(run.q).all() and np.isfinite(run.energy).all()
    assert np.isfinite(run.tau).all()


def test_a_diverging_run_names_time_joint_and_remedy_and_keeps_what_was_finite():
    stiff = treesim.Joint("spring", "prismatic", axis=(1, 0, 0))
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, stiff, treesim.Inertia(1.0))])

    class Unstable:
        def torque(self, t, q, v):
            with np.errstate(over="ignore"):
                return -1e9 * q

    run = treesim.Simulation(robot, controller=Unstable(), dt=1e-3).run(1.0, q0=[1.0])
    assert "'spring' moves fastest" in run.stopped and "smaller step" in run.stopped
    assert 1 < len(run.t) < 1000 and np.isfinite(run.q).all() and np.isfinite(run.v).all()


def test_interruption_keeps_what_was_simulated():
    def stop(done, total):
        if done >= 50:
            raise KeyboardInterrupt

    run = treesim.Simulation(ROBOT).run(1.0, progress=stop)
    assert run.stopped == "interrupted" and len(run.t) == 51


def test_a_torque_of_the_wrong_shape_is_refused():
    simulation = treesim.Simulation(ROBOT, controller=Torque(lambda t: np.zeros(ROBOT.nv + 1)))
    with pytest.raises(treesim.ArgumentError, match=r"the controller 'Torque' returned shape \(4,\)"):
        simulation.run(0.1)


# what is kept when a run ends early


def ending(error, after=10):
    """A controller that raises at its call number `after`."""
    calls = iter(range(10**6))

    def torque(t):
        if next(calls) == after:
            raise error
        return np.full(ROBOT.nv, 0.5)

    return Torque(torque)


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), treesim.NonFiniteError("my own"), OSError(5, "robot")])
def test_a_controller_that_raises_is_seen_and_costs_no_states(error):
    """Its exception is raised as it is, whatever its type, and carries the states."""
    with pytest.raises(type(error)) as caught:
        treesim.Simulation(ROBOT, controller=ending(error)).run(1.0)
    assert caught.value is error and any(entry.name == "torque" for entry in caught.traceback)
    kept = error.trajectory
    whole = treesim.Simulation(ROBOT, controller=Torque(lambda t: np.full(ROBOT.nv, 0.5))).run(0.01)
    assert np.array_equal(kept.q, whole.q) and np.array_equal(kept.v, whole.v) and np.array_equal(kept.t, whole.t)
    assert np.array_equal(kept.tau[:-1], whole.tau[:-1]) and not kept.tau[-1].any()
    assert kept.stopped.startswith(type(error).__name__)
    assert any("11 states, up to t = 0.01 s" in note for note in error.__notes__)


def test_ctrl_c_in_a_controller_keeps_every_state():
    run = treesim.Simulation(ROBOT, controller=ending(KeyboardInterrupt())).run(1.0)
    assert run.stopped == "interrupted" and len(run) == 11


def test_ctrl_c_in_the_first_step_keeps_the_start():
    run = treesim.Simulation(ROBOT, controller=ending(KeyboardInterrupt(), 0)).run(1.0, q0=[1.0, 2.0, 3.0])
    assert run.stopped == "interrupted" and run.q.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize("place", ["step", "add", "between", "energy"])
def test_ctrl_c_anywhere_records_each_state_once(monkeypatch, place):
    """Between any two statements of the loop."""
    whole = treesim.Simulation(ROBOT).run(0.02)
    simulation, calls = treesim.Simulation(ROBOT), iter(range(1000))

    def interrupting(function, last, after=False):
        def called(*arguments):
            stop = next(calls) == last
            if stop and not after:
                raise KeyboardInterrupt
            result = function(*arguments)
            if stop:
                raise KeyboardInterrupt
            return result

        return called

    if place in ("add", "between"):
        add = module.Recording.add
        monkeypatch.setattr(module.Recording, "add", interrupting(add, 7, after=place == "between"))
    elif place == "step":
        monkeypatch.setattr(simulation, "step", interrupting(simulation.step, 7, after=True))
    run = simulation.run(0.02, progress=interrupting(lambda done, total: None, 7) if place == "energy" else None)
    assert np.array_equal(run.t, whole.t[: len(run)]) and np.array_equal(run.q, whole.q[: len(run)])
    assert len(run) == {"step": 8, "add": 8, "between": 8, "energy": 9}[place]


def test_an_integrator_that_fails_keeps_the_states():
    class Broken:
        name, order, friction = "broken", 1, True

        def step(self, system, t, q, v, dt):
            raise LookupError("no table")

    simulation = treesim.Simulation(ROBOT)
    simulation._method = Broken()
    with pytest.raises(LookupError) as caught:
        simulation.run(0.1, q0=[0.1, 0.2, 0.3])
    assert caught.value.trajectory.q.tolist() == [[0.1, 0.2, 0.3]]


def test_a_state_whose_first_step_overflows_is_kept():
    run = treesim.Simulation(ROBOT).run(0.1, v0=[1e200, 0.0, 0.0])
    assert len(run) == 1 and run.v[0, 0] == 1e200 and "no longer finite" in run.stopped


def test_dynamics_that_do_not_converge_end_the_run(monkeypatch):
    simulation = treesim.Simulation(ROBOT)

    def diverges(*_):
        raise treesim.ConvergenceError("residual 3 is left")

    monkeypatch.setattr(simulation, "step", diverges)
    run = simulation.run(0.1)
    assert run.stopped == "at t = 0 s: residual 3 is left" and len(run) == 1


# what a controller may return, and what it may do


@pytest.mark.parametrize(
    ("torque", "message"),
    [
        (None, "returned None"),
        ("fast", "returned 'fast'"),
        (["a", "b", "c"], r"returned \['a', 'b', 'c'\]"),
        (np.ones(3) * 1j, "type complex128"),
        (np.array([1, None, 2]), "type object"),
        (np.ma.masked_array(np.ones(3), [0, 1, 0]), "masked entries"),
        ([[1.0], [2.0, 3.0]], r"returned \[\[1.0\], \[2.0, 3.0\]\]"),
        (np.ones((3, 1)), r"returned shape \(3, 1\)"),
        (1.0, r"returned shape \(\)"),
        ({1: 2}, r"returned \{1: 2\}"),
    ],
)
def test_what_is_no_torque_is_named(torque, message):
    with pytest.raises(ControllerError, match=message) as caught:
        treesim.Simulation(ROBOT, controller=Torque(lambda t: torque)).run(0.1)
    assert len(caught.value.trajectory) == 1


@pytest.mark.parametrize("torque", [[0, 1, 2], np.float32([0, 1, 2]), np.ma.masked_array([0.0, 1.0, 2.0]), (0, 1.0, 2)])
def test_any_real_numbers_are_a_torque(torque):
    found = treesim.Simulation(ROBOT, controller=Torque(lambda t: torque)).run(0.01)
    wanted = treesim.Simulation(ROBOT, controller=Torque(lambda t: np.array([0.0, 1.0, 2.0]))).run(0.01)
    assert np.array_equal(found.q, wanted.q)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "midpoint", "explicit_euler", "bullet"])
def test_a_controller_that_writes_to_its_state_changes_no_run(integrator):
    class Writing:
        def torque(self, t, q, v):
            tau = -q - v
            q[:], v[:] = 7.0, np.nan
            return tau

    class Reading:
        def torque(self, t, q, v):
            return -q - v

    start = {"q0": [0.1, 0.2, 0.3], "v0": [1.0, 0.0, -1.0]}
    found = treesim.Simulation(ROBOT, integrator=integrator, controller=Writing()).run(0.01, **start)
    wanted = treesim.Simulation(ROBOT, integrator=integrator, controller=Reading()).run(0.01, **start)
    assert np.array_equal(found.q, wanted.q) and np.array_equal(found.v, wanted.v)


def test_a_plain_function_is_a_controller():
    def swing(t, q, v):
        q[:] = 0.0  # which changes no run
        return np.full(ROBOT.nv, np.sin(t))

    simulation = treesim.Simulation(ROBOT, controller=swing)
    wanted = treesim.Simulation(ROBOT, controller=Torque(lambda t: np.full(ROBOT.nv, np.sin(t)))).run(
        0.01, q0=[1, 2, 3]
    )
    assert np.array_equal(simulation.run(0.01, q0=[1, 2, 3]).q, wanted.q)
    assert repr(simulation).endswith("controller swing>")
    with pytest.raises(ControllerError, match="the controller 'swing' returned None"):
        swing_nowhere = treesim.control.Function(lambda t, q, v: None)
        swing_nowhere.function.__name__ = "swing"
        treesim.Simulation(ROBOT, controller=swing_nowhere).run(0.01)


# numbers and other arguments


def test_a_progress_that_raises_costs_no_states():
    def fails(done, total):
        if done == 30:
            raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen") as caught:
        treesim.Simulation(ROBOT).run(0.1, progress=fails)
    assert len(caught.value.trajectory) == 31


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "rk4"])
def test_effort_limits_hold_for_functions_too(integrator):
    slide = treesim.Joint("slide", "prismatic", axis=(1, 0, 0), effort_limit=3.0)
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, slide, treesim.Inertia(2.0))])
    run = treesim.Simulation(robot, integrator=integrator, controller=lambda t, q, v: [10.0]).run(1.0)
    assert (run.tau == 3.0).all() and run.v[-1, 0] == pytest.approx(1.5)


def test_a_robot_that_nothing_can_drive_is_told_of():
    slide = treesim.Joint("slide", "prismatic", axis=(1, 0, 0), effort_limit=0.0)
    robot = treesim.Tree("mass", [treesim.Body("mass", 0, slide, treesim.Inertia(2.0))])
    with pytest.warns(EffortWarning, match="every effort limit of 'mass' is 0") as caught:
        run = treesim.Simulation(robot, controller=lambda t, q, v: [10.0]).run(0.1)
    assert caught[0].filename == __file__ and run.v[-1, 0] == 0
    with pytest.warns(EffortWarning) as caught:
        treesim.rollout(robot, [0.0], [0.0], np.ones((3, 1)))
    assert caught[0].filename == __file__
