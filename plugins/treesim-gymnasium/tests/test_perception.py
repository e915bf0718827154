"""Observations of inertial units and of the ground around links."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from treesim_gymnasium import Heights, TreesimEnv, TreesimVectorEnv, network, stand, walk
from treesim_gymnasium.perception import NUMBERS

import treesim

TERRAIN = treesim.HeightField(0.02 * np.random.default_rng(0).random((60, 60)), friction=0.8)
FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")


def played(envs: TreesimVectorEnv, steps: int = 6, **reset: Any) -> np.ndarray:
    """Return the observations of steps under random actions that depend on the step alone."""
    rng = np.random.default_rng(5)
    actions = np.tile(rng.uniform(-0.3, 0.3, (steps, 1, 12)), (1, envs.num_envs, 1))
    return np.array([envs.reset(**reset)[0], *(envs.step(a)[0] for a in actions)])


def test_an_inertial_unit_is_that_of_the_state_and_the_last_step() -> None:
    envs = TreesimVectorEnv(stand(imu=True), 5, dtype=np.float64)
    stepper = envs.episodes.stepper
    robot, base = stepper.robot, stepper.robot.body_names[0]
    seen = played(envs, 0, seed=3)[0][:, -NUMBERS:]
    np.testing.assert_allclose(seen[:, 6:], -9.81 * seen[:, :3], atol=1e-12)  # at rest, before the first step
    before = stepper.v.copy()
    seen = envs.step(np.zeros((5, 12)))[0][:, -NUMBERS:]
    R = treesim.frame_pose(robot, stepper.q, base)[:, :3, :3]
    np.testing.assert_allclose(seen[:, :3], -R[:, 2], atol=1e-12)
    np.testing.assert_allclose(seen[:, 3:6], stepper.v[:, 3:6], atol=1e-12)
    assert np.linalg.norm(seen[:, 6:], axis=1).max() < 1.0  # it falls freely from the throw
    assert not np.array_equal(before, stepper.v)


def test_heights_are_those_of_the_ground_around_the_feet() -> None:
    envs = TreesimVectorEnv(stand(heights=True, ground=TERRAIN), 4, dtype=np.float64)
    envs.reset(seed=1)
    for _ in range(30):
        seen = envs.step(np.zeros((4, 12)))[0][:, -36:].reshape(4, 4, 3, 3)
    stepper = envs.episodes.stepper
    for q, found in zip(stepper.q, seen, strict=True):
        ahead = treesim.frame_pose(stepper.robot, q, stepper.robot.body_names[0])[:2, 0]
        ahead /= np.linalg.norm(ahead)
        left = np.array([-ahead[1], ahead[0]])
        for foot, heights in zip(FEET, found, strict=True):
            at = treesim.frame_pose(stepper.robot, q, foot)[:3, 3]
            for (i, k), height in np.ndenumerate(heights):
                point = at[:2] + 0.1 * (i - 1) * ahead + 0.1 * (k - 1) * left
                z = float(treesim.ground_heights(stepper.world, point))
                assert height == pytest.approx(np.clip(z - at[2], -0.5, 0.5), abs=1e-9)
    assert np.ptp(seen) > 0.01


@pytest.mark.parametrize("task", [stand, walk])
def test_episodes_depend_on_their_seed_alone(task: Any) -> None:
    given = task(imu=True, heights=True, ground=TERRAIN)
    envs = TreesimVectorEnv(given, 40, dtype=np.float64)
    seen = played(envs, seed=7)
    plain = 34 if task is stand else 37
    assert seen.shape[2] == plain + NUMBERS + 36
    few = TreesimVectorEnv(given, 2, dtype=np.float64)
    np.testing.assert_array_equal(played(few, seed=7), seen[:, :2])
    twin = copy.deepcopy(few)
    np.testing.assert_array_equal(few.step(np.ones((2, 12)))[0], twin.step(np.ones((2, 12)))[0])
    without = TreesimVectorEnv(task(ground=TERRAIN), 2, dtype=np.float64)
    np.testing.assert_allclose(played(without, seed=7), seen[:, :2, :plain], rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of spaces without bounds
def test_gymnasium_accepts_them() -> None:
    task = walk(imu=True, heights=True)
    check_env(gymnasium.make("treesim/Walk-v0", task=task).unwrapped, skip_render_check=True)
    bounded = replace(task, observation_low=np.full(37, -100.0))
    low = TreesimEnv(bounded).observation_space.low
    assert (low[:37] == -100).all() and np.isneginf(low[37:]).all()


def test_batched_gravity_is_observed() -> None:
    gravity = np.array([[0, 0, -9.81], [0, 3.0, -4.0]])
    envs = TreesimVectorEnv(stand(imu=True), 2, dtype=np.float64, model_parameters={"gravity": gravity})
    seen = played(envs, 0, seed=3)[0][1, -NUMBERS:]
    assert np.linalg.norm(seen[:3]) == pytest.approx(1.0) and np.linalg.norm(seen[6:]) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        ({"imu": "head"}, treesim.UnknownNameError, "head"),
        ({"imu": True}, treesim.ArgumentError, "imu must be the name"),
        ({"heights": True}, treesim.ArgumentError, "heights must be treesim_gymnasium.Heights"),
        ({"heights": Heights(frames=["paw"])}, treesim.UnknownNameError, "paw"),
        (
            {"heights": Heights(frames=["FL_foot"]), "world": treesim.load("go2", base="floating")},
            treesim.ArgumentError,
            r"the world has none: give World\(ground=\)",
        ),
    ],
)
def test_bad_tasks_are_refused(changes: dict[str, Any], error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        TreesimVectorEnv(replace(stand(), **changes), 2)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"frames": "FL_foot"}, "must be a list of names"),
        ({"frames": []}, "must be a list of names"),
        ({"grid": (3, 0)}, "two whole numbers"),
        ({"spacing": 0.0}, "spacing of heights must be positive"),
        ({"clip": np.inf}, "clip of heights must be positive"),
    ],
)
def test_bad_heights_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(treesim.ArgumentError, match=what):
        Heights(**{"frames": FEET, **changes})


@pytest.mark.parametrize("given", ["imu", "heights"])
def test_policies_of_rollouts_do_not_get_them(given: str) -> None:
    with pytest.raises(treesim.ArgumentError, match=f"observes {given}, which a rollout's policy does not get"):
        network.policy(stand(**{given: True}), (43, 12))


@pytest.mark.parametrize("errors", [{"noise": 0.3, "bias_walk": 0.1}, {"noise": 0.3, "delay": 0.004, "drop": 0.2}])
def test_inertial_units_have_errors_that_depend_on_the_key_of_an_episode(errors):
    exact = stand(imu=True)
    noisy = replace(exact, imu=treesim.Imu(exact.imu, **errors))
    one, many = (TreesimVectorEnv(noisy, count, dtype=np.float64) for count in (1, 3))
    alone = TreesimVectorEnv(exact, 3, dtype=np.float64)
    single = TreesimEnv(noisy, dtype=np.float64)
    starts = [envs.reset(seed=4)[0] for envs in (one, many, alone)]
    assert np.array_equal(starts[1], starts[2]) and np.array_equal(starts[0][0], starts[1][0])
    single.reset(seed=4)
    for episode in range(2):
        seen = []
        for _ in range(5):
            found = [envs.step(np.zeros((envs.num_envs, 12)))[0] for envs in (one, many, alone)]
            assert np.array_equal(found[0][0], found[1][0])
            assert np.array_equal(single.step(np.zeros(12))[0], found[1][0])
            seen.append(found[1] - found[2])
        assert not np.any(np.array(seen)[..., :-6]) and np.all(np.abs(np.array(seen)[..., -6:]).max(axis=(0, 1)) > 0.05)
        if not episode:
            first = np.array(seen)
            for envs in (one, many, alone, single):
                envs.reset()
    assert not np.isclose(first[0, :, -6:], np.array(seen)[0, :, -6:]).any()
