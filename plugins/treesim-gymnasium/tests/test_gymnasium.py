"""Gymnasium environments: Gymnasium's checker, equal episodes in any number and autoreset mode, states of rollouts."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import treesim

pytest.importorskip("gymnasium", reason="needs gymnasium (pip install gymnasium)")

import cloudpickle
import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from treesim_gymnasium import Task, TreesimEnv, TreesimVectorEnv, balance, reach
from treesim_gymnasium.balance import CART, DENSITY, capsule, tip
from treesim_gymnasium.philox import uniform

NAMES = ["treesim/Balance-v0", "treesim/Reach-v0"]
COUNT, STEPS = 12, 30
MODES = ["NextStep", "SameStep", "Disabled"]


@pytest.fixture(scope="module")
def actions() -> np.ndarray:
    """Return actions of Balance, under which most poles fall within the steps."""
    return np.random.default_rng(0).uniform(-0.2, 0.2, (STEPS, COUNT, 1))


def test_random_numbers_are_numpy_s():
    seeds, streams, episodes = np.random.default_rng(0).integers(0, 2**64, (3, 20), dtype=np.uint64)
    found = uniform(seeds, streams, episodes, 11)
    for k, row in enumerate(found):
        key, counter = np.array([seeds[k], streams[k]]), np.array([0, 0, 0, episodes[k]], np.uint64)
        assert np.array_equal(row, np.random.Generator(np.random.Philox(key=key, counter=counter)).random(11))


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_s_checker_warns_of_nothing(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_registered_vector_environments_are_natively_batched(name):
    envs = gymnasium.make_vec(name, num_envs=3, dtype=np.float64)
    assert isinstance(envs.unwrapped, TreesimVectorEnv) and envs.max_episode_steps == envs.spec.max_episode_steps
    observations, _ = envs.reset(seed=0)
    assert observations.dtype == np.float64 and observations in envs.observation_space
    assert envs.step(envs.action_space.sample())[0] in envs.observation_space


def walk(envs, actions, **reset):
    """Return observations, rewards, terminations and truncations of all steps, and infos."""
    found = [[envs.reset(**reset)[0]], [], [], [], []]
    for a in actions:
        for kept, x in zip(found, envs.step(a), strict=True):
            kept.append(x)
    return [*(np.array(x) for x in found[:4]), found[4]]


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_it_does_what_gymnasium_s_own_vector_environment_does(actions, mode):
    """It equals, to the bit, a vector of single environments with the same seeds, through many episodes."""
    seeds = list(range(COUNT))
    own = walk(TreesimVectorEnv("balance", COUNT, 8, mode), actions, seed=seeds)
    fns = [lambda: gymnasium.wrappers.TimeLimit(TreesimEnv("balance"), 8)] * COUNT
    theirs = walk(SyncVectorEnv(fns, autoreset_mode=mode), actions, seed=seeds)
    assert own[2].any() and own[3].any()
    assert all(np.array_equal(x, y) for x, y in zip(own[:4], theirs[:4], strict=True))
    for mine, other in zip(own[4], theirs[4], strict=True):
        assert mine.keys() == other.keys()
        if "final_obs" in mine:
            assert np.array_equal(mine["_final_obs"], other["_final_obs"])
            for row in np.flatnonzero(mine["_final_obs"]):
                assert np.array_equal(mine["final_obs"][row], other["final_obs"][row])


def test_an_episode_does_not_depend_on_how_many_environments_there_are(actions):
    many = walk(TreesimVectorEnv("balance", COUNT, dtype=np.float64), actions, seed=3)
    few = walk(TreesimVectorEnv("balance", 5, dtype=np.float64, threads=1), actions[:, :5], seed=3)
    assert all(np.array_equal(x[:, :5], y) for x, y in zip(many[:4], few[:4], strict=True))
    assert len(np.unique(many[0][0][:, 0])) == COUNT  # environments begin differently, and each of its episodes does
    assert len(np.unique(many[0][:-1][np.vstack([np.zeros((1, COUNT), bool), many[2][:-1]])][:, 0])) > COUNT


def test_the_modes_give_the_same_episodes(actions):
    """Without force, first observations and lengths of every environment's episodes are equal in all modes."""
    still, found = np.zeros((60, COUNT, 1)), []
    for mode in MODES[:2]:
        observations, _, ended, _, _ = walk(TreesimVectorEnv("balance", COUNT, autoreset_mode=mode), still, seed=1)
        delay = 1 if mode == "NextStep" else 0
        found.append([[(observations[0, k].tobytes(), *np.flatnonzero(ended[:, k])[:1])] for k in range(COUNT)])
        for k in range(COUNT):
            last = np.flatnonzero(ended[:, k])[0]
            found[-1][k].append(observations[last + 1 + delay, k].tobytes())
    assert found[0] == found[1]


