"""Networks of layers: the kernel agrees with NumPy, and gives the same bits in all batches and as plain Python."""

import itertools
import pickle

import numpy as np
import pytest

import treesim
from treesim.errors import ArgumentError, NonFiniteError
from treesim.kernels.policies.network import network_of_state
from treesim.policies import Port
from treesim.policies.layers import FUNCTIONS, PAIRED, Layers

RANDOM = np.random.default_rng(0)
OF_NUMPY = {
    "relu": lambda x, a, b: np.maximum(x, 0),
    "leaky_relu": lambda x, a, b: np.where(x < 0, a * x, x),
    "elu": lambda x, a, b: b * np.where(x < 0, a * np.expm1(x), x),
    "tanh": lambda x, a, b: np.tanh(x),
    "sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "softplus": lambda x, a, b: np.logaddexp(0, x),
    "softsign": lambda x, a, b: x / (1 + abs(x)),
    "clip": np.clip,
    "sqrt": lambda x, a, b: np.sqrt(x),
    "exp": lambda x, a, b: np.exp(x),
    "abs": lambda x, a, b: abs(x),
}
PAIRS_OF_NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum
}  # fmt: skip


def made(layers, n_in, result, states=()):
    """The network of one result."""
    state = sum(port.size for port in states)
    return layers.network([Port("x", n_in - state)], states, Port("y", result.size - state), [], [result])


def perceptron(sizes=(5, 9, 6, 3)):
    """Perceptron whose layers do not fill blocks, and its function in NumPy."""
    layers, weights = Layers(), []
    x = layers.inputs(sizes[0])[None]
    for n_in, n_out in itertools.pairwise(sizes):
        weights.append((RANDOM.normal(size=(n_out, n_in)), RANDOM.normal(size=n_out)))
        x = layers.function("tanh", layers.dense(x, *weights[-1]))

    def expected(x):
        for W, b in weights:
            x = np.tanh(x @ W.T + b)
        return x

    return made(layers, sizes[0], x), expected


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    layers, x = Layers(), np.array([*RANDOM.normal(size=20), 0.0, 40.0, -40.0, 1e-9, -1e-9])
    x = abs(x) if name == "sqrt" else x
    network = made(layers, x.size, layers.function(name, layers.inputs(x.size), 0.25, 1.5))
    wanted = OF_NUMPY[name](x, 0.25, 1.5)
    assert np.allclose(network(x), wanted, rtol=4e-15, atol=4e-16 * max(1, abs(wanted).max()) if name != "exp" else 0)


@pytest.mark.parametrize("name", PAIRED)
def test_operations_on_pairs(name):
    layers = Layers()
    x = layers.inputs(8)
    y = layers.paired(name, x[:6].reshape(2, 3), x[6:, None])
    a = RANDOM.normal(size=8)
    assert np.array_equal(made(layers, 8, y)(a), PAIRS_OF_NUMPY[name](a[:6].reshape(2, 3), a[6:, None]).ravel())


def test_a_perceptron_agrees_with_numpy():
    network, expected = perceptron()
    x = RANDOM.normal(size=(3, 4, 5))
    assert network(x).shape == (3, 4, 3)
    assert np.allclose(network(x), expected(x), rtol=0, atol=1e-14)
    assert network(np.empty((0, 5))).shape == (0, 3)


def test_bits_do_not_depend_on_batches_and_threads():
    network, _ = perceptron((40, 65, 7))
    x = RANDOM.normal(size=(300, 40))
    together = network(x)
    for size in (1, 2, 7, 33, 64):
        assert np.array_equal(np.concatenate([network(x[k : k + size]) for k in range(0, 300, size)]), together)
    with treesim.use_threads(2):
        assert np.array_equal(network(x), together)


