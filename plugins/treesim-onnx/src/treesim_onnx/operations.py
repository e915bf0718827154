"""Table of the operations that are supported."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import arithmetic as on_numbers
from . import recurrent, shapes
from .arithmetic import SELU_ALPHA, SELU_GAMMA, function, on_pairs, reduction
from .values import Node, Value


class Operation(NamedTuple):
    """Operation of ONNX.

    lower: returns its outputs, and adds layers. attributes: names of those that are supported, among them those whose
    value `lower` restricts. first: version of ONNX's operations from which on it is supported.
    """

    lower: Callable[[Node], Value | list[Value]]
    attributes: frozenset[str] = frozenset()
    first: int = 11


def _of(lower: Callable[[Node], Value | list[Value]], attributes: str = "", first: int = 11) -> Operation:
    return Operation(lower, frozenset(attributes.split()), first)


def _of_constants(compare: Callable[..., np.ndarray]) -> Operation:
    """Return an operation on constants alone, as in computations of shapes."""

    def lower(node: Node) -> Value:
        arrays = [Value(node.constant(k, "every input"), True) for k in range(len(node.inputs))]
        return Value(np.asarray(compare(*(x.array for x in node.broadcast(*arrays)))), True)

    return Operation(lower)


_RECURRENT = "hidden_size direction layout activations clip"
OPERATIONS: dict[str, Operation] = {
    "Abs": _of(function("abs")),
    "Add": _of(on_pairs("add")),
    "BatchNormalization": _of(on_numbers.batch_norm, "epsilon momentum training_mode"),
    "Cast": _of(shapes.cast, "to saturate"),
    "Clip": _of(on_numbers.clip),
    "Concat": _of(shapes.concat, "axis"),
    "Constant": _of(shapes.constant, " ".join(shapes.CONSTANTS)),
    "ConstantOfShape": _of(shapes.constant_of_shape, "value"),
    "Conv": _of(on_numbers.conv, "auto_pad dilations group kernel_shape pads strides"),
    "Div": _of(on_pairs("div")),
    "Dropout": _of(shapes.dropout, "seed ratio"),
    "Elu": _of(function("elu", ("alpha", 1.0), 1.0), "alpha"),
    "Equal": _of_constants(np.equal),
    "Exp": _of(function("exp")),
    "Expand": _of(shapes.expand),
    "Flatten": _of(shapes.flatten, "axis"),
    "GRU": _of(recurrent.gru, _RECURRENT + " linear_before_reset"),
    "Gather": _of(shapes.gather, "axis"),
    "Gemm": _of(on_numbers.gemm, "alpha beta transA transB"),
    "HardSigmoid": _of(on_numbers.hard_sigmoid, "alpha beta"),
    "Identity": _of(shapes.identity),
    "LSTM": _of(recurrent.lstm, _RECURRENT + " input_forget"),
    "LayerNormalization": _of(on_numbers.layer_norm, "axis epsilon stash_type", 17),
    "LeakyRelu": _of(function("leaky_relu", ("alpha", 0.01)), "alpha"),
    "LpNormalization": _of(on_numbers.lp_norm, "axis p"),
    "MatMul": _of(on_numbers.matmul),
    "Max": _of(on_pairs("max")),
    "Min": _of(on_pairs("min")),
    "Mul": _of(on_pairs("mul")),
    "Neg": _of(on_numbers.negative),
    "PRelu": _of(on_numbers.prelu),
    "Pad": _of(shapes.pad, "mode"),
    "Pow": _of(on_numbers.power),
    "Range": _of(shapes.number_range),
    "Reciprocal": _of(on_numbers.reciprocal),
    "ReduceL1": _of(reduction("absolute"), "axes keepdims noop_with_empty_axes"),
    "ReduceL2": _of(reduction("norm"), "axes keepdims noop_with_empty_axes"),
    "ReduceMean": _of(reduction("mean"), "axes keepdims noop_with_empty_axes"),
    "ReduceSum": _of(reduction("sum"), "axes keepdims noop_with_empty_axes"),
    "Relu": _of(function("relu")),
    "Reshape": _of(shapes.reshape, "allowzero"),
    "Selu": _of(function("elu", ("alpha", SELU_ALPHA), ("gamma", SELU_GAMMA)), "alpha gamma"),
    "Shape": _of(shapes.shape_of, "start end"),
    "Sigmoid": _of(function("sigmoid")),
    "Slice": _of(shapes.take_slice),
    "Softplus": _of(function("softplus")),
    "Softsign": _of(function("softsign")),
    "Split": _of(shapes.split, "axis split num_outputs"),
    "Sqrt": _of(on_numbers.sqrt),
    "Squeeze": _of(shapes.squeeze, "axes"),
    "Sub": _of(on_pairs("sub")),
    "Sum": _of(on_pairs("add")),
    "Tanh": _of(function("tanh")),
    "Tile": _of(shapes.tile),
    "Transpose": _of(shapes.transpose, "perm"),
    "Unsqueeze": _of(shapes.unsqueeze, "axes"),
    "Where": _of(shapes.where),
}
