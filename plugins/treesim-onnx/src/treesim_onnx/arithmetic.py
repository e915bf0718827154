"""Operations on numbers: sums, products, functions, matrices, means, norms and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .shapes import padded
from .values import LARGEST, Node, Value, computed

Lowering = Callable[[Node], Value]
PAIRS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum
}  # fmt: skip
SELU_ALPHA, SELU_GAMMA = 1.6732632423543772, 1.0507009873554805
SMALLEST = 1e-300  # norm by which zeros are divided, too


def on_pairs(name: str) -> Lowering:
    """Return the lowering of an operation on two inputs, or on any number of them from the left."""

    def lower(node: Node) -> Value:
        found = node.input(0)
        for k in range(1, len(node.inputs)):
            found = paired(node, name, found, node.input(k))
        return found

    return lower


def paired(node: Node, name: str, x: Value, y: Value) -> Value:
    """Return the sum, difference, product, quotient, maximum or minimum of two values."""
    x, y = node.broadcast(x, y)
    if name == "div" and y.known and not y.array.all():
        node.refuse("it divides by zero")
    if x.known and y.known:
        return Value(_folded(name, x.array, y.array), True)
    layers = node.layers
    if y.known and name not in ("max", "min"):
        scale = {"mul": y.array, "div": 1.0 / y.array if name == "div" else 0}.get(name, 1.0)
        offset = {"add": y.array, "sub": -y.array}.get(name, 0.0)
        return computed(layers.scaled(x.array, scale, offset))
    if x.known and name in ("add", "mul"):
        return paired(node, name, y, x)
    if x.known and name == "sub":
        return computed(layers.scaled(y.array, -1.0, x.array))
    return computed(layers.paired(name, node.addresses(x), node.addresses(y)))


def _folded(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return an operation on constants; quotients of integers are rounded towards zero."""
    with np.errstate(all="ignore"):
        found: np.ndarray = PAIRS[name](x, y)
    whole = x.dtype.kind in "iu" and y.dtype.kind in "iu"
    return np.trunc(found).astype(np.int64) if whole and name == "div" else found


def function(name: str, a: Any = 0.0, b: Any = 0.0) -> Lowering:
    """Return the lowering of a function of numbers; a, b: parameters, or (attribute, default)."""

    def lower(node: Node) -> Value:
        given = [float(node.get(*x)) if isinstance(x, tuple) else x for x in (a, b)]
        return computed(node.layers.function(name, node.addresses(node.input(0)), *given))

    return lower


def negative(node: Node) -> Value:
    """Return -x."""
    return paired(node, "sub", Value(np.zeros((), int), True), node.input(0))


def reciprocal(node: Node) -> Value:
    """Return 1 / x."""
    return paired(node, "div", Value(np.ones(()), True), node.input(0))


def sqrt(node: Node) -> Value:
    """Return the square root."""
    x = node.input(0)
    return Value(np.sqrt(np.maximum(x.array, 0)), True) if x.known else function("sqrt")(node)


def power(node: Node) -> Value:
    """Return a power with a constant exponent: 0.5, 1, 2 or 3."""
    x, exponent = node.input(0), node.constant(1, "the exponent")
    if exponent.size != 1 or float(exponent.ravel()[0]) not in (0.5, 1, 2, 3):
        node.refuse("the exponent must be 0.5, 1, 2 or 3")
    number = float(exponent.ravel()[0])
    if number == 0.5:
        return sqrt(node)
    found = x
    for _ in range(int(number) - 1):
        found = paired(node, "mul", found, x)
    return found


def clip(node: Node) -> Value:
    """Return x within limits, which are constants."""
    limits = [node.given(1), node.given(2)]
    low, high = (
        default if limit is None else node.constant(k, "a limit").reshape(()).item()
        for k, limit, default in zip((1, 2), limits, (-LARGEST, LARGEST), strict=True)
    )
    low, high = (float(np.clip(x, -LARGEST, LARGEST)) for x in (low, high))
    return computed(node.layers.function("clip", node.addresses(node.input(0)), low, high))


def hard_sigmoid(node: Node) -> Value:
    """Return alpha x + beta within 0 and 1."""
    x = node.addresses(node.input(0))
    inner = node.layers.scaled(x, node.get("alpha", 0.2), node.get("beta", 0.5))
    return computed(node.layers.function("clip", inner, 0.0, 1.0))


