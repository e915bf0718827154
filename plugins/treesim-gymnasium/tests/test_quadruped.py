"""The Go2 tasks: what their functions mean, that episodes begin and end as promised, and that standing is possible."""

import gymnasium
import numpy as np
import pytest
from treesim_gymnasium import TreesimVectorEnv, stand, walk
from treesim_gymnasium.quadruped import CLEARANCE, FOOT, LEANING, LOWEST, SPEEDS, go2, thrown, up
from treesim_gymnasium.velocity import motors

import treesim

COUNT = 16


def test_feet_are_spheres_where_the_meshes_are():
    robot, whole = go2().world.robot, treesim.load("go2", base="floating")
    for leg in ("FL", "FR", "RL", "RR"):
        ball = next(shape for shape in robot.shapes if shape.link == f"{leg}_foot")
        hull = next(shape for shape in whole.shapes if shape.link == f"{leg}_foot")
        points = hull.vertices @ hull.placement.rotation.T + hull.placement.translation
        lowest = ball.placement.translation[2] - FOOT
        assert points[:, 2].min() == pytest.approx(lowest, abs=2e-3)
    assert robot.mass == whole.mass and robot.joint_names == whole.joint_names


def test_the_upward_direction_is_that_of_the_pose():
    robot, rng = go2().world.robot, np.random.default_rng(0)
    for _ in range(5):
        q = robot.random(rng)
        R = treesim.frame_pose(robot, q, robot.body_names[0])[:3, :3]
        np.testing.assert_allclose(up(q), R.T @ [0, 0, 1], atol=1e-12)


def test_starts_are_above_the_ground_and_differ():
    robot, lowest = go2(), []
    for k in range(20):
        q, v = robot.world.robot.neutral(), np.zeros(18)
        thrown(robot, np.random.default_rng(k).random(20), q, v, 0.4, 1.0)
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0)
        lowest.append(treesim.lowest_point(robot.world.robot, q).gap)
    assert min(lowest) > 0 and np.std(lowest) > 1e-3 and max(lowest) < 8 * CLEARANCE


@pytest.mark.parametrize("task", ["stand", "walk"])
def test_episodes_begin_and_end(task):
    envs = TreesimVectorEnv(task, COUNT, dtype=np.float64)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (COUNT, 34 if task == "stand" else 37)
    if task == "walk":
        assert (observations[:, 34] >= SPEEDS[0]).all() and (observations[:, 34] <= SPEEDS[1]).all()
    ended = np.zeros(COUNT, bool)
    robot = go2()
    for _ in range(60):
        observations, rewards, terminated, _, _ = envs.step(np.tile([1.0, -1.0, 1.0], (COUNT, 4)))  # legs that slip
        low = (observations[:, 0] + robot.height < LOWEST) | (observations[:, 3] < LEANING)
        assert np.array_equal(terminated, low) or ended.any()
        ended |= terminated
        assert np.isfinite(rewards).all()
    assert ended.any()


def test_calm_starts_stand_in_the_posture_and_throws_do_not():
    """So that there is something to learn: walking from a stand, and standing after a throw."""
    fallen = {}
    for task in ("stand", "walk"):
        envs = TreesimVectorEnv(task, COUNT)
        envs.reset(seed=0)
        ends = [envs.step(np.zeros((COUNT, 12)))[2] for _ in range(100)]
        fallen[task] = np.any(ends, axis=0).mean()
    assert fallen["walk"] == 0 and fallen["stand"] > 0.5


@pytest.mark.parametrize("task", [stand, walk])
def test_gymnasium_makes_them(task):
    env = gymnasium.make(f"treesim/{task.__name__.capitalize()}-v0")
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation) and not (terminated or truncated)


def test_bits_do_not_depend_on_which_motors_are_at_their_limits():
    """Only the states whose forces are beyond a limit are stepped again, with parameters of their own."""
    robot, rng, count = go2(), np.random.default_rng(0), 40
    world = treesim.World(robot.world.robot, ground=robot.world.ground, actuators=motors(0.0))
    q = np.tile(np.r_[robot.world.robot.neutral()[:7], robot.posture], (count, 1))
    q[:, 2] = robot.height + 0.02
    u = np.zeros((count, 12, 18))
    u[:, :, 6:] = robot.posture + np.linspace(0.0, 1.0, count)[:, None, None] * rng.uniform(-1, 1, (count, 12, 12))
    limits = np.broadcast_to(robot.world.robot.effort_limit, (count, 18)) * rng.uniform(0.6, 1.0, (count, 1))
    options = {"dt": 4e-3, "substeps": 1, "integrator": "semi_implicit_euler"}
    run = treesim.rollout(world, q, np.zeros(18), u, model_parameters={"effort_limit": limits}, **options)
    for k in (0, 5, 20, count - 1):
        own = {"effort_limit": limits[[k]]}
        alone = treesim.rollout(world, q[[k]], np.zeros(18), u[[k]], model_parameters=own, **options)
        assert np.array_equal(alone.q[0], run.q[k]) and np.array_equal(alone.v[0], run.v[k])
