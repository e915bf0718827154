"""Simulation: what ends a run early is told with time and joint, and nothing simulated before is lost."""

import numpy as np
import pytest

import treesim
from treesim.model import generators

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

    run = treesim.Simulation(ROBOT, controller=Torque(torque)).run(1.0)
    assert f"at t = 0.01 s: the controller's torque on joint {ROBOT.joint_names[1]!r} is nan" in run.stopped
    assert len(run.t) == 10 and np.isfinite(run.q).all() and np.isfinite(run.energy).all()


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
    assert run.stopped == "interrupted" and len(run.t) == 50


def test_a_torque_of_the_wrong_shape_is_refused():
    simulation = treesim.Simulation(ROBOT, controller=Torque(lambda t: np.zeros(ROBOT.nv + 1)))
    with pytest.raises(treesim.ArgumentError, match=r"the controller returned shape \(4,\)"):
        simulation.run(0.1)


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
