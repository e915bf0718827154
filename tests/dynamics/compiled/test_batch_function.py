"""Functions compiled for many rows: the same numbers as NumPy's and treesim's on each row, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.numbers import less, select


@pytest.fixture(scope="module")
def robot() -> treesim.Tree:
    return treesim.load("ur5")


def by_hand(x, y):
    return [x[0] * np.sin(y[1]), select(less(x[0], x[1]), x[0], -1.0), 2.0, x @ x]


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_rows_are_computed_one_by_one(engine):
    x, y = np.random.default_rng(0).standard_normal((2, 37, 2))
    found = treesim.BatchFunction(by_hand, [2, 2], engine=engine)(x, y)
    expected = [[a[0] * np.sin(b[1]), a[0] if a[0] < a[1] else -1.0, 2.0, a @ a] for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(float).eps)


def test_a_row_does_not_depend_on_its_neighbours():
    x, y = np.random.default_rng(1).standard_normal((2, 37, 2))
    function = treesim.BatchFunction(by_hand, [2, 2])
    assert np.array_equal(function(x, y), np.vstack([function(*row) for row in zip(x, y, strict=True)]))
    for one in (y[0], y[:1]):  # the second is not read beyond its row
        assert np.array_equal(function(x, one), function(x, np.tile(y[0], (37, 1))))
    assert function(x[:0], y[:0]).shape == (0, 4)


def test_treesim_s_functions_of_states_can_be_part_of_it(robot):
    """Those of a trace are the kernels' own text: they differ from the compiled ones by rounding alone."""

    def all_of_them(q, v):
        kinetic, potential = treesim.energy(robot, q, v)
        return [
            *treesim.frame_pose(robot, q, "ee_link").ravel(), *treesim.frame_velocity(robot, q, v, "ee_link"),
            *treesim.body_poses(robot, q)[-1].ravel(), kinetic, potential, *treesim.inverse_dynamics(robot, q, v, v),
            *treesim.bias_forces(robot, q, v),
        ]  # fmt: skip

    rng = np.random.default_rng(2)
    q, v = np.array([robot.random(rng) for _ in range(5)]), rng.standard_normal((5, robot.nv))
    found = treesim.BatchFunction(all_of_them, [robot.nq, robot.nv])(q, v)
    expected = np.array([[float(x) for x in all_of_them(*state)] for state in zip(q, v, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


def test_policies_use_them_too(robot):
    """A policy that carries the weight leaves the arm where it is."""

    def policy(t, q, v, p, u):
        u[:] = treesim.inverse_dynamics(robot, q, 0 * v, 0 * v)

    q = robot.random(3)
    run = treesim.rollout(robot, q, np.zeros(6), policy, steps=20)
    np.testing.assert_allclose(run.q[0, -1], q, atol=1e-9)


def test_joints_that_follow_others_are_served():
    parent = treesim.Joint("leader", "revolute", axis=(0, 1, 0))
    mimic_joint = treesim.Joint("follower", "revolute", placement=treesim.Placement(translation=np.array([0.3, 0, 0])),
                             axis=(0, 1, 0), mimic=treesim.Mimic("leader", -2.0))  # fmt: skip
    inertia = treesim.Inertia(1.0, np.array([0.2, 0, 0]), np.eye(3))
    robot = treesim.Tree("pair", [treesim.Body("a", 0, parent, inertia), treesim.Body("b", 1, mimic_joint, inertia)])
    found = treesim.BatchFunction(lambda q: treesim.body_poses(robot, q)[2].ravel(), [robot.nq])([0.4])
    np.testing.assert_allclose(found[0].reshape(4, 4), treesim.body_poses(robot, [0.4])[2], atol=1e-15)


def branching(x):
    return [x[0] if x[0] > 0 else 0.0]


@pytest.mark.parametrize(
    ("function", "error", "what"),
    [
        (branching, treesim.UnsupportedError, "'branching' cannot be compiled: .*select of.*with NumPy"),
        (lambda x, y: [x[0]], treesim.ArgumentError, r"must take \(x0\)"),
        (lambda x: None, treesim.ArgumentError, "must return a list of numbers, got None"),
        (lambda x: [np.nan], treesim.ArgumentError, "must return a list of numbers"),
        (lambda x: [x], treesim.ArgumentError, "must return a list of numbers"),
        (lambda x: [], treesim.ArgumentError, "must return a list of numbers"),
    ],
)
def test_what_is_no_such_function_is_refused(function, error, what):
    with pytest.raises(error, match=what):
        treesim.BatchFunction(function, [2])


def test_rows_that_do_not_fit_are_refused(robot):
    function = treesim.BatchFunction(by_hand, [2, 2], named=["x", "y"])
    with pytest.raises(treesim.ArgumentError, match=r"2 arrays are needed \(x, y\), got 1"):
        function(np.zeros(2))
    with pytest.raises(treesim.ArgumentError, match=r"y has shape \(4, 3\)"):
        function(np.zeros((4, 2)), np.zeros((4, 3)))
    with pytest.raises(treesim.ArgumentError, match=r"different numbers of rows: \[3, 4\]"):
        function(np.zeros((4, 2)), np.zeros((3, 2)))
    with pytest.raises(treesim.ArgumentError, match=r"q has shape \(3,\)"):
        treesim.BatchFunction(lambda q: treesim.frame_pose(robot, q[:3], "ee_link").ravel(), [robot.nq])
