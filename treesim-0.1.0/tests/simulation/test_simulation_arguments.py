"""Simulation: arguments that make none are refused before anything runs, with what would be right."""

from types import SimpleNamespace

import numpy as np
import pytest

import treesim
import treesim.simulation.control
from tests.simulation.test_simulation import Torque
from treesim import ArgumentError, UnsupportedError, plugins
from treesim.dynamics.base import Capabilities
from treesim.model import generators
from treesim.simulation.durations import step_count

ROBOT = generators.chain(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": -1.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"duration": 1.0, "q0": np.zeros(2)}, "q0"),
        ({"duration": 1.0, "v0": np.full(3, np.inf)}, r"v0\[0\]"),
        ({"duration": 1.0, "q0": np.zeros((2, 3))}, "q0"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(arguments, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.Simulation(ROBOT).run(**arguments)


def test_a_state_with_a_quaternion_that_is_none_is_refused():
    robot = generators.featherstone_2005_humanoid()
    with pytest.raises(treesim.ArgumentError, match="quaternion of joint"):
        treesim.Simulation(robot).run(0.1, q0=np.zeros(robot.nq))


def test_a_controller_without_length_is_not_taken_for_none():
    class Empty(Torque):
        def __len__(self):
            return 0

    run = treesim.Simulation(ROBOT, controller=Empty(lambda t: np.ones(3))).run(0.01)
    assert run.tau[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"robot": None}, "robot must be a Tree, as treesim.load returns it, not None"),
        ({"robot": "talos"}, "robot must be a Tree, as treesim.load returns it, not 'talos'"),
        ({"dt": "x"}, "dt must be a number of seconds.*got 'x'"),
        ({"dt": None}, "dt must be a number of seconds.*got None"),
        ({"dt": 1j}, "dt must be a number of seconds"),
        ({"dt": [1e-3]}, "dt must be a number of seconds"),
        ({"dt": True}, "dt must be a number of seconds"),
        ({"dt": np.ones(2)}, "dt must be .*an array of shape"),
        ({"dt": 0}, "above 0"),
        ({"dt": 1e300}, "at most 1e"),
        ({"dt": 10**400}, "dt must be"),
        ({"controller": 5}, r"controller must have a method torque\(t, q, v\), be a function of .* or None, got 5"),
        ({"controller": "pd"}, r"not the name 'pd': treesim.control.make_controller\('pd', robot, q0\) makes one"),
        ({"controller": "lqr"}, r"not the name 'lqr': treesim.control.make_controller\('hold', robot, q0\)"),
        ({"controller": treesim.control.PD}, "must be an object, not the class PD: make an object of it"),
        ({"controller": lambda t, q, v, p, u: q}, r"'<lambda>' must take .*: missing .*'p'"),
        ({"controller": SimpleNamespace(torque=lambda q: q)}, r"'SimpleNamespace' must take .*: too many"),
    ],
)
def test_what_makes_no_simulation_is_named(arguments, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.Simulation(**{"robot": ROBOT, **arguments})


@pytest.mark.parametrize("label", ["stiffness", "damping"])
@pytest.mark.parametrize("gains", [np.ones(2), "soft", [np.nan] * 3])
def test_gains_of_a_controller_are_checked(label, gains):
    controller = Torque(lambda t: np.zeros(3))
    setattr(controller, label, gains)
    with pytest.raises(treesim.ArgumentError, match=f"the controller's {label} must be"):
        treesim.Simulation(ROBOT, controller=controller)


@pytest.mark.parametrize(
    ("dt", "duration", "message"),
    [
        (1e-3, "long", "duration must be a number of seconds.*got 'long'"),
        (1e-3, np.inf, "duration must be"),
        (1e-3, 1e300, "duration must be .*at most"),
        (1e-300, 1.0, "would be 1e.300 steps of dt 1e-300 s: far too many"),
        (1e-3, 1e8, r"trajectory of 100,000,000,000 steps would take .* GiB .*steps would fit"),
        (1.0, 0.5, "duration 0.5 s is shorter than one step, dt 1 s"),
        (0.3, 1.0, "no whole number of steps of dt 0.3 s: take duration 0.9 or 1.2, or dt 0.25"),
    ],
)
def test_durations_that_do_not_fit_are_explained(dt, duration, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.Simulation(ROBOT, integrator="semi_implicit_euler", dt=dt).run(duration)


@pytest.mark.parametrize(
    ("dt", "duration", "steps"), [(1 / 3, 1, 3), (0.000333333, 0.1, 300), (0.1, 0.3, 3), (1, 0, 0)]
)
def test_whole_numbers_of_steps_are_recognised(dt, duration, steps):
    assert step_count(duration, dt) == steps


@pytest.mark.parametrize("side", [-1, 1])
def test_a_duration_may_be_uneven_by_rounding(side):
    assert step_count(1 + side * 0.95e-5, 1e-3) == 1000
    with pytest.raises(treesim.ArgumentError, match="no whole number of steps"):
        step_count(1 + side * 1.05e-5, 1e-3)


def test_gains_that_overflow_are_named():
    strong = treesim.control.PD(ROBOT, ROBOT.neutral(), kp=1e308, kd=1e308)
    with np.errstate(over="ignore", invalid="ignore"):
        run = treesim.Simulation(ROBOT, dt=100.0, controller=strong, substeps=1).run(200.0, q0=[1e-310] * 3)
    assert "dt times the damping or gain of joint" in run.stopped and len(run) == 1


@pytest.mark.parametrize(
    ("progress", "message"),
    [(5, r"progress must be a function progress\(done, total\) or None, got 5"), (lambda: None, "two numbers")],
)
def test_a_progress_that_cannot_be_called_is_refused_at_once(progress, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.Simulation(ROBOT).run(0.1, progress=progress)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"substeps": 0}, "substeps must be"), ({"dt": 10.0}, "20000 substeps of 0.0005 s")],
)
def test_substeps_that_cannot_be_are_refused_at_once(options, message):
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.Simulation(ROBOT, **options)