def prelu(node: Node) -> Value:
    """Return x, or a constant slope times x if x is negative."""
    slope = Value(node.constant(1, "the slope"), True)
    x = computed(node.addresses(node.input(0)))
    above = computed(node.layers.function("relu", x.array))
    return paired(node, "add", above, paired(node, "mul", paired(node, "sub", x, above), slope))


def gemm(node: Node) -> Value:
    """Return alpha A B + beta C, with constant B."""
    a, b, c = node.input(0), node.constant(1, "B"), node.given(2)
    if len(a.shape) != 2 or b.ndim != 2:
        node.refuse(f"A and B have the shapes {a.shape} and {b.shape}, but need two axes")
    x = node.addresses(a.with_array(a.array.T) if node.get("transA", 0) else a)
    weight = float(node.get("alpha", 1.0)) * (b if node.get("transB", 0) else b.T)
    beta = float(node.get("beta", 1.0))
    folds = c is not None and c.known and (c.array.ndim == 1 or (c.array.ndim == 2 and len(c.array) == 1))
    bias = np.zeros(len(weight))
    if folds and c is not None and c.array.size in (1, len(weight)):
        bias, c = bias + beta * c.array.ravel(), None
    y = _product(node, x, weight, bias)
    return y if c is None else paired(node, "add", y, paired(node, "mul", c, Value(np.array(beta), True)))


def matmul(node: Node) -> Value:
    """Return the product of two matrices, of which one is constant."""
    a, b = node.input(0), node.input(1)
    if not a.shape or not b.shape or a.known == b.known:
        node.refuse("one of the two matrices must be constant, and the other not")
    if a.known:  # A x = (x' A')'
        if len(a.shape) != 2 or len(b.shape) > 2:
            node.refuse(f"a constant matrix of shape {a.shape} times a tensor of shape {b.shape}")
        found = _product(node, b.array.T.reshape(-1, b.shape[0]), a.array, np.zeros(len(a.array)))
        return computed(found.array.T.reshape(-1, *b.shape[1:]))
    if len(b.shape) > 2 and math.prod(b.shape[:-2]) != 1:
        node.refuse(f"constant matrices of shape {b.shape}")
    weight = b.array.reshape(b.shape[-2:]) if len(b.shape) > 1 else b.array[:, None]
    y = _product(node, a.array.reshape(-1, a.shape[-1]), weight.T, np.zeros(weight.shape[1]))
    shape = [*a.shape[:-1], weight.shape[1]][: None if len(b.shape) > 1 else -1]
    return computed(y.array.reshape([*[1] * (len(b.shape) - max(2, len(a.shape))), *shape]))


