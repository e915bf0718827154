"""Networks as policies: of rollouts and of environments the same, from files, and from stable-baselines3."""

import itertools
import zipfile
from pathlib import Path

import numpy as np
import pytest
from treesim_gymnasium import TreesimVectorEnv, balance, network, walk
from treesim_gymnasium.network import Network
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app


def some_network(sizes, seed=0, activation="tanh"):
    rng = np.random.default_rng(seed)
    layers = [(rng.normal(size=(b, a)) / np.sqrt(a), 0.1 * rng.normal(size=b)) for a, b in itertools.pairwise(sizes)]
    return Network(layers, 0.1 * rng.normal(size=sizes[0]), rng.uniform(0.5, 2.0, sizes[0]), activation)


@pytest.mark.parametrize("activation", network.ACTIVATIONS)
def test_rollouts_are_the_environments_episodes(activation):
    task, found = balance(), some_network((8, 16, 1), activation=activation)
    envs = TreesimVectorEnv(task, 6, dtype=np.float64, autoreset_mode="Disabled")
    observations, _ = envs.reset(seed=5)
    stepper = envs.episodes.stepper
    q0, v0 = stepper.q.copy(), stepper.v.copy()
    run = treesim.rollout(
        task.world, q0, v0, network.policy(task, found.sizes, activation), steps=8, policy_parameters=found.parameters,
        **network.rollout_options(task),
    )  # fmt: skip
    running = np.ones(6, bool)
    for k in range(8):
        observations, _, terminated, _, _ = envs.step(found.action(observations))
        np.testing.assert_allclose(run.q[running, k], stepper.q[running], rtol=0, atol=1e-9)
        running &= ~terminated
    assert running.any()


@pytest.mark.parametrize("activation", network.ACTIVATIONS)
def test_files_hold_networks(tmp_path, activation):
    found, path = some_network((8, 5, 3), activation=activation), tmp_path / "net.npz"
    found.save(path)
    again = network.load(path)
    assert (
        again.sizes == (8, 5, 3)
        and again.activation == activation
        and np.array_equal(again.parameters, found.parameters)
    )
    observation = np.random.default_rng(1).normal(size=(4, 8))
    assert np.array_equal(again.action(observation), found.action(observation))


@pytest.mark.parametrize("activation", network.ACTIVATIONS)
def test_onnx_files_hold_networks(activation):
    """Also the limits of observations and actions; equal to the last digits of weights of 32 bits."""
    pytest.importorskip("treesim_onnx", reason="needs treesim-onnx")
    found = some_network((8, 16, 5, 3), activation=activation)
    observations = np.random.default_rng(2).normal(size=(200, 8)) * np.r_[np.ones(7), 50.0]
    content = found.to_onnx()
    read = treesim.policies.from_onnx(content)
    assert (read.inputs, read.output) == (((("obs", 8)),), ("actions", 3))
    wanted = found.action(observations)
    assert (abs(wanted) == 1).any() and (abs(wanted) < 0.9).any()
    np.testing.assert_allclose(read(observations), wanted, atol=5e-6)
    assert content == found.to_onnx()


def test_bad_networks_are_named(tmp_path):
    path = tmp_path / "net.npz"
    path.write_text("no network")
    with pytest.raises(treesim.ArgumentError, match=r"no network of Network\.save"):
        network.load(path)
    np.save(tmp_path / "array", np.zeros(3))
    (tmp_path / "array.npy").rename(path)
    with pytest.raises(treesim.ArgumentError, match=r"no network of Network\.save: it is no archive"):
        network.load(path)
    bad = some_network((8, 5, 3))
    with pytest.raises(treesim.ArgumentError, match="layer 1 has weights"):
        network.checked(bad._replace(layers=[bad.layers[0], bad.layers[0]]))
    with pytest.raises(treesim.ArgumentError, match="not finite"):
        network.checked(bad._replace(mean=np.full(8, np.nan)))
    with pytest.raises(treesim.TreesimError, match="activation 'relu'"):
        network.checked(bad._replace(activation="relu"))
    with pytest.raises(treesim.ArgumentError, match="has 3 actions, but the task has 1"):
        network.policy(balance(), (8, 5, 3))
    with pytest.raises(treesim.ArgumentError, match="takes 5 observations, but the task has 8"):
        rule = network.policy(balance(), (5, 1))
        treesim.rollout(balance().world, np.zeros(3), np.zeros(3), rule, steps=1, policy_parameters=np.ones(16))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mean", np.float64(0), "mean must be an array of real numbers with 1 axes, and is float64 of shape ()"),
        ("W_0", np.zeros((3, 8), complex), "W_0 must be an array of real numbers with 2 axes, and is complex128"),
        ("W_0", np.zeros((3, 8), bool), "W_0 must be an array of real numbers"),
        ("b_0", np.zeros((3, 1)), "b_0 must be an array of real numbers with 1 axes"),
        ("b_0", np.zeros(3, "f8,f8"), "b_0 must be an array of real numbers with 1 axes"),
        ("scale", np.array(["1"] * 8), "scale must be an array of real numbers"),
    ],
)
def test_arrays_of_other_kinds_are_no_network(name, value, message, tmp_path):
    arrays = {"mean": np.zeros(8), "scale": np.ones(8), "W_0": np.zeros((3, 8)), "b_0": np.zeros(3), name: value}
    np.savez(tmp_path / "net.npz", **arrays)
    with pytest.raises(treesim.ArgumentError) as caught:
        network.load(tmp_path / "net.npz")
    assert f"no network of Network.save: {message}" in str(caught.value)


