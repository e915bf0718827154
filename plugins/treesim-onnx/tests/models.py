"""ONNX models that tests make."""

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Model:
    """A graph to which nodes are added; weights are random, or given."""

    def __init__(self, seed=0):
        self.random, self.nodes, self.weights = np.random.default_rng(seed), [], []

    def weight(self, *shape, scale=None, values=None):
        """Add a constant; return its name."""
        if values is None:
            values = self.random.normal(size=shape) * (scale or 1 / np.sqrt(shape[-1]))
        name, kind = f"w{len(self.weights)}", np.int64 if np.asarray(values).dtype.kind == "i" else np.float32
        self.weights.append(numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def add(self, kind, *inputs, outputs=1, names=None, domain="", **attributes):
        """Add a node; return the name of its output, or a list of them."""
        names = names or [f"{kind}_{len(self.nodes)}_{k}" for k in range(outputs)]
        node = helper.make_node(kind, inputs, names, name=f"{kind}_{len(self.nodes)}", domain=domain, **attributes)
        self.nodes.append(node)
        return names[0] if len(names) == 1 else names

    def dense(self, x, n_in, n_out):
        """Add a linear layer."""
        return self.add("Gemm", x, self.weight(n_out, n_in), self.weight(n_out, scale=0.1), transB=1)

    def integers(self, *values):
        """Add a constant of integers."""
        return self.weight(values=np.array(values, np.int64))

    def made(self, inputs, outputs, opset=OPSET):
        """Return the model; inputs, outputs: shapes by name."""
        one, two = (
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in group.items()]
            for group in (inputs, outputs)
        )
        graph = helper.make_graph(self.nodes, "policy", one, two, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        return model


def mlp(activation="Elu", batch=1, normalizer="", sizes=(48, 32, 24, 12), **attributes):
    """Multilayer perceptron as rsl_rl exports it; normalizer: "" for none, "Div" or "Add"."""
    m, x = Model(), "obs"
    if normalizer:
        x = m.add("Sub", x, m.weight(1, sizes[0]))
        deviation = m.weight(values=np.abs(m.random.normal(size=(1, sizes[0]))) + 0.5)
        if normalizer == "Add":
            deviation = m.add("Add", deviation, m.weight(values=np.array(1e-2)))
        x = m.add("Clip", m.add("Div", x, deviation), m.weight(values=np.array(-5.0)), m.weight(values=np.array(5.0)))
    for k, (n_in, n_out) in enumerate(itertools.pairwise(sizes)):
        last = k == len(sizes) - 2
        x = m.dense(x, n_in, n_out)
        x = x if last else m.add(activation, x, **attributes)
    m.add("Identity", x, names=["actions"])
    shape = lambda n: [n] if batch is None else [batch, n]  # noqa: E731
    return m.made({"obs": shape(sizes[0])}, {"actions": shape(sizes[-1])})


def mlp_of_vector():
    """Perceptron without a batch axis, of products with matrices on either side."""
    m = Model()
    x = m.add("Softsign", m.add("Add", m.add("MatMul", "obs", m.weight(10, 16)), m.weight(16)))
    x = m.add("MatMul", m.weight(6, 16), m.add("PRelu", x, m.weight(1, values=np.array([0.3]))))
    m.add("HardSigmoid", x, names=["actions"])
    return m.made({"obs": [10]}, {"actions": [6]})


def recurrent(kind="LSTM", layers=1, n=16, reset_after=0, batch=1):
    """Recurrent policy as rsl_rl exports it, with an MLP behind."""
    gates, m, cells = {"LSTM": 4, "GRU": 3}[kind], Model(), kind == "LSTM"
    x, size, ends = m.add("Unsqueeze", "obs", m.integers(0)), 20, {"h": [], "c": []}
    for k in range(layers):
        both = ("h", "c") if cells else ("h",)
        starts = [
            m.add("Slice", f"{s}_in", m.integers(k), m.integers(k + 1), m.integers(0), m.integers(1)) for s in both
        ]
        given = m.weight(1, gates * n, size), m.weight(1, gates * n, n), m.weight(1, 2 * gates * n, scale=0.2)
        more = {} if cells else {"linear_before_reset": reset_after}
        y, *last = m.add(kind, x, *given, "", *starts, outputs=1 + len(both), hidden_size=n, **more)
        for s, name in zip(both, last, strict=True):
            ends[s].append(name)
        x, size = m.add("Squeeze", y, m.integers(1)), n
    names = ("h", "c") if cells else ("h",)
    for s in names:
        m.add("Concat", *ends[s], axis=0, names=[f"{s}_out"])
    x = m.add("Tanh", m.dense(m.add("Squeeze", x, m.integers(0)), n, n))
    m.add("Identity", m.dense(x, n, 5), names=["actions"])
    shape = [layers, batch, n]
    inputs = {"obs": [batch, 20], **{f"{s}_in": shape for s in names}}
    return m.made(inputs, {"actions": [batch, 5], **{f"{s}_out": shape for s in names}})


def history_encoder(groups=1):
    """Encoder of a history by convolutions, whose result is joined with the newest observation."""
    m = Model()
    x = m.add("Transpose", m.add("Reshape", "obs_history", m.integers(-1, 10, 8)), perm=[0, 2, 1])
    first = m.weight(12, 8 // groups, 4), m.weight(12)
    x = m.add("LeakyRelu", m.add("Conv", x, *first, strides=[2], pads=[1, 1], kernel_shape=[4], group=groups))
    x = m.add("Relu", m.add("Conv", x, m.weight(6, 12, 3), dilations=[2]))
    x = m.add("Flatten", x)
    newest = m.add("Slice", "obs_history", m.integers(72), m.integers(1 << 40), m.integers(1))
    code = m.add("LpNormalization", m.dense(x, 6, 6), axis=-1, p=2)
    m.add("Tanh", m.dense(m.add("Concat", newest, code, axis=1), 14, 4), names=["actions"])
    return m.made({"obs_history": ["N", 80]}, {"actions": ["N", 4]})


def parts():
    """Gather, Split, LayerNormalization, norms, and shapes that the graph computes."""
    m = Model()
    a, b = m.add("Split", "obs", m.integers(12, 20), outputs=2, axis=1)
    picked = m.add("Gather", b, m.integers(3, 1, 1, -1), axis=1)
    a = m.add("LayerNormalization", a, m.weight(12), m.weight(12), axis=-1, epsilon=1e-5)
    length = m.add("ReduceL2", b, axes=[1], keepdims=1)
    count = m.add("Gather", m.add("Shape", "obs"), m.integers(0), axis=0)
    shape = m.add("Concat", m.add("Reshape", count, m.integers(1)), m.integers(4, 3), axis=0)
    cube = m.add("Reshape", a, shape)
    mean = m.add("ReduceMean", cube, axes=[1], keepdims=0)
    apart = m.add("Sub", cube, m.add("Unsqueeze", mean, m.integers(1)))
    square = m.add("Pow", apart, m.weight(values=np.array(2.0)))
    spread = m.add("Sqrt", m.add("Add", square, m.weight(values=np.full((4, 3), 0.1))))
    flat = m.add("Flatten", m.add("Div", m.add("Mul", apart, apart), spread))
    x = m.add("Concat", flat, picked, m.add("Max", length, m.weight(values=np.array([[0.5]]))), mean, axis=1)
    m.add("Softplus", m.dense(x, 20, 7), names=["mean"])
    both = m.add("Reshape", m.add("Selu", m.dense(x, 20, 14)), m.integers(-1, 2, 7))
    m.add("Gather", both, m.integers(0), axis=1, names=["actions"])
    return m.made({"obs": ["N", 32]}, {"mean": ["N", 7], "actions": ["N", 1, 7]})


def content(model):
    """Return the bytes of a model's file."""
    onnx.checker.check_model(model)
    return model.SerializeToString()
