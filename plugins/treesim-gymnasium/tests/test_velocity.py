"""The trained policy of Go2Velocity: its contract is the environment, and it walks in treesim and in MuJoCo."""

import hashlib
import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from treesim_gymnasium import TreesimVectorEnv, velocity
from treesim_gymnasium.velocity import CONTRACT, NETWORK

import treesim

pytest.importorskip("treesim_onnx", reason="needs treesim-onnx")
MOST = 200_000  # bytes of the network


@pytest.fixture(scope="module")
def policy():
    return treesim.policies.load(NETWORK, CONTRACT, velocity().robot)


@pytest.fixture(scope="module")
def program():
    """Return walk.py, which compares treesim with MuJoCo."""
    pytest.importorskip("mujoco", reason="needs mujoco")
    spec = importlib.util.spec_from_file_location("walk_of_plugin", Path(__file__).parents[1] / "walk.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_those_of_the_digests():
    lines = (NETWORK.parent / "SHA256SUMS").read_text().splitlines()
    known = dict(reversed(line.split("  ")) for line in lines)
    for file in (NETWORK, CONTRACT):
        assert hashlib.sha256(file.read_bytes()).hexdigest() == known[file.name]
    assert NETWORK.stat().st_size < MOST


def test_the_contract_is_that_of_the_environment(policy):
    """Observations, targets, gains and limits agree; the environment is without noise."""
    task, count, rate = replace(velocity(), noise=0.0), 3, policy.contract.rate
    assert rate == pytest.approx(1 / (task.dt * task.steps)) and policy.contract.dt == task.dt
    assert policy.command_names == ("vx", "vy", "wz")
    envs = TreesimVectorEnv(task, count, dtype=float, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=0)
    episodes, memory, (low, high) = envs.episodes, policy.begin(count), task.range
    for k in range(5):
        q, v = episodes.stepper.q, episodes.stepper.v
        found, _ = policy.observation(k / rate, q, v, observations[:, 6:9], memory)
        np.testing.assert_allclose(found, observations, atol=1e-12)
        control, memory = policy.step(k / rate, q, v, observations[:, 6:9], memory)
        actions = policy.network(observations)
        np.testing.assert_allclose(control[:, 6:], (low + high) / 2 + (high - low) / 2 * actions, atol=1e-12)
        observations = envs.step(actions)[0]
    for name, servo in zip(policy.contract.action.joints, policy.contract.actuators, strict=True):
        actuator = task.world.actuators["*_calf_joint" if "calf" in name else "*"]
        assert (servo.kp, servo.kd, servo.velocity_limit) == (actuator.kp, actuator.kd, actuator.velocity_limit)
        assert servo.period == task.dt and actuator.gains == "explicit"
    for term, size in zip(policy.contract.terms, (3, 3, 3, 12, 12, 12), strict=True):
        assert term.size == size
    noise = np.concatenate([np.full(term.size, term.noise) for term in policy.contract.terms[:-1]])
    assert np.array_equal(noise, velocity().noise)


@pytest.mark.slow
def test_it_walks_with_the_robot_of_the_file(policy):
    """Also with hulls of meshes for feet and without rotors, as in `treesim simulate go2`."""
    robot = treesim.load("go2", base="floating")
    own = treesim.policies.load(policy.network, policy.contract, robot)
    simulation = treesim.Simulation(
        treesim.World(robot, ground=treesim.Ground(), actuators=own.actuators),
        dt=0.004,
        controller=own.controller(0.004, [0.6, 0.0, 0.0]),
    )
    run = simulation.run(3.0, treesim.standing(robot, own.posture))
    assert run.q[:, 2].min() > 0.2 and 1.0 < run.q[-1, 0] < 2.2


@pytest.mark.parametrize("engine", ["in_treesim", "in_mujoco"])
def test_it_walks_for_a_while(policy, program, engine):
    command = np.array([0.6, 0.0, 0.0])
    walks = getattr(program, engine)(policy, command, range(2), 5.0)
    assert not walks.fell.any() and abs(walks.velocity[:, 0] - 0.6).max() < 0.25


@pytest.mark.nightly
@pytest.mark.parametrize("command", [(0.5, 0, 0), (0.8, 0, 0.4), (0, 0.3, 0), (-0.4, 0, 0), (0, 0, 0)])
@pytest.mark.parametrize("engine", ["in_treesim", "in_mujoco"])
def test_it_walks_at_the_commanded_speed(policy, program, engine, command):
    """In at least 18 of 20 runs of 20 s, whose starts, friction and, in treesim, masses and motors differ."""
    walks = getattr(program, engine)(policy, np.array(command), range(20), 20.0)
    assert walks.follow(np.array(command)).sum() >= 18, walks
