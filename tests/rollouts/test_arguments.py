"""Rollouts: arguments and policies that make none are named."""

import numpy as np
import pytest

import treesim
from tests import trees
from tests.rollouts.test_rollouts import pd_to_a_sine, start
from treesim.model import generators
from treesim.rollouts.arguments import check_clock


@pytest.mark.parametrize(
    "change, message",
    [
        ({"dt": 0.0}, "dt must be"),
        ({"dt": np.nan}, "dt must be"),
        ({"control": None}, "number of steps"),
        ({"steps": 3}, "control holds 4 steps"),
        ({"every": 5}, "every must be"),
        ({"control": None, "steps": -1}, "steps must be"),
        ({"control": None, "steps": 2.5}, "steps must be"),
        ({"every": 0}, "every must be"),
        ({"kp": -1.0}, "kp must be"),
        ({"kd": np.ones(3)}, "kd must be"),
        ({"q0": np.zeros((2, 6))}, "q0 has shape"),
        ({"q0": np.zeros((3, 7)), "v0": np.zeros((2, 7))}, "different numbers of rollouts"),
        ({"control": np.zeros(7)}, "control have shapes|and control"),
        ({"v0": "fast"}, "v0 must be an array"),
    ],
)
def test_arguments_that_do_not_fit_are_named(change, message):
    robot = trees.tree("tree_1")
    arguments = {"q0": np.zeros((2, 7)), "v0": np.zeros(7), "control": np.zeros((4, 7))} | change
    with pytest.raises(treesim.ArgumentError, match=message):
        treesim.rollout(robot, **arguments)


def test_bad_numbers_and_gains_on_free_joints_are_named():
    robot = trees.tree("humanoid_2005")
    q0, v0, _ = start(robot, 2)
    forces = np.zeros((4, robot.nv))
    forces[2, 5] = np.inf
    with pytest.raises(treesim.NonFiniteError, match=r"control\[2, 5\]"):
        treesim.rollout(robot, q0, v0, forces)
    with pytest.raises(treesim.UnsupportedError, match="several degrees of freedom"):
        treesim.rollout(robot, q0, v0, steps=2, kp=np.ones(robot.nv))
    q0[1, 3:7] *= 1.5
    with pytest.raises(treesim.ArgumentError, match=r"q0\[1\]: the quaternion of joint .* has length 1\.5"):
        treesim.rollout(robot, q0, v0, steps=2)
    q0[1, 3:7] /= 1.5
    with pytest.raises(treesim.TreesimError, match="cannot write"):
        treesim.rollout(robot, q0, v0, steps=2, out="/nowhere/run")


def branching(t, q, v, p, u):
    if q[0] > 0:
        u[0] = 1.0


def returning(t, q, v, p, u):
    return -q


def writing_text(t, q, v, p, u):
    u[1] = "fast"


def writing_nan(t, q, v, p, u):
    u[1] = np.nan


@pytest.mark.parametrize("engine", ["auto", "generic"])
@pytest.mark.parametrize(
    "policy, error, message",
    [
        (branching, treesim.UnsupportedError, "'branching' cannot be compiled: .*depends on .*and select of"),
        (lambda t, q: None, treesim.ArgumentError, r"must take \(t, q, v, p, u\) or \(t, q, v, p, u, c\)"),
        (lambda t, q, v, p, u, c: None, treesim.ArgumentError, "takes wrenches of contact c, but nothing .* a ground"),
        (returning, treesim.ArgumentError, "'returning' must write to u and return nothing"),
        (writing_text, treesim.ArgumentError, r"writes 'fast' to u\[1\]"),
        (writing_nan, treesim.ArgumentError, r"writes nan to u\[1\]"),
    ],
)
def test_what_is_no_policy_is_refused(policy, error, message, engine):
    robot = generators.chain(4)
    with pytest.raises(error, match=message):
        treesim.rollout(robot, np.zeros(4), np.zeros(4), policy, steps=3, engine=engine)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"control": None}, "parameters are those of a policy"),
        ({"steps": None}, "number of steps"),
        ({"policy_parameters": np.zeros((3, 1, 2))}, "policy_parameters has shape"),
        ({"policy_parameters": np.zeros((3, 2)), "q0": np.zeros((2, 4))}, "different numbers of rollouts"),
        ({"policy_parameters": [np.inf, 0.0]}, r"parameters\[0\] is inf"),
    ],
)
def test_parameters_are_checked(change, message):
    robot = generators.chain(4)
    given = {"q0": np.zeros(4), "v0": np.zeros(4), "control": pd_to_a_sine, "steps": 3, "policy_parameters": [1.0, 0.0]}
    with pytest.raises(treesim.TreesimError, match=message):
        treesim.rollout(robot, **{**given, **change})


def test_a_clock_in_single_precision_counts_so_far():
    check_clock(16_777_216, np.float32)
    check_clock(16_777_217, np.float64)
    with pytest.raises(treesim.ArgumentError, match="steps must be at most 16777216 under a policy in float32"):
        check_clock(16_777_217, np.float32)