def test_a_network_that_is_packed_as_numpy_does_not_is_refused(tmp_path):
    some_network((8, 3)).save(tmp_path / "net.npz")
    with zipfile.ZipFile(tmp_path / "net.npz") as plain, zipfile.ZipFile(tmp_path / "bz.npz", "w", 12) as packed:
        for member in plain.namelist():
            packed.writestr(member, plain.read(member))
    with pytest.raises(treesim.ArgumentError, match="packed by a method that NumPy does not write"):
        network.load(tmp_path / "bz.npz")


def test_parameters_of_episodes_come_first():
    task, found = walk(), some_network((37, 12))
    envs = TreesimVectorEnv(task, 3, dtype=np.float64)
    observations, _ = envs.reset(seed=2)
    stepper = envs.episodes.stepper
    parameters = np.column_stack([observations[:, 34], np.tile(found.parameters, (3, 1))])
    run = treesim.rollout(
        task.world, stepper.q.copy(), stepper.v.copy(), network.policy(task, found.sizes), steps=3,
        policy_parameters=parameters, **network.rollout_options(task),
    )  # fmt: skip
    for k in range(3):
        observations, *_ = envs.step(found.action(observations))
        np.testing.assert_allclose(run.q[:, k], stepper.q, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--base", "floating", "--policy", "net.npz:walk"), "task 'walk' takes 1 of --parameters, got 0"),
        (("--base", "floating", "--policy", "net.npz:wolk"), "unknown task 'wolk'"),
        (
            ("--base", "floating", "--policy", "net.npz:walk", "--dt", "0.1"),
            "--dt is that of task 'walk': leave it out",
        ),
        (("--base", "fixed", "--policy", "net.npz:walk"), "whose joints are not those of 'go2'"),
        (("--policy", "text.npz:walk"), "holds no network of Network.save"),
    ],
)
def test_sweeps_of_the_command_line_name_what_is_wrong(tmp_path, monkeypatch, options, text):
    monkeypatch.chdir(tmp_path)
    some_network((37, 12)).save("net.npz")
    Path("text.npz").write_text("text")
    found = CliRunner().invoke(app, ["sweep", "go2", "--out", "run.zarr", "--samples", "2", *options])
    assert found.exit_code == 2 and text in found.stderr.replace("\n", " ")


def test_sweeps_of_the_command_line_run_networks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    some_network((37, 12)).save("net.npz")
    given = ["sweep", "go2", "--base", "floating", "--out", "run.zarr", "--samples", "3", "--steps", "2"]
    given += ["--workers", "1", "--policy", "net.npz:walk", "--parameters", "0.5", "--vary", "p[0]=0.3,0.6"]
    found = CliRunner().invoke(app, given)
    assert found.exit_code == 0, found.output
    task, plan = walk(), treesim.sweeps.open_study("run.zarr").plan
    assert plan.options.dt == task.dt * task.steps and plan.fields["p"].nominal[0] == 0.5
    assert plan.world.ground == task.world.ground
    np.testing.assert_allclose(plan.fields["q0"].nominal[7:10], [0.0, 0.8, -1.6])


def test_models_of_stable_baselines_are_networks():
    stable_baselines3 = pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import VecNormalize
    from treesim_gymnasium.stable_baselines import StableBaselinesEnv, network_of

    normalized = VecNormalize(StableBaselinesEnv(TreesimVectorEnv("balance", 4, 50, "SameStep")))
    model = stable_baselines3.PPO("MlpPolicy", normalized, n_steps=16, batch_size=32, device="cpu", seed=0)
    model.learn(64)
    found, observation = network_of(model, normalized), np.random.default_rng(0).normal(size=(20, 8))
    actions, _ = model.predict(normalized.normalize_obs(observation), deterministic=True)
    np.testing.assert_allclose(found.action(observation), actions, rtol=0, atol=1e-5)  # float32