class Counted:
    """A backend that somebody else wrote, not registered: articulated bodies, and how often they were asked."""

    name = "counted"
    capabilities = Capabilities(cost="O(N)", source="a test")

    def __init__(self):
        self.calls = 0

    def forward_dynamics(self, robot, q, v, tau, f_ext=None, gravity=None, armature=None):
        self.calls += 1
        return treesim.forward_dynamics(robot, q, v, tau, f_ext=f_ext, gravity=gravity, armature=armature)


def test_a_backend_is_given_by_name_or_itself():
    robot, own = generators.chain(3), Counted()
    q = np.full(3, 0.3)
    known = plugins.get("dynamics", "rjk")
    runs = [treesim.Simulation(robot, backend=one, dt=1e-3).run(0.01, q0=q) for one in (own, "aba", known, "rjk")]
    assert own.calls > 10
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12 and (runs[2].q == runs[3].q).all()
    assert [run.metadata["backend"] for run in runs] == ["counted", "aba", "rjk", "rjk"]
    assert repr(treesim.Simulation(robot, backend=own)).startswith("<Simulation of 'chain_3': counted")
    stepper = treesim.Stepper(robot, dt=1e-3, backend=own)
    state, _ = stepper.step(stepper.reset(q))
    assert np.abs(state.q - runs[0].q[1]).max() < 1e-15 and "counted" in repr(stepper)
    bound = treesim.Dynamics(robot, backend=own)
    expected = treesim.forward_dynamics(robot, q, q, q)
    assert (bound.forward_dynamics(q, q, q) == expected).all()
    assert (treesim.forward_dynamics(robot, q, q, q, backend=own) == expected).all()
    first, second = (treesim.rollout(robot, q, q, steps=2, backend=one) for one in (known, "rjk"))
    assert (first.q == second.q).all()
    with pytest.raises(UnsupportedError, match="'counted' is no kernel"):
        treesim.rollout(robot, q, q, steps=2, backend=own)


@pytest.mark.parametrize("wrong", [None, 3, Counted, object()])
def test_what_is_no_backend_is_refused(wrong):
    robot = generators.chain(2)
    for call in (
        lambda: treesim.Simulation(robot, backend=wrong),
        lambda: treesim.Dynamics(robot, backend=wrong),
        lambda: treesim.forward_dynamics(robot, *np.zeros((3, 2)), backend=wrong),
        lambda: treesim.rollout(robot, *np.zeros((2, 2)), steps=1, backend=wrong),
    ):
        with pytest.raises(ArgumentError, match=r"available\('dynamics'\)"):
            call()
