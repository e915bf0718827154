"""Builder of networks: layers on arrays of addresses, which become the table of the kernel (`kernels.policies`).

A value of a network is an array of addresses of its numbers. Slices, transposes and concatenations of values are
therefore operations on arrays of addresses, and cost nothing when the network is evaluated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..kernels.policies import network as kernel
from ..kernels.policies.network import BLOCK, Layer
from .network import Network, Port

FUNCTIONS = {
    "relu": kernel.RELU, "leaky_relu": kernel.LEAKY_RELU, "elu": kernel.ELU, "tanh": kernel.TANH,
    "sigmoid": kernel.SIGMOID, "softplus": kernel.SOFTPLUS, "softsign": kernel.SOFTSIGN, "clip": kernel.CLIP,
    "sqrt": kernel.SQRT, "exp": kernel.EXP, "abs": kernel.ABS,
}  # fmt: skip
PAIRED = {
    "add": kernel.ADD, "sub": kernel.SUB, "mul": kernel.MUL, "div": kernel.DIV, "max": kernel.MAX, "min": kernel.MIN
}  # fmt: skip
MOST_NUMBERS = 1 << 20  # of the memory that a state needs
MOST_WEIGHTS = 1 << 25  # numbers of all weights
MOST_LAYERS = 1 << 16
MOST_USED = 1 << 27  # weights of all layers together, which layers may share


class Layers:
    """Layers of a network that is being built."""

    def __init__(self) -> None:
        self._rows: list[Layer] = []
        self._copied: list[np.ndarray] = []  # addresses of copies
        self._weights: list[np.ndarray] = []
        self._places: dict[bytes, int] = {}  # of weights by their digest: equal weights are stored once
        self._memory = self._copies = self._numbers = self._used = 0

    def inputs(self, count: int) -> np.ndarray:
        """Return the addresses (count,) of inputs; all inputs come before the layers."""
        return self._allocated(count, 0)

    def constants(self, values: np.ndarray) -> np.ndarray:
        """Return the addresses of constants, of the shape of their array."""
        first = self._stored(np.ravel(values))
        return np.arange(-1 - first, -1 - first - np.size(values), -1).reshape(np.shape(values))

    def dense(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray, onto: np.ndarray | None = None) -> np.ndarray:
        """Return W x + b (rows, n) of inputs x (rows, k), with W (n, k).

        onto: addresses (rows, n) that `dense` returned last, to which the results are added.
        """
        (rows, size), count = x.shape, len(bias)
        out = self._allocated(rows * count) if onto is None else onto.ravel()
        packed = np.zeros((-(-count // BLOCK) * BLOCK, size + 1))
        packed[:count, 0], packed[:count, 1:] = bias, weight
        place = self._stored(np.ascontiguousarray(packed.reshape(-1, BLOCK, size + 1).swapaxes(1, 2)).ravel())
        adds = int(onto is not None)
        self._add(Layer(kernel.DENSE, adds, out[0], count, self._first(x), 0, size, rows, place))
        return out.reshape(rows, count)

    def scaled(self, x: np.ndarray, scale: Any, offset: Any) -> np.ndarray:
        """Return scale * x + offset; both are broadcast to the shape of x."""
        numbers = np.concatenate([np.broadcast_to(each, x.shape).ravel() for each in (scale, offset)])
        return self._each(kernel.SCALED, 0, x, place=self._stored(numbers))

    def function(self, name: str, x: np.ndarray, a: float = 0.0, b: float = 0.0) -> np.ndarray:
        """Return a function of FUNCTIONS of each number of x.

        a, b: slope below 0 of leaky_relu; of elu, the factor of exp(x) - 1 and that of all; limits of clip.
        """
        return self._each(kernel.FUNCTION, FUNCTIONS[name], x, place=self._stored(np.array([a, b], float)))

    def paired(self, name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return an operation of PAIRED on two values, which are broadcast together."""
        x, y = np.broadcast_arrays(x, y)
        return self._each(kernel.PAIRED, PAIRED[name], x, self._first(y))

    def network(
        self, inputs: Sequence[Port], states: Sequence[Port], output: Port, operations: Sequence[str],
        results: Sequence[np.ndarray],
    ) -> Network:  # fmt: skip
        """Return the network; results: addresses of the output, and of the states after the step."""
        found = np.concatenate([np.ravel(x) for x in results])
        head = [self._memory, sum(port.size for port in (*inputs, *states)), found.size, len(self._rows)]
        start = kernel.HEAD + found.size + kernel.FIELDS * len(self._rows)
        rows = [row._replace(first=row.first + start) if row.kind == kernel.COPY else row for row in self._rows]
        table = np.concatenate([head, found, np.ravel(rows), *self._copied]).astype(np.int64)
        weights = np.concatenate([np.zeros(1), *self._weights])[1:]
        for array in (table, weights):
            array.setflags(write=False)
        return Network(tuple(inputs), tuple(states), output, tuple(operations), table, weights)

    def _each(self, kind: int, operation: int, x: np.ndarray, second: int = 0, place: int = 0) -> np.ndarray:
        """Add a layer with one output for each number of x."""
        first, out = self._first(x), self._allocated(x.size)
        self._add(Layer(kind, operation, out[0], x.size, first, second, x.size, 1, place))
        return out.reshape(x.shape)

    def _first(self, x: np.ndarray) -> int:
        """Return the address of the first number of a value, all of whose numbers are copied if they are apart."""
        x = x.ravel()
        if x[0] >= 0 and np.array_equal(x, np.arange(x[0], x[0] + x.size)):
            return int(x[0])
        out = self._allocated(x.size)
        self._add(Layer(kernel.COPY, 0, out[0], x.size, self._copies, 0, x.size, 1, 0))
        self._copied.append(x)
        self._copies += x.size
        return int(out[0])

    def _add(self, layer: Layer) -> None:
        if len(self._rows) == MOST_LAYERS:
            raise ArgumentError(f"the network has more than {MOST_LAYERS:,} layers")
        self._rows.append(Layer(*map(int, layer)))

    def _allocated(self, count: int, rest: int = BLOCK) -> np.ndarray:
        """Return new addresses; `rest` more may be overwritten."""
        first, self._memory = self._memory, self._memory + count + rest
        if self._memory > MOST_NUMBERS:
            raise ArgumentError(f"the network needs memory for more than {MOST_NUMBERS:,} numbers of one state")
        return np.arange(first, first + count)

    def _stored(self, numbers: np.ndarray) -> int:
        """Store weights; return their place."""
        numbers = np.ascontiguousarray(numbers, float)
        self._used += numbers.size
        if self._used > MOST_USED:
            raise ArgumentError(f"the layers of the network use weights more than {MOST_USED:,} times")
        if not np.isfinite(numbers).all():
            raise ArgumentError("a weight is a number that is not finite")
        key = hashlib.sha256(numbers.tobytes()).digest()
        if key not in self._places:
            if self._numbers + numbers.size > MOST_WEIGHTS:
                raise ArgumentError(f"the network has more than {MOST_WEIGHTS:,} weights")
            self._places[key] = self._numbers
            self._weights.append(numbers)
            self._numbers += numbers.size
        return self._places[key]
