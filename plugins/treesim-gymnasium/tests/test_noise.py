"""Noise of observations, last actions, and model parameters of episodes: the same in any number of environments."""

import pickle
from dataclasses import replace

import cloudpickle
import numpy as np
import pytest
from treesim_gymnasium import Together, TreesimEnv, TreesimVectorEnv, reach, velocity

import treesim
from treesim.errors import TreesimError

COUNT, STEPS = 6, 8


@pytest.fixture(scope="module")
def task():
    """Return Reach with all that differs between steps and episodes."""
    return replace(
        reach(), noise=np.r_[np.zeros(3), np.full(12, 0.1)], last_action=True,
        reward=lambda t, q, v, p, a, b: a @ a + 10.0 * (b @ b),
        randomize={"kp": {"elbow_joint": (50.0, 150.0)}, "mass": {"forearm_link": (1.0, 4.0)}},
    )  # fmt: skip


def episode(envs, actions, **reset):
    """Return observations and rewards of an episode."""
    observations, rewards = [envs.reset(**reset)[0]], []
    for a in actions:
        found = envs.step(a)
        observations.append(found[0])
        rewards.append(found[1])
    return np.array(observations), np.array(rewards)


def test_an_episode_is_the_same_alone_and_after_a_pickle(task):
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, COUNT, 6))
    seeds = list(range(COUNT))
    envs = TreesimVectorEnv(task, COUNT, dtype=float, autoreset_mode="Disabled")
    observations, rewards = episode(envs, actions, seed=seeds)
    for k in (0, COUNT - 1):
        alone, own = episode(TreesimEnv(task, dtype=float), actions[:, k], seed=k)
        assert np.array_equal(alone, observations[:, k]) and np.array_equal(own, rewards[:, k])
    again = pickle.loads(cloudpickle.dumps(envs))
    assert np.array_equal(again.step(actions[0])[0], envs.step(actions[0])[0])
    second, _ = episode(envs, actions)
    assert not np.isclose(second[0], observations[0])[:, 3:15].any(), "the next episode has other noise"


def test_noise_is_of_its_size_and_not_in_the_state(task):
    many = replace(task, noise_kind="normal")
    for each, widest, deviation in ((task, 0.1, 0.1 / np.sqrt(3)), (many, np.inf, 0.1)):
        noisy, exact = (
            episode(TreesimVectorEnv(x, 100, dtype=float), np.zeros((STEPS, 100, 6)), seed=3)
            for x in (each, replace(each, noise=0.0))
        )
        noise = (noisy[0] - exact[0])[..., :15]
        assert np.array_equal(noisy[1], exact[1]) and not noise[..., :3].any()
        x = noise[..., 3:].ravel()
        assert abs(x).max() <= widest
        assert abs(x.mean()) < 4 * deviation / np.sqrt(x.size) and abs(x.std() / deviation - 1) < 4 / np.sqrt(x.size)
        assert abs(np.corrcoef(noise[:-1, :, 5].ravel(), noise[1:, :, 5].ravel())[0, 1]) < 0.15


def test_the_last_actions_are_observed_and_rewarded(task):
    actions = np.random.default_rng(1).uniform(-2, 2, (3, COUNT, 6))
    given = np.clip(actions, -1, 1)
    on_arrays = replace(
        task, compiled=False, observe=lambda t, q, v, p: np.zeros((len(q), 2)), noise=0.0,
        observation_low=-np.inf, observation_high=np.inf,
        reward=lambda t, q, v, p, a, b: (a**2).sum(axis=1) + 10.0 * (b**2).sum(axis=1),
        terminated=lambda t, q, v, p: 0, reset=lambda x, q, v, p: None,
    )  # fmt: skip
    for each in (task, on_arrays):
        envs = TreesimVectorEnv(each, COUNT, dtype=float)
        observations, rewards = episode(envs, actions, seed=0)
        assert not observations[0, :, -6:].any() and np.array_equal(observations[1:, :, -6:], given)
        before = np.concatenate([0 * given[:1], given[:-1]])
        np.testing.assert_allclose(rewards, (given**2).sum(axis=2) + 10 * (before**2).sum(axis=2), rtol=1e-14)


