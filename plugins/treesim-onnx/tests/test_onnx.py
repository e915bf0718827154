"""Networks from ONNX files: results are those of onnxruntime, and equal in all batches."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError

SPEC = importlib.util.spec_from_file_location("onnx_models", Path(__file__).with_name("models.py"))
models = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(models)
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

NETWORKS = {
    "elu, batch 1": models.mlp("Elu", alpha=0.7),
    "relu, batch N": models.mlp("Relu", "N", "Div"),
    "tanh, no batch axis": models.mlp_of_vector(),
    "selu": models.mlp("Selu", "N", "Add"),
    "softplus and sigmoid": models.mlp("Softplus", "N"),
    "sigmoid": models.mlp("Sigmoid", 1, "Add"),
    "leaky relu": models.mlp("LeakyRelu", "N", "Div", alpha=0.1),
    "LSTM": models.recurrent("LSTM"),
    "LSTM of two layers": models.recurrent("LSTM", 2, batch="N"),
    "GRU": models.recurrent("GRU"),
    "GRU, reset after the product": models.recurrent("GRU", 2, reset_after=1, batch="N"),
    "history encoder": models.history_encoder(),
    "history encoder in groups": models.history_encoder(4),
    "parts": models.parts(),
}
COUNT = 7


def of_runtime(model, network, x, state):
    """Action and next state of one observation by onnxruntime."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [network.output.name, *(port.name[:-3] + "_out" for port in network.states)]
    found = []
    for one, memory in zip(x, state, strict=True):
        numbers, given, at = np.concatenate([one, memory]).astype(np.float32), {}, 0
        of = {each.name: each for each in session.get_inputs()}
        for port in (*network.inputs, *network.states):
            shape = [n if isinstance(n, int) else 1 for n in of[port.name].shape]
            given[port.name] = numbers[at : at + port.size].reshape(shape)
            at += port.size
        found.append(np.concatenate([np.ravel(y) for y in session.run(names, given)]))
    return np.array(found)


@pytest.mark.parametrize("name", NETWORKS)
def test_results_are_those_of_onnxruntime(name):
    model = NETWORKS[name]
    network = treesim.policies.from_onnx(models.content(model))
    random = np.random.default_rng(1)
    x = random.normal(size=(COUNT, network.observation_size)).astype(np.float32).astype(float)
    state = random.normal(size=(COUNT, network.state_size)).astype(np.float32).astype(float)
    found = np.concatenate(network(x, state), axis=1) if network.states else network(x)
    wanted = of_runtime(model, network, x, state)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 2e-6 * np.abs(wanted).max()


@pytest.mark.parametrize("name", ["elu, batch 1", "LSTM of two layers", "history encoder", "parts"])
def test_results_have_the_same_bits_in_all_batches(name):
    network = treesim.policies.from_onnx(models.content(NETWORKS[name]))
    x = np.random.default_rng(2).normal(size=(64, network.observation_size))
    together = network(x)
    for size in (1, 7, 33):
        each = [network(x[k : k + size]) for k in range(0, 64, size)]
        if network.states:
            for k in range(2):
                assert np.array_equal(np.concatenate([y[k] for y in each]), together[k])
        else:
            assert np.array_equal(np.concatenate(each), together)
    one = network(x[0])
    assert np.array_equal(one[0] if network.states else one, together[0][0] if network.states else together[0])


def test_a_recurrent_network_continues_from_its_state():
    network = treesim.policies.from_onnx(models.content(NETWORKS["LSTM"]))
    assert [tuple(port) for port in network.states] == [("h_in", 16), ("c_in", 16)]
    x = np.random.default_rng(3).normal(size=(3, 4, 20))
    first, state = network(x)
    assert first.shape == (3, 4, 5) and state.shape == (3, 4, 32)
    assert not np.array_equal(network(x, state)[0], first)
    assert np.array_equal(network(x, np.zeros(32))[0], first)


def test_only_what_the_action_depends_on_is_read():
    m = models.Model()
    m.add("Tanh", m.dense("obs", 4, 2), names=["actions"])
    m.add("Gather", m.weight(100, 3), m.add("Cast", "time_step", to=7), axis=0, names=["joint_pos"])
    model = m.made({"obs": [1, 4], "time_step": [1, 1]}, {"joint_pos": [1, 1, 3], "actions": [1, 2]})
    network = treesim.policies.from_onnx(model.SerializeToString())
    assert network.operations == ("Gemm", "Tanh")
    assert network.inputs == (("obs", 4),) and network.output == ("actions", 2)
    other = treesim.policies.from_onnx(models.content(NETWORKS["parts"]), output="mean")
    assert other.output == ("mean", 7)


def test_a_file_is_read_by_its_name(tmp_path):
    (tmp_path / "policy.onnx").write_bytes(models.content(NETWORKS["elu, batch 1"]))
    network = treesim.policies.from_onnx(tmp_path / "policy.onnx")
    assert network == treesim.policies.from_onnx(models.content(NETWORKS["elu, batch 1"]))
    assert repr(network) == "<Network: obs (48) to actions (12), Elu, Gemm, Identity>"


def test_shapes_are_checked_by_name():
    network = treesim.policies.from_onnx(models.content(NETWORKS["LSTM"]))
    with pytest.raises(ArgumentError, match=r"observation \(obs \(20\)\) has shape \(3,\)"):
        network(np.zeros(3))
    with pytest.raises(ArgumentError, match=r"state \(h_in \(16\), c_in \(16\)\) has shape \(5,\)"):
        network(np.zeros(20), np.zeros(5))
    with pytest.raises(treesim.NonFiniteError, match="observation"):
        network(np.full(20, np.nan))
    with pytest.raises(ArgumentError, match="state is for networks with recurrent layers"):
        treesim.policies.from_onnx(models.content(NETWORKS["selu"]))(np.zeros(48), np.zeros(1))
