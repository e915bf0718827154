"""Functions of numbers, written down once, and run in compiled code: control laws, observations, rewards.

The function runs once, on numbers that write down what is done to them (see `trace`); the operations are then carried
out on lanes, in the entries that call it, or on columns of NumPy's where there are no lanes.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from ...kernels.status import FINE
from ..primitives import ARITY, INPUT, PRIMITIVES
from .graph import Graph
from .trace import Traced

ON_NUMBERS = [primitive.python for primitive in PRIMITIVES]
ON_COLUMNS = [primitive.numpy for primitive in PRIMITIVES]
HELP = "write conditions without branches, with maximum, minimum, absolute, less and select of treesim.kernels.numbers"


class TracedFunction:
    """Operations that lead from arrays of numbers to results. Functions that do the same are equal, and print alike in
    every process."""

    def __init__(self, sizes: Sequence[int], run: Callable[[list[np.ndarray], Traced], Iterable[Any]]) -> None:
        """Write down what `run` does, which returns the results, given arrays of numbers of these sizes, and a zero."""
        self.graph = Graph()
        self.sizes = tuple(sizes)
        inputs = np.empty(sum(self.sizes), dtype=object)
        inputs[:] = [Traced(self.graph, self.graph.node(INPUT, k)) for k in range(inputs.size)]
        zero = Traced(self.graph, self.graph.constant(0.0), 0.0)
        results = run(np.split(inputs, np.cumsum(self.sizes)[:-1]), zero)
        self.results = [self._node(x) for x in results]
        self.order = self.graph.needed(self.results)
        self._digest = self._identity()

    def _node(self, value: Any) -> int:
        return value.node if isinstance(value, Traced) else self.graph.constant(float(value))

    def _identity(self) -> str:
        graph = self.graph
        operations = [(k, graph.operation[k], *graph.operands(k)) for k in self.order]
        leaves = [(k, op, graph.first[k]) for k, op in enumerate(graph.operation) if ARITY[op] == 0]
        values = [value.hex() for value in graph.values]
        return hashlib.sha256(repr((self.sizes, self.results, operations, leaves, values)).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedFunction) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the results of arrays of numbers of any type."""
        return self._applied([x for array in arrays for x in array], ON_NUMBERS)

    def columns(self, *rows: np.ndarray) -> np.ndarray:
        """Return the results (count, m) of many; rows: the arrays (count, n) of each."""
        return self._columns(len(rows[0]), [column for x in rows for column in x.T])

    def _columns(self, count: int, inputs: list[Any]) -> np.ndarray:
        found = self._applied(inputs, ON_COLUMNS)
        results = np.empty((count, len(found)))
        for column, x in zip(results.T, found, strict=True):
            column[:] = x
        return results

    def _applied(self, inputs: list[Any], operations: list[Callable[..., Any]]) -> list[Any]:
        graph = self.graph
        known: dict[int, Any] = {}

        def value(node: int) -> Any:
            if node not in known:
                first = graph.first[node]
                known[node] = inputs[first] if graph.operation[node] == INPUT else graph.values[first]
            return known[node]

        for node in self.order:
            known[node] = operations[graph.operation[node]](*map(value, graph.operands(node)))
        return [value(node) for node in self.results]


def traced_call(what: str, function: Callable[..., Any], arguments: Sequence[Any], named: str, instead: str) -> Any:
    """Return what a user's function returns on numbers of a trace. what: what it is, in messages; named: the names of
    its arguments; instead: what else to give. Raises ArgumentError where it does not take them, UnsupportedError where
    its course depends on the numbers."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ArgumentError(f"{what} {name_of(function)} must take ({named}): {error}") from None
    try:
        return function(*arguments)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"{what} {name_of(function)} cannot be compiled: {error}; {HELP}, or {instead}"
        ) from error


def is_number(value: Any, graph: Graph) -> bool:
    """Return whether a result is a number of a trace, or a finite one that is known."""
    if isinstance(value, Traced):
        return value.graph is graph
    return isinstance(value, (int, float, np.number)) and bool(np.isfinite(value))


def name_of(function: Callable[..., Any]) -> str:
    """Return how messages call a function."""
    return repr(getattr(function, "__name__", type(function).__name__))


def apply_states(function: TracedFunction, *given: Any) -> int:
    """The results of a function of one row of each array, for traces: (function, *arrays, results)."""
    *arrays, results = given
    for k, x in enumerate(function(*arrays)):
        results[k] = x
    return FINE
