"""Rollouts that watch joint limits: the same states as steps one by one, however they are cut, near limits or not."""

from __future__ import annotations

import numpy as np
import pytest

import treesim
from treesim.rollouts.joint_limits import WatchedSteps

COUNT, STEPS = 24, 60


@pytest.fixture(scope="module")
def robot() -> treesim.Tree:
    return treesim.load("ur5")


@pytest.fixture(scope="module")
def starts(robot: treesim.Tree) -> tuple[np.ndarray, np.ndarray]:
    """Every other rollout runs into an upper limit, at different times; the others stay where they are slow."""
    q, v = np.zeros((COUNT, robot.nq)), np.zeros((COUNT, robot.nv))
    q[::2, 2] = robot.upper[2] - np.linspace(0.01, 0.3, COUNT // 2)
    v[::2, 2] = 4.0
    return q, v


def test_they_are_the_states_of_steps(robot, starts):
    run = treesim.rollout(robot, *starts, steps=STEPS, work=True)
    stepper = treesim.Stepper(robot)
    state, work = stepper.reset(*starts), np.zeros(COUNT)
    for k in range(STEPS):
        state, report = stepper.step(state)
        work += report.control_work + report.passive_work
        np.testing.assert_allclose(run.q[:, k], state.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(run.v[:, k], state.v, rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.work[:, -1].sum(axis=1), work, rtol=0, atol=1e-8)
    assert run.q[::2, :, 2].max() > robot.upper[2] - 1e-6  # they were there
    assert run.q[..., 2].max() < robot.upper[2] + 1e-9


def test_pieces_threads_and_neighbours_change_no_bit(robot, starts, monkeypatch):
    run = treesim.rollout(robot, *starts, steps=STEPS)
    apart = [treesim.rollout(robot, q, v, steps=STEPS) for q, v in zip(*starts, strict=True)]
    assert all(np.array_equal(run.q[k], one.q[0]) for k, one in enumerate(apart))
    assert np.array_equal(treesim.rollout(robot, *starts, steps=STEPS, threads=1, every=3).v, run.v[:, 2::3])
    monkeypatch.setattr("treesim.rollouts.time_slices.SliceScheduler.rows", lambda self, left, *_: min(left, 5))
    monkeypatch.setattr(
        "treesim.rollouts.time_slices.SliceScheduler.end", lambda self, step, last, *_: min(step + 7, last)
    )
    cut = treesim.rollout(robot, *starts, steps=STEPS)
    assert np.array_equal(cut.q, run.q)
    assert np.array_equal(cut.v, run.v)


def test_only_what_comes_near_a_limit_is_carried_again(robot, starts, monkeypatch):
    numbers, carried_again = [], WatchedSteps._again

    def spy(self, near, *rest):
        numbers.append(near.tolist())
        return carried_again(self, near, *rest)

    monkeypatch.setattr(WatchedSteps, "_again", spy)
    treesim.rollout(robot, *(x[1::2] for x in starts), steps=STEPS)
    assert not any(numbers)
    numbers.clear()
    treesim.rollout(robot, *(x[:4] for x in starts), steps=STEPS)
    assert sorted({k for near in numbers for k in near}) == [0, 2]