def test_layers_with_parts_constants_and_sums():
    layers = Layers()
    x, W = layers.inputs(10), RANDOM.normal(size=(2, 3, 4))
    c = layers.constants(np.array([[0.5, 2.0]]))
    picked = np.concatenate([x[9:1:-4].reshape(1, 2), c, x[:1, None]], axis=1)  # 9, 5, constants, 0
    first = layers.dense(picked[:, :4], W[0], np.ones(3))
    again = layers.dense(x[1:5][None], W[1], np.zeros(3), first)
    y = layers.scaled(np.concatenate([again, picked], axis=1), 2.0, np.arange(8.0))
    a = RANDOM.normal(size=(6, 10))
    kept = np.stack([a[:, 9], a[:, 5], np.full(6, 0.5), np.full(6, 2.0), a[:, 0]], axis=1)
    wanted = np.concatenate([kept[:, :4] @ W[0].T + 1 + a[:, 1:5] @ W[1].T, kept], axis=1) * 2 + np.arange(8)
    assert np.allclose(made(layers, 10, y)(a), wanted, rtol=0, atol=1e-13)


def test_rows_of_a_layer_do_not_overlap():
    layers, W, b = Layers(), RANDOM.normal(size=(5, 2)), RANDOM.normal(size=5)
    y = layers.dense(layers.inputs(6).reshape(3, 2), W, b)
    a = RANDOM.normal(size=6)
    assert np.allclose(made(layers, 6, y)(a), (a.reshape(3, 2) @ W.T + b).ravel(), rtol=0, atol=1e-14)


@pytest.mark.nojit
def test_plain_python_agrees_with_compiled_code():
    network, expected = perceptron()
    x = RANDOM.normal(size=(2, 5))
    y = np.empty(6)
    network_of_state(network.table, network.weights, x.ravel(), y)
    assert np.allclose(y.reshape(2, 3), expected(x), rtol=0, atol=1e-14)
    assert np.allclose(network(x), y.reshape(2, 3), rtol=0, atol=1e-14)


def test_states_come_back():
    layers = Layers()
    x = layers.inputs(3)
    ports = [Port("h_in", 1)]
    h = layers.paired("add", x[2:], layers.paired("mul", x[:1], x[1:2]))
    network = layers.network([Port("x", 2)], ports, Port("y", 1), [], [layers.scaled(h, 3.0, 0.0), h])
    y, state = network([[2.0, 3.0]])
    assert y.tolist() == [[18.0]] and state.tolist() == [[6.0]]
    assert network([[2.0, 3.0]], state)[1].tolist() == [[12.0]]


def test_equal_networks_and_pickled_ones():
    global RANDOM
    RANDOM, kept = np.random.default_rng(5), RANDOM
    one, _ = perceptron()
    RANDOM = np.random.default_rng(5)
    two, _ = perceptron()
    RANDOM = kept
    again = pickle.loads(pickle.dumps(one))
    assert one == two == again and hash(one) == hash(again) and one != perceptron()[0]
    x = np.ones(5)
    assert np.array_equal(one(x), again(x))
    with pytest.raises(ValueError, match="read-only"):
        one.table[0] = 1


def test_what_does_not_fit_is_refused_by_name():
    network, _ = perceptron()
    for observation, message in (
        (np.ones(4), r"observation \(x \(5\)\) has shape \(4,\)"),
        ("text", "must be an array of real numbers"),
    ):
        with pytest.raises(ArgumentError, match=message):
            network(observation)
    with pytest.raises(NonFiniteError, match=r"observation \(x \(5\)\)\[1\] is nan"):
        network([0.0, np.nan, 0.0, 0.0, 0.0])
    layers = Layers()
    overflowing = made(layers, 1, layers.function("exp", layers.inputs(1)))
    with pytest.raises(NonFiniteError, match="the network overflows"):
        overflowing([1e4])


def test_sizes_are_bounded(monkeypatch):
    with pytest.raises(ArgumentError, match="memory for more than 1,048,576 numbers"):
        Layers().inputs(1 << 21)
    with pytest.raises(ArgumentError, match="not finite"):
        Layers().constants(np.array([np.inf]))
    monkeypatch.setattr("treesim.policies.layers.MOST_USED", 100)
    layers = Layers()
    with pytest.raises(ArgumentError, match="use weights more than 100 times"):
        for _ in range(3):
            layers.dense(layers.inputs(6)[None], np.ones((6, 6)), np.zeros(6))
