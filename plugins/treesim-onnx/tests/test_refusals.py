"""Files that are refused, by name and in bounded memory."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import treesim
from treesim.errors import ArgumentError, TreesimError, UnsupportedError

SPEC = importlib.util.spec_from_file_location("onnx_models", Path(__file__).with_name("models.py"))
models = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(models)


def from_model(model, **options):
    return treesim.policies.from_onnx(model.SerializeToString(), **options)


def one(kind, *weights, inputs=("obs",), opset=models.OPSET, shape=(1, 8), outputs=1, domain="", **attributes):
    """Model with one node between obs and actions; weights: arrays that are further inputs."""
    m = models.Model()
    given = [*inputs, *(m.weight(values=np.asarray(w)) for w in weights)]
    names = ["actions", *(f"more_{k}" for k in range(outputs - 1))]
    m.add(kind, *given, names=names, domain=domain, **attributes)
    model = m.made({"obs": list(shape)}, {"actions": None}, opset)
    if domain:
        model.opset_import.append(helper.make_opsetid(domain, 1))
    return model


def with_external_data():
    model = models.mlp()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return model


def with_many_nodes():
    m, x = models.Model(), "obs"
    for _ in range(10_001):
        x = m.add("Identity", x)
    m.add("Identity", x, names=["actions"])
    return m.made({"obs": [1, 8]}, {"actions": [1, 8]})


def with_branch():
    m = models.Model()
    graph = helper.make_graph([], "empty", [], [])
    m.add("If", "obs", names=["actions"], then_branch=graph, else_branch=graph)
    return m.made({"obs": [1]}, {"actions": [1]})


def with_functions():
    model = models.mlp()
    model.functions.append(onnx.FunctionProto(name="f", domain="own"))
    return model


def with_huge_initializer():
    model = models.mlp()
    model.graph.initializer[0].dims[:] = [1 << 20, 1 << 20]
    return model


def with_doubled(count=60):
    """Each node doubles the numbers of the one before."""
    m, x = models.Model(), "obs"
    for _ in range(count):
        x = m.add("Concat", x, x, axis=1)
    m.add("Identity", x, names=["actions"])
    return m.made({"obs": [1, 8]}, {"actions": None})


def with_shared_weights(count=70):
    """Many nodes use the same weights, of a million numbers: the file is small, the work is not."""
    m, found = models.Model(), []
    w = m.weight(values=np.ones((1 << 17, 8)))
    for _ in range(count):
        found.append(m.add("ReduceSum", m.add("Gemm", "obs", w, transB=1), m.integers(1)))
    m.add("Sum", *found, names=["actions"])
    return m.made({"obs": [1, 8]}, {"actions": None})


LSTM = [np.zeros((1, 64, 8)), np.zeros((1, 64, 16))]
REFUSED = {
    "unknown operation": (one("Softmax"), UnsupportedError, r"node 'Softmax_0' \(Softmax\).* supported are Abs, Add"),
    "custom domain": (one("Mine", domain="com.me"), UnsupportedError, r"'Mine_0' \(Mine\).*domain 'com.me'"),
    "branch": (with_branch(), UnsupportedError, r"node 'If_0' \(If\): the operation is not supported"),
    "graph as attribute": (one("Relu", body=helper.make_graph([], "g", [], [])), UnsupportedError, "attribute body is"),
    "unknown attribute": (one("Relu", alpha=1.0), UnsupportedError, "attribute alpha is not supported"),
    "functions": (with_functions(), UnsupportedError, "it contains functions"),
    "external data": (with_external_data(), UnsupportedError, "the weights 'w0' are in another file"),
    "many nodes": (with_many_nodes(), UnsupportedError, "it has 10,002 nodes, but 10,000"),
    "old": (one("Relu", opset=7), UnsupportedError, "version 7, but 11 to"),
    "future": (one("Relu", opset=999), UnsupportedError, "version 999, but 11 to"),
    "before its version": (one("LayerNormalization", np.ones(8), opset=13), UnsupportedError, "from version 17"),
    "a cut": (b"\x08\x08:\xff\xff", ArgumentError, "the ONNX file is not an ONNX file"),
    "text": (b"import os; os.system('true')", ArgumentError, "ONNX file"),
    "nothing": (b"", ArgumentError, "contains no graph"),
    "sizes that do not fit": (one("Gemm", np.zeros((7, 3))), UnsupportedError, "8 numbers of the input do not fit to"),
    "shapes that do not fit": (one("Add", np.zeros((1, 3))), UnsupportedError, "shapes .1, 8., .1, 3. do not fit"),
    "two unknown axes": (one("Relu", shape=("N", "M")), UnsupportedError, "'obs' has several axes without a length"),
    "weights that are shorter than their shape": (with_huge_initializer(), ArgumentError, "the weights 'w0' cannot be"),
    "shared weights": (with_shared_weights(), TreesimError, "memory for more than 1,048,576 numbers"),
    "doubled": (with_doubled(), UnsupportedError, "has 1,048,576 numbers at most"),
    "expanded": (one("Expand", np.array([1 << 31, 8])), UnsupportedError, "1,048,576 numbers at most"),
    "tiled": (one("Tile", np.array([1 << 40, 1 << 40])), UnsupportedError, "1,048,576 numbers at most"),
    "overflowing shape": (one("Reshape", np.array([1 << 62, -1])), UnsupportedError, "cannot have the shape"),
    "division by zero": (one("Div", np.zeros(8)), UnsupportedError, "divides by zero"),
    "weights that are not finite": (one("Mul", np.array([np.nan] * 8)), ArgumentError, "number that is not finite"),
    "matrices": (one("MatMul", inputs=("obs", "obs"), shape=(8, 8)), UnsupportedError, "must be constant"),
    "two dimensions": (one("Conv", np.ones((1, 1, 3, 3)), shape=(1, 1, 8, 8)), UnsupportedError, "one dimension"),
    "backwards": (one("LSTM", *LSTM, shape=(1, 1, 8), direction="reverse"), UnsupportedError, "direction is b'rev"),
    "other gates": (one("GRU", *LSTM, shape=(1, 1, 8), hidden_size=16), UnsupportedError, "X, W, R and B have"),
    "index": (one("Gather", np.array([9]), axis=1), UnsupportedError, "index 9 is beyond"),
    "axis": (one("Flatten", axis=5), UnsupportedError, "axis 5 does not exist"),
    "missing input": (one("Add", inputs=("obs", "other")), ArgumentError, "'other' is computed by no node"),
    "outputs": (one("Relu", outputs=2), UnsupportedError, "2 outputs"),
    "integers as input": (one("Cast", to=TensorProto.INT64), UnsupportedError, "only casts to real numbers"),
    "steps of zero": (
        one("Slice", np.array([0]), np.array([4]), np.array([1]), np.array([0])), UnsupportedError, "do not fit"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    model, kind, message = REFUSED[name]
    content = model if isinstance(model, bytes) else model.SerializeToString()
    with pytest.raises(kind, match=message):
        treesim.policies.from_onnx(content)


def test_arguments_are_checked_by_name():
    model = models.recurrent("LSTM")
    for options, message in {
        "output": ({"output": "torque"}, "no output 'torque'; its outputs are 'actions', 'h_out', 'c_out'"),
        "input of a state": ({"states": {"h": "h_out"}}, "no input 'h'; its inputs are 'obs', 'h_in', 'c_in'"),
        "output of a state": ({"states": {"h_in": "h"}}, "no output 'h'"),
        "states": ({"states": "h_in"}, "states must be {input: output}"),
        "size": ({"states": {"h_in": "actions", "c_in": "c_out"}, "output": "h_out"}, "'h_in' has the shape"),
        "no pair": ({"states": {}}, r"give states=\{input: output\}"),
    }.values():
        with pytest.raises(TreesimError, match=message):
            from_model(model, **options)
    with pytest.raises(ArgumentError, match="must be the name of a file, or bytes, got int"):
        treesim.policies.from_onnx(3)
    with pytest.raises(ArgumentError, match="is a folder"):
        treesim.policies.from_onnx("/")


def test_a_missing_plugin_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr("treesim.plugins.available", lambda kind: ())
    with pytest.raises(treesim.PluginError, match=r"treesim-onnx.*pip install"):
        from_model(models.mlp())


def test_a_file_of_two_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)  # without memory on the disk
    with pytest.raises(ArgumentError, match="it has 2,147,483,648 bytes, and 67,108,864 are read at most"):
        treesim.policies.from_onnx(path)


PROGRAM = """
import resource, sys, treesim
for name in sys.argv[1:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        treesim.policies.from_onnx(open(name, "rb").read())
    except treesim.TreesimError:
        pass
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux reports it")
def test_refusals_take_little_memory(tmp_path):
    names = []
    for name in ("doubled", "expanded", "tiled", "weights that are shorter than their shape"):
        names.append(tmp_path / f"{len(names)}.onnx")
        names[-1].write_bytes(REFUSED[name][0].SerializeToString())
    run = subprocess.run([sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, check=True)
    assert max(map(int, run.stdout.split())) < 300_000  # KiB, with what the first one imports


def test_damaged_files_are_refused_by_messages():
    random, contents = np.random.default_rng(0), [m.SerializeToString() for m in (models.mlp(), models.parts())]
    for k in range(200):
        content = bytearray(contents[k % 2])
        for at in random.integers(0, len(content), 3):
            content[at] = random.integers(256)
        try:
            treesim.policies.from_onnx(bytes(content))
        except TreesimError as error:
            assert "ONNX file" in str(error)