def test_a_seed_is_that_of_one_environment():
    one = TreesimEnv("reach", dtype=np.float64)
    envs = TreesimVectorEnv("reach", 3, dtype=np.float64)
    for seed in (5, 2**70 + 3):
        assert np.array_equal(one.reset(seed=seed)[0], envs.reset(seed=seed)[0][0])
        assert np.array_equal(one.reset(seed=seed)[0], envs.reset(seed=[1, seed, 2])[0][1])
        assert np.array_equal(one.reset()[0], envs.reset()[0][1])  # the next episode of either
    assert not np.array_equal(TreesimEnv("reach").reset()[0], TreesimEnv("reach").reset()[0])


def test_disabled_the_caller_resets(actions):
    envs = TreesimVectorEnv("balance", COUNT, 8, "Disabled")
    before, _ = envs.reset(seed=0)
    for a in actions[:8]:
        before, _, terminated, truncated, _ = envs.step(a)
        if (terminated | truncated).any():
            break
    with pytest.raises(treesim.ArgumentError, match="have ended: reset them first"):
        envs.step(a)
    ended = terminated | truncated
    after, _ = envs.reset(options={"reset_mask": ended})
    assert np.array_equal(after[~ended], before[~ended]) and (after[ended] != before[ended]).any(axis=1).all()
    envs.step(a)
    with pytest.raises(treesim.ArgumentError, match="reset_mask must be"):
        envs.reset(options={"reset_mask": np.zeros(COUNT, bool)})


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_actions_range_over_the_limits_of_each_joint(base):
    robot = treesim.load("go2", base=base)
    nothing = lambda *given: None  # noqa: E731
    task = Task(world=robot, observe=nothing, reward=nothing, terminated=nothing, reset=nothing, kp=20.0, kd=1.0)
    low, high = task.range
    for k, name in enumerate(robot.joint_names[base == "floating" :]):
        joint = robot.joint(name)
        assert (low[k], high[k]) == (joint.lower[0], joint.upper[0])


@pytest.mark.parametrize("task", [balance, reach])
def test_states_are_those_of_rollouts(task):
    task = task()
    envs = TreesimVectorEnv(task, COUNT, dtype=np.float64)
    envs.reset(seed=4)
    stepper = envs.episodes.stepper
    q0, v0 = stepper.q.copy(), stepper.v.copy()
    a = np.random.default_rng(1).uniform(-1, 1, (6, COUNT, len(task.driven)))
    low, high = task.range
    u = np.zeros((COUNT, 6 * task.steps, task.robot.nv))
    u[:, :, task.driven] = np.repeat(np.moveaxis((low + high) / 2 + (high - low) / 2 * a, 0, 1), task.steps, axis=1)
    kp, kd = task.gains
    run = treesim.rollout(task.world, q0, v0, u, dt=task.dt, kp=kp, kd=kd, substeps=task.substeps, every=task.steps)
    alive = np.ones(COUNT, bool)
    for k in range(6):
        _, _, terminated, _, _ = envs.step(a[k])
        assert np.array_equal(stepper.q[alive], run.q[alive, k]) and np.array_equal(stepper.v[alive], run.v[alive, k])
        alive &= ~terminated
    assert alive.any()