def _product(node: Node, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Value:
    """Return the rows W x + b of a matrix of addresses."""
    if x.shape[-1] != weight.shape[-1]:
        node.refuse(f"{x.shape[-1]} numbers of the input do not fit to weights for {weight.shape[-1]}")
    node.check_size(len(x), len(weight))
    return computed(node.layers.dense(x, weight, bias))


def conv(node: Node) -> Value:
    """Return convolutions of one dimension, with constant weights: a product for each position."""
    node.require({"auto_pad": b"NOTSET"})
    x, weight, bias = node.input(0), node.constant(1, "the weights"), node.given(2)
    if len(x.shape) != 3 or weight.ndim != 3 or x.shape[0] != 1:
        node.refuse(f"only convolutions of one dimension are supported, and the input has the shape {x.shape}")
    groups, step, spread = node.get("group", 1), *(node.get(k, [1])[0] for k in ("strides", "dilations"))
    count, channels, size = weight.shape
    if groups < 1 or step < 1 or spread < 1 or channels * groups != x.shape[1] or count % groups:
        node.refuse(f"weights of shape {weight.shape} in {groups} groups do not fit to an input of shape {x.shape}")
    pads = tuple(node.get("pads", [0, 0]))
    line = node.addresses(padded(node, x, [(0, 0), (0, 0), (pads[0], pads[1])], np.zeros(())))[0]
    places = np.arange(0, line.shape[1] - spread * (size - 1), step)[:, None] + spread * np.arange(size)
    node.check_size(line.shape[0], *places.shape)
    node.check_size(len(places), count)
    each, own = count // groups, np.zeros(count) if bias is None else node.constant(2, "the bias")
    if own.shape != (count,) or not len(places):
        node.refuse(f"a bias of shape {own.shape}, or an input of length {line.shape[1]}, does not fit")
    found = []
    for g in range(groups):
        patches = line[g * channels : (g + 1) * channels, places].swapaxes(0, 1).reshape(len(places), -1)
        rows = slice(g * each, (g + 1) * each)
        found.append(node.layers.dense(patches, weight[rows].reshape(each, -1), own[rows]))
    return computed(np.concatenate(found, axis=1).T[None])


def reduced(node: Node, x: np.ndarray, axes: Sequence[int], factor: float) -> np.ndarray:
    """Return a factor times the sums along some axes, which get the length 1."""
    kept = [k for k in range(x.ndim) if k not in axes]
    rows = x.transpose([*kept, *axes]).reshape(math.prod(x.shape[k] for k in kept), -1)
    sums = node.layers.dense(rows, np.full((1, rows.shape[1]), factor), np.zeros(1))
    return sums.reshape([1 if k in axes else n for k, n in enumerate(x.shape)])


def reduction(kind: str) -> Lowering:
    """Return the lowering of sums, means and norms along axes."""

    def lower(node: Node) -> Value:
        x, given, layers = node.addresses(node.input(0)), node.integers("axes", 1), node.layers
        if not given and node.get("noop_with_empty_axes", 0):
            return node.input(0)
        axes = sorted({node.axis(axis, x.ndim) for axis in given or range(x.ndim)})
        terms = {"norm": lambda: layers.paired("mul", x, x), "absolute": lambda: layers.function("abs", x)}
        count = math.prod(x.shape[k] for k in axes)
        sums = reduced(node, terms.get(kind, lambda: x)(), axes, 1.0 / count if kind == "mean" else 1.0)
        found = layers.function("sqrt", sums) if kind == "norm" else sums
        return computed(found if node.get("keepdims", 1) else np.squeeze(found, tuple(axes)))

    return lower


def layer_norm(node: Node) -> Value:
    """Return the numbers along the last axes with mean 0 and deviation 1, times a factor, plus an offset."""
    x, layers = node.addresses(node.input(0)), node.layers
    if node.outputs > 1:
        node.refuse("only its first output is supported")
    axes = range(node.axis(node.get("axis", -1), x.ndim), x.ndim)
    share = 1.0 / math.prod(x.shape[k] for k in axes)
    apart = layers.paired("sub", x, reduced(node, x, axes, share))
    variance = reduced(node, layers.paired("mul", apart, apart), axes, share)
    deviation = layers.function("sqrt", layers.scaled(variance, 1.0, node.get("epsilon", 1e-5)))
    found = paired(node, "mul", computed(layers.paired("div", apart, deviation)), node.input(1))
    return found if node.given(2) is None else paired(node, "add", found, node.input(2))


def lp_norm(node: Node) -> Value:
    """Return the numbers along an axis divided by their norm; zeros remain zeros."""
    x, layers, order = node.addresses(node.input(0)), node.layers, node.get("p", 2)
    axes = [node.axis(node.get("axis", -1), x.ndim)]
    if order not in (1, 2):
        node.refuse(f"the norm p is {order}, but only 1 and 2 are supported")
    sums = reduced(node, layers.function("abs", x) if order == 1 else layers.paired("mul", x, x), axes, 1.0)
    norm = sums if order == 1 else layers.function("sqrt", sums)
    return computed(layers.paired("div", x, layers.function("clip", norm, SMALLEST, LARGEST)))


def batch_norm(node: Node) -> Value:
    """Return the numbers of each channel with the mean and variance of the training removed."""
    if node.outputs > 1 or node.get("training_mode", 0):
        node.refuse("only the form for inference, with one output, is supported")
    x, arrays = node.input(0), [node.constant(k, "a parameter") for k in range(1, 5)]
    if len(x.shape) < 2 or any(array.shape != (x.shape[1],) for array in arrays):
        node.refuse(f"its parameters do not fit to an input of shape {x.shape}")
    scale, offset, mean, variance = arrays
    factor = scale / np.sqrt(variance + node.get("epsilon", 1e-5))
    along = (-1, *[1] * (len(x.shape) - 2))
    found = node.layers.scaled(node.addresses(x), factor.reshape(along), (offset - mean * factor).reshape(along))
    return computed(found)
