"""Single numbers that users give: what is taken for one, and how the rest is named."""

import fractions
import sys
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests import trees
from treesim.dynamics.conjugate_gradient import solve
from treesim.simulation import control
from treesim.states.arguments import checked_progress, positive_number, short_repr, whole_number
from treesim.system.memory import check_memory, free_memory

ROBOT = trees.tree("tree_1")
NONE = [True, np.True_, 2.0, "5", None, -1, 10**30, np.array([3]), 1j, np.float64(3)]
STATE = (ROBOT.neutral(), np.zeros(ROBOT.nv))
COUNTS = {
    "steps": lambda n: treesim.rollout(ROBOT, *STATE, steps=n),
    "every": lambda n: treesim.rollout(ROBOT, *STATE, steps=5, every=n),
    "refinements": lambda n: treesim.forward_dynamics(ROBOT, *STATE, STATE[1], refinements=n),
    "max_iterations": lambda n: solve(ROBOT, *STATE, STATE[1], max_iterations=n),
}


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3)])
def test_whole_numbers_of_all_types(value):
    assert whole_number("n", value) == 3 and type(whole_number("n", value)) is int


@pytest.mark.parametrize("value", NONE, ids=repr)
def test_what_is_no_whole_number(value):
    with pytest.raises(treesim.ArgumentError, match="n must be a whole number from 0 on, got "):
        whole_number("n", value)


def test_bounds_are_told():
    with pytest.raises(treesim.ArgumentError, match="n must be a whole number between 1 and 4, got 5"):
        whole_number("n", 5, 1, 4)


@pytest.mark.parametrize("label", COUNTS)
@pytest.mark.parametrize("value", [x for x in NONE if x is not None], ids=repr)
def test_every_count_is_checked_alike(label, value):
    with pytest.raises(treesim.ArgumentError, match=f"{label} must be a whole number"):
        COUNTS[label](value)


@pytest.mark.parametrize("label", COUNTS)
def test_every_count_may_be_numpy_s(label):
    COUNTS[label](np.int64(2))


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2.0), fractions.Fraction(2)])
def test_positive_numbers_of_all_types(value):
    assert positive_number("dt", value) == 2.0 and type(positive_number("dt", value)) is float


@pytest.mark.parametrize(
    "value", ["2", b"2", None, 1j, [1.0], np.ones(1), True, np.nan, np.inf, -1.0, 0, 10**400, np.array("2", object)]
)
def test_what_is_no_positive_number(value):
    with pytest.raises(treesim.ArgumentError, match="dt must be a number of seconds, finite, above 0 and at most 1e"):
        positive_number("dt", value)
    with pytest.raises(treesim.ArgumentError, match="dt must be a number of seconds"):
        treesim.rollout(ROBOT, *STATE, steps=2, dt=value)


def test_zero_where_it_is_allowed():
    assert positive_number("duration", 0, zero=True) == 0.0
    with pytest.raises(treesim.ArgumentError, match="not negative"):
        positive_number("duration", -1, zero=True)


@pytest.mark.parametrize("robot", [None, "talos", 5, np.zeros(3), treesim.Tree])
@pytest.mark.parametrize(
    "call",
    [
        treesim.Simulation,
        lambda robot: treesim.rollout(robot, *STATE, steps=2),
        control.Zero,
        lambda robot: control.PD(robot, STATE[0], kp=1.0, kd=1.0),
        lambda robot: control.PD(robot, STATE[0]),
        lambda robot: control.make_controller("none", robot, STATE[0]),
        lambda robot: treesim.Trajectory.of(robot, *np.zeros((5, 1, 1))),
    ],
)
def test_what_is_no_robot_is_named(call, robot):
    with pytest.raises(treesim.ArgumentError, match=r"robot must be a Tree, as treesim\.load returns it, not "):
        call(robot)


@pytest.mark.parametrize("gain", ["stiff", None, 1j, [[1.0], [2.0, 3.0]], -1.0, np.nan])
@pytest.mark.parametrize("label", ["kp", "kd"])
def test_gains_are_named(label, gain):
    with pytest.raises(treesim.ArgumentError, match=f"{label} must be"):
        treesim.rollout(ROBOT, *STATE, steps=2, **{label: gain})
    with pytest.raises(treesim.ArgumentError, match=f"{label} must be"):
        control.PD(ROBOT, STATE[0], **{"kp": 1.0, "kd": 1.0, label: gain})


@pytest.mark.parametrize("target", ["up", None, 1j * np.ones(7)])
def test_targets_are_named(target):
    with pytest.raises(treesim.ArgumentError, match="posture must be"):
        control.PD(ROBOT, target, kp=1.0, kd=1.0)


def test_controllers_of_a_robot_that_cannot_move():
    still = treesim.Tree("still", [])
    assert control.PD(still, np.zeros(0), kp=1.0, kd=1.0).stiffness.shape == (0,)
    assert len(treesim.Simulation(still, controller=control.PD(still, np.zeros(0))).run(0.01)) == 11


@pytest.mark.parametrize("progress", [5, "bar", lambda: None, lambda done: None])
def test_a_progress_that_cannot_be_called_is_refused(progress):
    with pytest.raises(treesim.ArgumentError, match="progress must"):
        treesim.rollout(ROBOT, *STATE, steps=2, progress=progress)


def test_any_callable_of_two_is_a_progress():
    for progress in (None, max, lambda *numbers: None, lambda done, total, more=3: None):
        assert checked_progress(progress) is progress


@pytest.mark.parametrize("parameters", [[[1.0], [2.0, 3.0]], "p", None, 1j])
def test_parameters_of_a_policy_are_named(parameters):
    if parameters is not None:
        with pytest.raises(treesim.ArgumentError, match="parameters must be an array of real numbers"):
            treesim.rollout(ROBOT, *STATE, lambda t, q, v, p, u: None, steps=2, policy_parameters=parameters)


@pytest.mark.parametrize("out", [5, ("a",), b"name"])
def test_what_is_no_place_for_results_is_named(out):
    with pytest.raises(treesim.ArgumentError, match="out must be"):
        treesim.rollout(ROBOT, *STATE, steps=2, out=out)


def test_a_policy_in_single_precision_takes_no_more_steps_than_it_can_count():
    single = [x.astype(np.float32) for x in STATE]
    with pytest.raises(treesim.ArgumentError, match="steps must be at most 16777216 under a policy in float32"):
        treesim.rollout(ROBOT, *single, lambda t, q, v, p, u: None, steps=1 << 25, every=1 << 25)


def test_values_in_errors_stay_short():
    assert short_repr(list(range(1000))).endswith("... (list)") and len(short_repr("x" * 500)) < 70


def test_memory_that_is_free():
    if sys.platform == "linux" and Path("/proc/meminfo").exists():
        assert 1 << 20 < free_memory() < 1 << 60
        with pytest.raises(treesim.ArgumentError, match=r"a table would take 1,024 GiB|a table would take 1.+ GiB"):
            check_memory(1 << 60, "a table", "make it smaller")
    check_memory(1 << 10, "a table", "make it smaller")