@pytest.mark.parametrize("task", [balance, reach])
def test_numpy_functions_see_what_compiled_ones_see(task):
    """The same source runs on rows and, for Balance by its columns, on arrays of all environments."""
    task = task()
    compiled = TreesimVectorEnv(task, COUNT, dtype=np.float64)

    def observe(t, q, v, p):
        return np.array([np.asarray(task.observe(*state), float) for state in zip(t, q, v, p, strict=True)])

    def reward(t, q, v, p, a):
        return np.array([float(task.reward(*state)) for state in zip(t, q, v, p, a, strict=True)])

    def terminated(t, q, v, p):
        return np.array([task.terminated(*state) for state in zip(t, q, v, p, strict=True)])

    def reset(*arrays):
        for rows in zip(*arrays, strict=True):
            task.reset(*rows)

    plain = replace(task, compiled=False, observe=observe, reward=reward, terminated=terminated, reset=reset)
    a = np.random.default_rng(2).uniform(-0.1, 0.1, (10, COUNT, len(task.driven)))
    one, other = (walk(envs, a, seed=9) for envs in (compiled, TreesimVectorEnv(plain, COUNT, dtype=np.float64)))
    for x, y in zip(one[:4], other[:4], strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)  # rounding of the first states, through 0.5 s at most


def test_environments_may_have_physics_of_their_own(actions):
    """The robot's own parameters change nothing; heavier poles fall in other steps."""
    masses = np.tile([body.inertia.mass for body in balance().robot.bodies], (COUNT, 1))
    masses[1::2, 1:] *= 3.0
    own = walk(TreesimVectorEnv("balance", COUNT, model_parameters={"mass": masses}), actions[:6], seed=0)
    plain = walk(TreesimVectorEnv("balance", COUNT), actions[:6], seed=0)
    np.testing.assert_allclose(own[0][:, ::2], plain[0][:, ::2], atol=1e-5)  # of float32
    assert (np.abs(own[0][3:, 1::2] - plain[0][3:, 1::2]).max(axis=(0, 2)) > 1e-3).all()


def simple(**changes) -> Task:
    kept = {
        "world": treesim.load("ur5"), "observe": lambda t, q, v, p: q, "reward": lambda t, q, v, p, a: 1.0,
        "terminated": lambda t, q, v, p: 0, "reset": lambda x, q, v, p: None, "dt": 2e-3, "steps": 10, "substeps": 1,
    }  # fmt: skip
    return Task(**{**kept, **changes})


def test_what_diverges_is_cut_off_and_told():
    def reset(x, q, v, p):
        v[:, 0] = np.where(x[:, 0] > 0.5, 1e200, 0.0)

    task = simple(compiled=False, random=1, reset=reset)
    envs = TreesimVectorEnv(replace(task, world=treesim.World(task.robot, use_limits=False)), 8)
    before, _ = envs.reset(seed=0)
    fast = envs.episodes.stepper.v[:, 0] != 0
    assert 0 < fast.sum() < 8
    observations, rewards, terminated, truncated, infos = envs.step(np.zeros((8, 6)))
    assert np.array_equal(infos["diverged"], fast) and np.array_equal(truncated, fast) and not terminated.any()
    assert np.array_equal(observations[fast], before[fast]) and not rewards[fast].any() and (rewards[~fast] == 1).all()
    assert envs.step(np.zeros((8, 6)))[4] == {}  # in which others have begun


@pytest.mark.parametrize(
    ("changes", "error", "what"),
    [
        ({"joints": ["elbow"]}, treesim.UnknownNameError, "elbow_joint"),
        (
            {"world": treesim.free_body("ball", "sphere", (0.1,), 1.0)},
            treesim.ArgumentError,
            "has no joint of one degree",
        ),
        ({"low": [0.0, 1.0]}, treesim.ArgumentError, "low must be one number, or one for each of 6 joints"),
        ({"high": np.inf}, treesim.ArgumentError, "high must be finite, got inf"),
        ({"observation_low": [0.0, 1.0]}, treesim.ArgumentError, "observation_low has shape .* 6 numbers are observed"),
        ({"terminated": lambda t, q, v, p: 1 if q[0] > 1 else 0}, treesim.UnsupportedError, "cannot be compiled"),
        ({"compiled": False, "observe": lambda t, q, v, p: q[0]}, treesim.ArgumentError, "observe returned shape"),
        ({"compiled": False, "reward": lambda t, q, v, p, a: q}, treesim.ArgumentError, "reward returned shape"),
    ],
)
def test_tasks_that_cannot_be_are_refused(changes, error, what):
    with pytest.raises(error, match=what):
        TreesimVectorEnv(simple(**changes), 2)


