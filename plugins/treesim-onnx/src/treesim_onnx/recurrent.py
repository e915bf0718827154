"""LSTM and GRU layers, forward in time: their sequences are unrolled, and usually have one step."""

from __future__ import annotations

import numpy as np

from treesim.policies.layers import Layers

from .values import Node, Value, computed


def lstm(node: Node) -> list[Value]:
    """Return the outputs of an LSTM layer, whose gates are in the order input, output, forget, cell."""
    node.require({"activations": [b"Sigmoid", b"Tanh", b"Tanh"], "input_forget": 0})
    x, weight, recurrent, bias = _parameters(node, 4)
    if node.given(7) is not None:
        node.refuse("peepholes (input P) are not supported")
    n, layers, outputs = recurrent.shape[1], node.layers, []
    h, c = _state(node, 5, n), _state(node, 6, n)
    for one in x:
        gates = layers.dense(one, weight, bias[: 4 * n] + bias[4 * n :])
        gates = layers.dense(h, recurrent, np.zeros(4 * n), gates)
        i, o, f = np.split(layers.function("sigmoid", gates[:, : 3 * n]), 3, axis=1)
        cell = layers.paired("mul", i, layers.function("tanh", gates[:, 3 * n :]))
        c = layers.paired("add", layers.paired("mul", f, c), cell)
        h = layers.paired("mul", o, layers.function("tanh", c))
        outputs.append(h)
    return [computed(np.stack(outputs)[:, None]), computed(h[None]), computed(c[None])][: max(1, node.outputs)]


def gru(node: Node) -> list[Value]:
    """Return the outputs of a GRU layer, whose gates are in the order update, reset, hidden."""
    node.require({"activations": [b"Sigmoid", b"Tanh"]})
    x, weight, recurrent, bias = _parameters(node, 3)
    n, outputs, before = recurrent.shape[1], [], node.get("linear_before_reset", 0)
    h = _state(node, 5, n)
    step = _gru_reset_after if before else _gru_reset_before
    for one in x:
        z, new = step(node.layers, one, h, (weight, recurrent, bias))
        h = node.layers.paired("add", new, node.layers.paired("mul", z, node.layers.paired("sub", h, new)))
        outputs.append(h)
    return [computed(np.stack(outputs)[:, None]), computed(h[None])][: max(1, node.outputs)]


def _gru_reset_before(
    layers: Layers, x: np.ndarray, h: np.ndarray, parameters: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the update gate and the new hidden numbers, of which the reset gate acts on h."""
    weight, recurrent, bias = parameters
    n, both = h.shape[1], bias[: len(weight)] + bias[len(weight) :]
    gates = layers.dense(h, recurrent[: 2 * n], np.zeros(2 * n), layers.dense(x, weight[: 2 * n], both[: 2 * n]))
    z, r = np.split(layers.function("sigmoid", gates), 2, axis=1)
    hidden = layers.dense(x, weight[2 * n :], both[2 * n :])
    hidden = layers.dense(layers.paired("mul", r, h), recurrent[2 * n :], np.zeros(n), hidden)
    return z, layers.function("tanh", hidden)


def _gru_reset_after(
    layers: Layers, x: np.ndarray, h: np.ndarray, parameters: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the update gate and the new hidden numbers, of which the reset gate acts on the product with h."""
    weight, recurrent, bias = parameters
    n, of_x = h.shape[1], layers.dense(x, weight, bias[: len(weight)])
    of_h = layers.dense(h, recurrent, bias[len(weight) :])
    gates = layers.function("sigmoid", layers.paired("add", of_x[:, : 2 * n], of_h[:, : 2 * n]))
    z, r = np.split(gates, 2, axis=1)
    hidden = layers.paired("add", of_x[:, 2 * n :], layers.paired("mul", r, of_h[:, 2 * n :]))
    return z, layers.function("tanh", hidden)


def _parameters(node: Node, gates: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the addresses of the sequence (steps, 1, k), weights, recurrent weights and biases."""
    node.require({"direction": b"forward", "layout": 0})
    if node.get("clip", None) is not None:
        node.refuse("the attribute clip is not supported")
    x, weight, recurrent = node.input(0), node.constant(1, "W"), node.constant(2, "R")
    n = int(node.get("hidden_size", recurrent.shape[-1] if recurrent.ndim else 0))
    bias = np.zeros((1, 2 * gates * n)) if node.given(3) is None else node.constant(3, "B")
    wanted = (1, gates * n, x.shape[-1] if x.shape else 0), (1, gates * n, n), (1, 2 * gates * n)
    if len(x.shape) != 3 or x.shape[1] != 1 or (weight.shape, recurrent.shape, bias.shape) != wanted:
        shapes = x.shape, weight.shape, recurrent.shape, bias.shape
        node.refuse(f"X, W, R and B have the shapes {', '.join(map(str, shapes))}, which do not fit together")
    if node.given(4) is not None and list(node.constant(4, "sequence_lens").ravel()) != [x.shape[0]]:
        node.refuse(f"sequence_lens must be the length {x.shape[0]} of the sequence")
    return node.addresses(x), weight[0], recurrent[0], bias[0]


def _state(node: Node, k: int, n: int) -> np.ndarray:
    """Return the addresses (1, n) of an initial state; zeros by default."""
    given = node.given(k)
    if given is None:
        return node.layers.constants(np.zeros((1, n)))
    if given.shape != (1, 1, n):
        node.refuse(f"an initial state has the shape {given.shape}, but (1, 1, {n}) is needed")
    addresses = node.addresses(given)[0]
    if not node.free.isdisjoint(map(int, addresses.ravel())):
        node.refuse("its initial state is an input without an output for the next: give states={input: output}")
    return addresses
