"""Expressions: traced Python functions of numbers, evaluated in compiled code or by NumPy.

A function runs once on symbolic numbers that record its operations (see `trace`). The operations are then
compiled into a loop over steps by SIMD code, or run on NumPy columns if there is no such code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..primitives import ARITY, INPUT, PRIMITIVES
from .graph import Graph
from .trace import Traced

ON_NUMBERS = [primitive.python for primitive in PRIMITIVES]
ON_COLUMNS = [primitive.numpy for primitive in PRIMITIVES]
HELP = "write conditions without branches, with maximum, minimum, absolute, less and select of treesim.numbers"


class Expression:
    """Traced function of groups of numbers: the operations from its inputs to its results.

    Expressions with the same operations are equal, and have the same repr in every process.
    """

    def __init__(self, sizes: Sequence[int], function: Callable[..., Iterable[Any]]) -> None:
        """Trace function(*groups), for groups of the given sizes; it returns traced or known numbers.

        Raises UnsupportedError if it branches on the numbers.
        """
        self.graph, self.sizes = Graph(), tuple(sizes)
        inputs = np.empty(sum(sizes), dtype=object)
        inputs[:] = [Traced(self.graph, self.graph.node(INPUT, k)) for k in range(inputs.size)]
        found = function(*np.split(inputs, np.cumsum(sizes)[:-1]))
        self.results = [x.node if isinstance(x, Traced) else self.graph.constant(float(x)) for x in found]
        self.order = self.graph.needed(self.results)
        self._digest = self._identity()

    def _identity(self) -> str:
        graph = self.graph
        operations = [(k, graph.operation[k], *graph.operands(k)) for k in self.order]
        leaves = [(k, op, graph.first[k]) for k, op in enumerate(graph.operation) if ARITY[op] == 0]
        values = [value.hex() for value in graph.values]
        return hashlib.sha256(repr((self.sizes, self.results, operations, leaves, values)).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._digest})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __call__(self, *groups: Sequence[Any]) -> list[Any]:
        """Return the results for one state, on numbers of any type."""
        return self._applied([x for group in groups for x in group], ON_NUMBERS)

    def columns(self, *groups: Any) -> np.ndarray:
        """Return the results (count, n) for many states; groups: arrays (count, n), or one number for all states."""
        found = self._applied([x for group in groups for x in (group.T if np.ndim(group) else [group])], ON_COLUMNS)
        result = np.empty((max(len(group) for group in groups if np.ndim(group)), len(found)))
        for column, x in zip(result.T, found, strict=True):
            column[:] = x
        return result

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


def is_number(x: Any, graph: Graph) -> bool:
    """Return whether x is a valid result of an expression: a number of its graph, or a finite constant."""
    if isinstance(x, Traced):
        return x.graph is graph
    try:
        return isinstance(x, (int, float, np.integer, np.floating, np.bool_)) and math.isfinite(x)
    except OverflowError:  # Python's integers are unbounded
        return False


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function for messages, in quotes."""
    return repr(getattr(function, "__name__", type(function).__name__))