def test_actions_control_actuators_of_the_world():
    world = treesim.World(treesim.load("ur5"), actuators={"*": treesim.Motor(gear=50, rotor_inertia=1e-4)})
    task = simple(world=world, dt=1e-3, steps=2)
    with pytest.raises(treesim.ArgumentError, match="joint 'shoulder_pan_joint' has an actuator: give the range"):
        TreesimVectorEnv(task, 2)
    envs = TreesimVectorEnv(replace(task, low=-1.0, high=1.0), 2)
    envs.reset(seed=0)
    before = envs.episodes.stepper.q.copy(), envs.episodes.stepper.v.copy()
    envs.step(np.full((2, 6), 0.5))
    end = treesim.rollout(world, *before, np.full((2, 2, 6), 0.5), 1e-3, substeps=1).q[:, -1]
    assert np.array_equal(envs.episodes.stepper.q, end)


def test_what_environments_are_given_is_checked():
    envs = TreesimVectorEnv("reach", 2)
    envs.reset(seed=0)
    with pytest.raises(treesim.ArgumentError, match=r"actions must be \(2, 6\) finite numbers, got shape \(6,\)"):
        envs.step(np.zeros(6))
    with pytest.raises(treesim.ArgumentError, match=r"with nan at \(1, 3\)"):
        envs.step(np.array([[0.0] * 6, [0, 0, 0, np.nan, 0, 0]]))
    with pytest.raises(treesim.ArgumentError, match="3 seeds are given for 2 environments"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(treesim.ArgumentError, match="float32 or float64"):
        TreesimVectorEnv("reach", 2, dtype=int)
    with pytest.raises(treesim.UnknownNameError, match="balance"):
        TreesimEnv("balanced")


def test_the_cart_is_gymnasium_s():
    """The masses are those of MuJoCo's model, if it is installed; the tip is the end of the upper pole's frame."""
    robot, q = balance().robot, np.array([0.1, 0.3, -0.7])
    end = treesim.body_poses(robot, q)[3] @ [0, 0, 0.6, 1]
    np.testing.assert_allclose(tip(q), end[[0, 2]], atol=1e-15)
    mujoco = pytest.importorskip("mujoco", reason="needs mujoco")
    model = gymnasium.make("InvertedDoublePendulum-v5").unwrapped.model
    assert isinstance(model, mujoco.MjModel)
    np.testing.assert_allclose([body.inertia.mass for body in robot.bodies], model.body_mass[1:], rtol=1e-12)
    across, _, along = np.diag(capsule(*CART).rotational)
    np.testing.assert_allclose([across, along], [model.body_inertia[1].max(), model.body_inertia[1].min()], rtol=1e-12)
    assert DENSITY == 1000.0


def test_stable_baselines_takes_them():
    pytest.importorskip("stable_baselines3", reason="needs stable-baselines3")
    from treesim_gymnasium.stable_baselines import StableBaselinesEnv

    env = StableBaselinesEnv(TreesimVectorEnv("reach", 4, 5, "SameStep"))
    env.seed(3)
    first = env.reset()
    assert np.array_equal(first[1], TreesimEnv("reach").reset(seed=4)[0])
    for _ in range(5):
        observations, _, ended, infos = env.step(np.zeros((4, 6), np.float32))
    assert ended.all() and infos[2]["TimeLimit.truncated"]
    assert not np.array_equal(infos[2]["terminal_observation"], observations[2])


WAYS = {"copy": copy.copy, "deep copy": copy.deepcopy, "pickle": lambda envs: pickle.loads(pickle.dumps(envs))}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def arrays_of(envs: TreesimVectorEnv) -> list[np.ndarray]:
    """Return the arrays of an environment's episodes."""
    stepper = envs.episodes.stepper
    holders = [envs, envs.episodes, stepper, stepper._kept]
    found = [x for holder in holders for x in vars(holder).values() if isinstance(x, np.ndarray)]
    return [*found, *stepper._next, stepper.q, stepper.v]


@every_way
@pytest.mark.parametrize("steps", [0, 4, 12])  # before the first step, within an episode, and in a later one
@pytest.mark.parametrize("mode", MODES[:2])
def test_copies_go_on_with_the_same_bits(way, steps, mode, actions):
    envs = TreesimVectorEnv("balance", COUNT, 8, mode)
    envs.reset(seed=3)
    for a in actions[:steps]:
        envs.step(a)
    twin = way(envs)
    assert len(arrays_of(twin)) > 15
    assert not any(np.shares_memory(x, y) for x in arrays_of(envs) for y in arrays_of(twin))
    goes_on = [[x.step(a) for a in actions[steps:]] for x in (twin, envs)]  # one after the other
    for found, expected in zip(*goes_on, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(found[:4], expected[:4], strict=True))
    assert np.array_equal(twin.reset()[0], envs.reset()[0]) and np.array_equal(
        twin.reset(seed=8)[0], envs.reset(seed=8)[0]
    )


@every_way
def test_a_copied_environment_goes_on_alone(way, actions):
    env = gymnasium.make("treesim/Balance-v0")
    env.reset(seed=3)
    for a in actions[:3, 0]:
        env.step(a)
    twin = way(env.unwrapped)
    found, expected = ([x.step(a)[0] for a in actions[3:8, 0]] for x in (twin, env.unwrapped))
    assert np.array_equal(found, expected)
    assert np.array_equal(twin.reset()[0], env.reset()[0])


def test_environments_are_pickled_with_their_own_physics(actions):
    masses = np.linspace(0.5, 2.0, COUNT)[:, None] * [[1.0, 2.0, 3.0]]
    given = {"mass": masses.copy()}
    envs = TreesimVectorEnv("balance", COUNT, model_parameters=given)
    given["mass"][:] = 9.0  # what is the caller's no longer matters
    envs.reset(seed=0)
    twin = pickle.loads(pickle.dumps(envs))
    assert np.array_equal(twin.step(actions[0])[0], envs.step(actions[0])[0])
    same = TreesimVectorEnv("balance", COUNT, model_parameters={"mass": masses})
    same.reset(seed=0)
    same.step(actions[0])
    assert np.array_equal(twin.episodes.stepper.q, same.episodes.stepper.q)


def stepped_there(envs: TreesimVectorEnv, actions: np.ndarray) -> np.ndarray:
    """Return the result of steps in another process."""
    return np.array([envs.step(a)[0] for a in actions])


def test_environments_go_on_in_a_process_started_afresh(actions):
    envs = TreesimVectorEnv("balance", COUNT)
    envs.reset(seed=3)
    envs.step(actions[0])
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(stepped_there, envs, actions[1:6]).result()
    assert np.array_equal(there, stepped_there(envs, actions[1:6]))


def test_tasks_of_local_functions_are_copied_and_go_through_cloudpickle():
    task = replace(balance(), observe=lambda t, q, v, p: [q[0]], observation_low=-1.0, observation_high=1.0)
    envs = TreesimVectorEnv(task, 2)
    envs.reset(seed=0)
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(envs)
    for twin in (copy.deepcopy(envs), cloudpickle.loads(cloudpickle.dumps(envs))):
        assert np.array_equal(twin.step(np.zeros((2, 1)))[0], copy.copy(envs).step(np.zeros((2, 1)))[0])


@pytest.mark.parametrize("kind", [TreesimEnv, TreesimVectorEnv])
def test_render_modes_are_refused_with_what_to_do(kind):
    with pytest.raises(treesim.ArgumentError, match=r"render_mode must be None, got 'human'.*treesim\.view"):
        kind("balance", render_mode="human")
    assert callable(treesim.viewer) and kind("balance", render_mode=None).unwrapped.task.robot.nv == 3
