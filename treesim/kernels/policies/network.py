"""Networks: a table of layers, which one kernel evaluates for any network, on SIMD lanes of states.

A network is a sequence of layers on a memory of numbers, which begins with the inputs. Each layer reads numbers at
addresses of this memory, and writes others. Sums are in a fixed order, so that the bits of a state's results depend
neither on other states nor on the processor. Several groups of states, one state in each lane, are evaluated layer by
layer, because weights are then loaded once for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.numbers import absolute, exp, maximum, minimum, select, sqrt, tanh
from ..algebra.state_lanes import OnLanes, gathered, lane_count, scattered
from ..entries.annotations import Reals, TableOfIntegers, TableOfReals
from ..entries.status import status_of

# head of the table: numbers of the memory, of inputs, of results and of layers
MEMORY, INPUTS, RESULTS, LAYERS, HEAD = 0, 1, 2, 3, 4
DENSE, SCALED, FUNCTION, PAIRED, COPY = 0, 1, 2, 3, 4  # kinds of layers
IDENTITY, RELU, LEAKY_RELU, ELU, TANH, SIGMOID, SOFTPLUS, SOFTSIGN, CLIP, SQRT, EXP, ABS = range(12)  # functions
ADD, SUB, MUL, DIV, MAX, MIN = range(6)  # operations on pairs of numbers
BLOCK = 4  # outputs of a dense layer that are computed together
TOGETHER = 32  # states that are evaluated together: more lanes are fewer groups


class Layer(NamedTuple):
    """Layer of a network, a row of its table.

    kind: of layer. operation: of a function or pair; of a dense layer, 1 if it adds to its outputs. out, count: address
    and number of its outputs, of a dense layer those of one of `repeats` rows. first, second: addresses of inputs, or
    of a copy the place of its addresses in the table. size: inputs of a row. weights: place in the table of weights.
    """

    kind: Any
    operation: Any
    out: Any
    count: Any
    first: Any
    second: Any
    size: Any
    repeats: Any
    weights: Any


FIELDS = len(Layer._fields)


def network_on_lanes(table: TableOfIntegers, weights: TableOfReals, x: Reals, y: Reals) -> int:
    """Evaluate a network for states with inputs x (count, inputs); results: y (count, results)."""
    lanes = lane_count()
    groups = max(1, TOGETHER // lanes)
    m, places = np.empty((table[MEMORY], groups), OnLanes), np.empty((groups, lanes), np.int64)
    count = x.size // table[INPUTS]
    for first in range(0, count, TOGETHER):
        used = min(groups, (count - first + lanes - 1) // lanes)
        for g in range(used):
            for lane in range(lanes):  # lanes beyond the last state compute this again
                places[g, lane] = min(first + g * lanes + lane, count - 1)
            for k in range(table[INPUTS]):
                m[k, g] = gathered(x, k, table[INPUTS], places[g])
        put_layers(table, weights, used, m)
        for k in range(table[RESULTS]):
            at = table[HEAD + k]
            for g in range(used):
                scattered(y, k, table[RESULTS], places[g], value_at(at, weights, m, g))
    return status_of(y)


def network_of_state(table: TableOfIntegers, weights: TableOfReals, x: Reals, y: Reals) -> int:
    """Evaluate a network without SIMD lanes, as plain Python can; see `network_on_lanes`."""
    m, inputs, results = np.empty((table[MEMORY], 1), np.float64), table[INPUTS], table[RESULTS]
    for s in range(x.size // inputs):
        for k in range(inputs):
            m[k, 0] = x[s * inputs + k]
        put_layers(table, weights, 1, m)
        for k in range(results):
            y[s * results + k] = value_at(table[HEAD + k], weights, m, 0)
    return status_of(y)


def value_at(at, weights, m, g):
    """Return the number at an address, or a constant: address -1 - k is number k of the weights."""
    found = m[0, g] * 0
    if at < 0:
        found += weights[-1 - at]
    else:
        found = m[at, g]
    return found


def put_layers(table, weights, groups, m):
    """Evaluate all layers for the first groups of the memory."""
    start = HEAD + table[RESULTS]
    for k in range(table[LAYERS]):
        row = table[start + k * FIELDS : start + (k + 1) * FIELDS]
        layer = Layer(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8])
        if layer.kind == DENSE:
            put_dense(layer, weights, groups, m)
        elif layer.kind == SCALED:
            put_scaled(layer, weights, groups, m)
        elif layer.kind == FUNCTION:
            put_function(layer, weights, groups, m)
        elif layer.kind == PAIRED:
            put_paired(layer, groups, m)
        else:
            put_copy(layer, table, weights, groups, m)


def put_dense(layer, weights, groups, m):
    """Evaluate y = W x + b, or y += W x + b, for each row of inputs.

    Weights are in blocks of outputs: their biases, then their weights of each input. Zeros fill the last block.
    """
    blocks, length = (layer.count + BLOCK - 1) // BLOCK, BLOCK * (layer.size + 1)
    for r in range(layer.repeats):
        x, out = layer.first + r * layer.size, layer.out + r * layer.count
        for b in range(blocks):
            at = layer.weights + b * length
            w = weights[at : at + length].reshape((layer.size + 1, BLOCK))
            for g in range(0, groups - 1, 2):
                put_block_of_two(w, m, x, out + b * BLOCK, g, layer.operation)
            if groups % 2 == 1:
                put_block(w, m, x, out + b * BLOCK, groups - 1, layer.operation)


def put_block(w, m, x, y, g, adds):
    """Compute a block of outputs of one group, from the inputs at x."""
    o = m[x, g] * 0
    a, b, c, d = o + w[0, 0], o + w[0, 1], o + w[0, 2], o + w[0, 3]
    if adds == 1:
        a, b, c, d = a + m[y, g], b + m[y + 1, g], c + m[y + 2, g], d + m[y + 3, g]
    for i in range(1, w.shape[0]):
        u = m[x + i - 1, g]
        a, b, c, d = a + w[i, 0] * u, b + w[i, 1] * u, c + w[i, 2] * u, d + w[i, 3] * u
    m[y, g], m[y + 1, g], m[y + 2, g], m[y + 3, g] = a, b, c, d


def put_block_of_two(w, m, x, y, g, adds):
    """Compute a block of outputs of two groups: eight independent sums hide the latency of the processor."""
    o, h = m[x, g] * 0, g + 1
    a, b, c, d = o + w[0, 0], o + w[0, 1], o + w[0, 2], o + w[0, 3]
    e, f, p, q = a, b, c, d
    if adds == 1:
        a, b, c, d = a + m[y, g], b + m[y + 1, g], c + m[y + 2, g], d + m[y + 3, g]
        e, f, p, q = e + m[y, h], f + m[y + 1, h], p + m[y + 2, h], q + m[y + 3, h]
    for i in range(1, w.shape[0]):
        u, v = m[x + i - 1, g], m[x + i - 1, h]
        a, b, c, d = a + w[i, 0] * u, b + w[i, 1] * u, c + w[i, 2] * u, d + w[i, 3] * u
        e, f, p, q = e + w[i, 0] * v, f + w[i, 1] * v, p + w[i, 2] * v, q + w[i, 3] * v
    m[y, g], m[y + 1, g], m[y + 2, g], m[y + 3, g] = a, b, c, d
    m[y, h], m[y + 1, h], m[y + 2, h], m[y + 3, h] = e, f, p, q


def put_scaled(layer, weights, groups, m):
    """Evaluate y = a x + b, number by number."""
    for k in range(layer.count):
        a, b = weights[layer.weights + k], weights[layer.weights + layer.count + k]
        for g in range(groups):
            m[layer.out + k, g] = a * m[layer.first + k, g] + b


def put_copy(layer, table, weights, groups, m):
    """Copy the numbers at addresses of the table, see `value_at`."""
    for k in range(layer.count):
        at = table[layer.first + k]
        for g in range(groups):
            m[layer.out + k, g] = value_at(at, weights, m, g)


def put_paired(layer, groups, m):
    """Evaluate an operation on pairs of numbers."""
    operation = layer.operation
    for k in range(layer.count):
        for g in range(groups):
            a, b = m[layer.first + k, g], m[layer.second + k, g]
            if operation == ADD:
                m[layer.out + k, g] = a + b
            elif operation == SUB:
                m[layer.out + k, g] = a - b
            elif operation == MUL:
                m[layer.out + k, g] = a * b
            elif operation == DIV:
                m[layer.out + k, g] = a / b
            elif operation == MAX:
                m[layer.out + k, g] = maximum(a, b)
            else:
                m[layer.out + k, g] = minimum(a, b)


def put_function(layer, weights, groups, m):
    """Evaluate a function of each number, with two parameters."""
    a, b = weights[layer.weights], weights[layer.weights + 1]
    for k in range(layer.count):
        for g in range(groups):
            m[layer.out + k, g] = function_of(layer.operation, m[layer.first + k, g], a, b)


def function_of(operation, x, a, b):
    """Return a function of a number, with parameters a and b."""
    y = x
    if operation == RELU:
        y = maximum(x, x * 0)
    elif operation == LEAKY_RELU:
        y = select(x < 0, a * x, x)
    elif operation == ELU:
        y = b * select(x < 0, a * (exp(minimum(x, x * 0)) - 1), x)
    elif operation == TANH:
        y = tanh(x)
    elif operation == SIGMOID:
        y = 0.5 * tanh(0.5 * x) + 0.5
    elif operation == SOFTPLUS:
        y = maximum(x, x * 0) + log_of_one_plus(exp(-absolute(x)))
    elif operation == SOFTSIGN:
        y = x / (1 + absolute(x))
    elif operation == CLIP:
        y = minimum(maximum(x, a), b)
    elif operation == SQRT:
        y = sqrt(x)
    elif operation == EXP:
        y = exp(x)
    elif operation == ABS:
        y = absolute(x)
    return y


def log_of_one_plus(x):
    """Return ln(1 + x) for 0 <= x <= 1: 2 artanh(s) with s = x / (2 + x), by its Taylor series in s^2 <= 1/9."""
    s = x / (2 + x)
    z = s * s
    series = 1 / 33 + x * 0
    for k in range(15, -1, -1):
        series = series * z + 1 / (2 * k + 1)
    return 2 * s * series
