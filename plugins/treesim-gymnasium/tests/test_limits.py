"""Limits of tasks: just below, and just above, with their functions as plain Python."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from treesim_gymnasium import Task, balance, network, reach
from treesim_gymnasium import quadruped as legs
from treesim_gymnasium.balance import observe, terminated

import treesim
from treesim.model.generators import chain

STILL = np.zeros(3)


def lying(height: float, cosine: float) -> np.ndarray:
    """Configuration of a floating base at a height [m] whose upward axis has this cosine with the vertical."""
    half = np.arccos(cosine) / 2
    return np.array([0.0, 0.0, height, np.sin(half), 0.0, 0.0, np.cos(half)])


@pytest.mark.parametrize(("rate", "seen"), [(9.7, 9.7), (10.3, 10.0), (-9.7, -9.7), (-10.3, -10.0)])
def test_velocities_of_the_poles_are_clipped_at_10(rate, seen):
    assert observe(0.0, STILL, np.full(3, rate), None)[5:] == [seen] * 3


def test_observations_of_the_poles_are_within_10():
    task = balance()
    assert (task.observation_low, task.observation_high) == (-10.0, 10.0)


@pytest.mark.parametrize(("height", "over"), [(0.99, True), (1.01, False)])
def test_poles_have_fallen_below_a_metre(height, over):
    q = np.array([0.0, np.arccos(height / 1.2), 0.0])  # both poles lean alike
    assert bool(terminated(0.0, q, STILL, None)) == over


@pytest.mark.parametrize(("observed", "taken"), [(9.7, 0.776), (10.3, 0.8), (-9.7, -0.776), (-10.3, -0.8)])
def test_networks_take_observations_up_to_10_deviations(observed, taken):
    """Of environments, and in rollouts; the network yields 0.04 times the sum of two that are equal."""
    found = network.Network([(np.full((1, 2), 0.04), np.zeros(1))], np.ones(2), np.full(2, 3.0))
    given = 1.0 + 3.0 * np.array([observed, observed])
    assert found.action(given) == pytest.approx([taken])
    task = SimpleNamespace(
        range=(np.array([-1.0]), np.array([1.0])), driven=np.array([0]), parameters=0, contact_links=(), imu=None,
        heights=None, last_action=False, observe=lambda t, q, v, p: given,
    )  # fmt: skip
    u = np.zeros(1)
    network.policy(task, found.sizes)(0.0, None, None, found.parameters, u)
    assert u == pytest.approx([taken])


def test_targets_of_legs_are_0_6_rad_to_either_side_of_the_posture():
    robot = legs.Go2(treesim.World(chain(2)), np.array([0.8, -1.6]), 0.3)
    task = legs.quadruped(observe, observe, observe, robot, 0, False, False)
    assert task.low == pytest.approx([0.2, -2.2]) and task.high == pytest.approx([1.4, -1.0])


@pytest.mark.parametrize(("rate", "seen"), [(19.5, 19.5), (20.5, 20.0), (-19.5, -19.5), (-20.5, -20.0)])
def test_velocities_of_legs_are_clipped_at_20(rate, seen):
    robot = legs.Go2(None, np.zeros(1), 0.3)
    found = legs.seen(robot, np.append(lying(0.3, 1.0), 0.0), np.full(7, rate))
    assert found[4:10] == [seen] * 6 and found[11:] == [seen]


@pytest.mark.parametrize(
    ("height", "cosine", "over"),
    [(0.147, 1.0, True), (0.153, 1.0, False), (0.3, 0.49, True), (0.3, 0.51, False)],
)
def test_a_robot_has_fallen_below_0_15_m_or_beyond_60_degrees(height, cosine, over):
    assert bool(legs.fallen(0.0, lying(height, cosine), None, None)) == over


@pytest.fixture(scope="module")
def arm() -> Task:
    return reach()


def test_arms_have_targets_1_rad_from_home_and_goals_0_7_rad(arm):
    home = np.array([0.0, -1.2, 1.6, -0.4, 0.0, 0.0])
    assert arm.low == pytest.approx(home - 1.0) and arm.high == pytest.approx(home + 1.0)
    for sign in (1.0, -1.0):
        q, goal = np.zeros(6), np.zeros(3)
        arm.reset(np.full(6, 0.5 + 0.5 * sign), q, None, goal)
        assert q == pytest.approx(home)
        assert goal == pytest.approx(treesim.frame_pose(arm.robot, home + 0.7 * sign, "ee_link")[:3, 3])


@pytest.mark.parametrize(("rate", "seen"), [(9.7, 9.7), (10.3, 10.0), (-9.7, -9.7), (-10.3, -10.0)])
def test_velocities_of_arms_are_clipped_at_10(arm, rate, seen):
    assert arm.observe(0.0, np.zeros(6), np.full(6, rate), np.zeros(3))[6:12] == [seen] * 6


def test_observations_of_arms_are_within_10_rad_s_and_2_m(arm):
    assert arm.observation_high[6:] == pytest.approx([10.0] * 6 + [2.0] * 3)
    assert arm.observation_low[6:] == pytest.approx([-10.0] * 6 + [-2.0] * 3)