def test_parameters_of_episodes_are_those_of_the_stepper(task):
    """Episodes have the states of a stepper to which the same parameters are given."""
    envs = TreesimVectorEnv(task, COUNT, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.reset()
    stepper, known = envs.episodes.stepper, envs.episodes.stepper._physics.fields
    own = {"kp": {"elbow_joint": known["kp"].values[:, 0]}, "mass": {"forearm_link": known["mass"].values[:, 0]}}
    assert (own["kp"]["elbow_joint"] > 50).all() and np.ptp(own["mass"]["forearm_link"]) > 0.5
    kp, kd = task.gains
    other = treesim.BatchStepper(
        task.world, COUNT, task.dt, steps=task.steps, kp=kp, kd=kd, integrator=task.integrator, backend=task.backend,
        substeps=task.substeps, model_parameters=own,
    )  # fmt: skip
    other.put(slice(None), stepper.q, stepper.v)
    other.step((task.range[0] + task.range[1]) / 2)
    envs.step(np.zeros((COUNT, 6)))
    assert np.array_equal(other.q, stepper.q)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": -1.0}, "noise must be finite and not negative"),
        ({"noise": [0.1, 0.2]}, "noise must be one number, or one for each of 15"),
        ({"noise_kind": "white"}, "noise_kind"),
        ({"last_action": 1}, "last_action must be True or False"),
        ({"randomize": 3}, "randomize must be a mapping"),
        ({"randomize": {"mass": 3}}, r"randomize\['mass'\] must be \(low, high\)"),
        ({"randomize": {"kp": {"elbow_joint": (3, 2)}}}, r"randomize\['kp'\]\['elbow_joint'\] must be"),
        ({"randomize": {"kp": {"elbow_joint": (0, np.inf)}}}, r"randomize\['kp'\]\['elbow_joint'\] must be"),
        ({"randomize": {"weight": (0, 1)}}, "weight"),
    ],
)
def test_bad_fields_are_refused(changes, message):
    with pytest.raises(TreesimError, match=message):
        TreesimVectorEnv(replace(reach(), **changes), 2)


def test_parameters_may_be_drawn_together():
    ranges = {"kp": Together(np.full(6, 50.0), np.arange(60.0, 66.0)), "damping": ([0.0, 1, 1, 1, 1, 1], np.ones(6))}
    envs = TreesimVectorEnv(replace(reach(), randomize=ranges), COUNT)
    envs.reset(seed=2)
    kp, damping = (envs.episodes.stepper._physics.fields[name].values for name in ("kp", "damping"))
    shares = (kp - 50.0) / np.arange(10.0, 16.0)
    np.testing.assert_allclose(shares, np.broadcast_to(shares[:, :1], shares.shape), rtol=1e-12)
    assert np.ptp(shares[:, 0]) > 0.1 and np.ptp(damping[:, 0]) > 0.1 and (damping[:, 1:] == 1).all()


def test_a_parameter_is_of_the_environment_or_of_the_episode(task):
    with pytest.raises(treesim.ArgumentError, match="draws 'mass' for each episode"):
        TreesimVectorEnv(task, 2, model_parameters={"mass": np.ones(6)})


def test_the_go2_observes_what_a_robot_measures():
    """45 numbers, within the noise of the exact ones, under a command that changes."""
    envs = TreesimVectorEnv("velocity", COUNT, dtype=float)
    observations, _ = envs.reset(seed=5)
    task, stepper = envs.task, envs.episodes.stepper
    assert observations.shape == (COUNT, 45)
    R = treesim.frame_pose(task.robot, stepper.q, "base")[:, :3, :3]
    exact = np.c_[
        stepper.v[:, 3:6], -R[:, 2], observations[:, 6:9], stepper.q[:, 7:] - (sum(task.range) / 2), stepper.v[:, 6:]
    ]
    assert (abs(observations[:, :33] - exact) <= np.asarray(task.noise) + 1e-12).all()
    p = np.array([0.5, 0.1, -0.2, 0.0, 0.0, 0.3, 4.0])
    for t, wanted in ((3.9, p[:3]), (4.1, p[3:6])):
        found = task.observe(t, stepper.q[0], stepper.v[0], p)
        assert np.array_equal(found[6:9], wanted)
    q, v, p = task.robot.neutral(), np.zeros(18), np.zeros(7)
    task.reset(np.random.default_rng(0).random(task.random), q, v, p)
    p[:] = 0.5, 0, 0, 0.5, 0, 0, 1
    moving, still, none = np.r_[0.5, np.zeros(17)], np.zeros(18), np.zeros(12)
    reward = [velocity().reward(0.0, q, x, p, none, none) for x in (moving, still)]
    assert reward[0] > reward[1] + 1
