"""Policies: control laws as plain functions of numbers, written down once and run in the compiled code of rollouts.

The function runs once, on numbers that write down what is done to them (see `trace`); the operations are then carried
out on lanes, inside the loop over steps, or on columns of NumPy's where there are no lanes.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from ..primitives import ARITY, INPUT, PRIMITIVES
from .graph import Graph
from .trace import Traced

ON_NUMBERS = [primitive.python for primitive in PRIMITIVES]
ON_COLUMNS = [primitive.numpy for primitive in PRIMITIVES]
HELP = (
    "write conditions without branches, with maximum, minimum, absolute, less and select of treesim.kernels.numbers, "
    "or give the controls as an array"
)


class Policy:
    """What a function `policy(t, q, v, p, u)` does: operations that lead from time [s], q (nq), v (nv) and parameters p
    to u (nv). Policies that do the same are equal, and print alike in every process."""

    def __init__(self, function: Callable[..., Any], nq: int, nv: int, parameters: int) -> None:
        """Write down what `function` does.

        Raises UnsupportedError where its course depends on the numbers, ArgumentError where it writes no number to u.
        """
        self.graph = Graph()
        self.sizes = (1, nq, nv, parameters)
        inputs = np.empty(sum(self.sizes), dtype=object)
        inputs[:] = [Traced(self.graph, self.graph.node(INPUT, k)) for k in range(inputs.size)]
        t, q, v, p = np.split(inputs, np.cumsum(self.sizes)[:-1])
        zero = Traced(self.graph, self.graph.constant(0.0), 0.0)
        u = np.full(nv, zero, dtype=object)
        try:
            inspect.signature(function).bind(t, q, v, p, u)
        except TypeError as error:
            raise ArgumentError(f"the policy {_name(function)} must take (t, q, v, p, u): {error}") from None
        try:
            returned = function(t[0], q, v, p, u)
        except UnsupportedError as error:
            raise UnsupportedError(f"the policy {_name(function)} cannot be compiled: {error}; {HELP}") from error
        if returned is not None:
            raise ArgumentError(f"the policy {_name(function)} must write to u and return nothing, got {returned!r}")
        self.results = [self._node(function, k, x) for k, x in enumerate(u)]
        self.order = self.graph.needed(self.results)
        self._digest = self._identity()

    def _node(self, function: Callable[..., Any], place: int, value: Any) -> int:
        if isinstance(value, Traced) and value.graph is self.graph:
            return value.node
        if isinstance(value, (int, float, np.number)) and np.isfinite(value):
            return self.graph.constant(float(value))
        raise ArgumentError(f"the policy {_name(function)} writes {value!r} to u[{place}]: a number is needed")

    def _identity(self) -> str:
        graph = self.graph
        operations = [(k, graph.operation[k], *graph.operands(k)) for k in self.order]
        leaves = [(k, op, graph.first[k]) for k, op in enumerate(graph.operation) if ARITY[op] == 0]
        values = [value.hex() for value in graph.values]
        return hashlib.sha256(repr((self.sizes, self.results, operations, leaves, values)).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Policy({self._digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __call__(self, t: Any, q: Any, v: Any, p: Any) -> list[Any]:
        """Return u of one state, on numbers of any type."""
        return self._applied([t, *q, *v, *p], ON_NUMBERS)

    def columns(self, t: float, *rows: np.ndarray) -> np.ndarray:
        """Return u (count, nv) of many states; rows: q, v and p (count, n)."""
        found = self._applied([t, *(column for x in rows for column in x.T)], ON_COLUMNS)
        u = np.empty((len(rows[0]), len(found)))
        for column, x in zip(u.T, found, strict=True):
            column[:] = x
        return u

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


def _name(function: Callable[..., Any]) -> str:
    return repr(getattr(function, "__name__", type(function).__name__))
