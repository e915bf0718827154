"""Graphs of operations, recorded by traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedError
from ..primitives import ARITY, COMMUTES, CONSTANT, SELECT

LONGEST = 150_000  # operations; straight-line code that is longer takes many seconds to compile


class TooLongError(UnsupportedError):
    """Error for a kernel that takes more operations than a trace may have."""


class Graph:
    """Operations in order of creation; node k is operation[k] of the nodes `operands(k)`.

    These are first[k], second[k] and third[k], as many as the operation has (`primitives.ARITY`). For an input,
    first is its index; for a constant or an entry of a table, the index of its value. Few operations have three
    operands: `third` is a dict of these. fuses: whether products are fused with sums, and quotients by constants become
    products; else every operation is rounded as it is written. calls: `calls.Calls` of a graph that may have some.
    """

    def __init__(self, longest: int = LONGEST, fuses: bool = True) -> None:
        self.longest, self.fuses = longest, fuses
        self.operation: list[int] = []
        self.first: list[int] = []
        self.second: list[int] = []
        self.third: dict[int, int] = {}
        self.calls: Any = None
        self.values: list[float] = []
        self._known: dict[tuple[int, ...], int] = {}
        self._constants: dict[str, int] = {}

    def operands(self, node: int) -> tuple[int, ...]:
        """Return the operands of a node."""
        arity = ARITY[self.operation[node]]
        if arity == 2:
            return self.first[node], self.second[node]
        if arity == 3:
            return self.first[node], self.second[node], self.third[node]
        return (self.first[node],) if arity else ()

    def node(self, operation: int, first: int, second: int = 0) -> int:
        """Return the node of an operation on one or two operands; equal operations share a node.

        Raises TooLongError if there are too many.
        """
        swapped = second < first and COMMUTES[operation]
        key = (operation, second, first) if swapped else (operation, first, second)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(operation, first, second)
        return found

    def choice(self, condition: int, first: int, second: int) -> int:
        """Return the node of `select`, the operation on three operands."""
        key = SELECT, condition, first, second
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._new(SELECT, condition, first)
            self.third[found] = second
        return found

    def append(self, other: Graph, order: Sequence[int], known: dict[int, int]) -> None:
        """Append operations of another graph; known: nodes here of its inputs and constants, and then of `order`.

        The inputs must be different inputs of this graph, so that there is nothing to simplify.
        """
        operation, first, second = other.operation, other.first, other.second
        for node in order:
            arity, one = ARITY[operation[node]], known[first[node]]
            if arity == 3:
                known[node] = self.choice(one, known[second[node]], known[other.third[node]])
            else:
                known[node] = self.node(operation[node], one, known[second[node]] if arity == 2 else 0)

    def _new(self, operation: int, first: int, second: int) -> int:
        if len(self.operation) == self.longest:
            raise TooLongError(f"the kernel takes more than {self.longest} operations: too many for one trace")
        self.operation.append(operation)
        self.first.append(first)
        self.second.append(second)
        return len(self.operation) - 1

    def given(self, value: float) -> tuple[int, float | None]:
        """Return the constant node of a number of the robot's tables, and the number."""
        return self.constant(value), value

    def constant(self, value: float) -> int:
        """Return the node of a constant."""
        index = self._constants.setdefault(value.hex(), len(self.values))
        if index == len(self.values):
            self.values.append(value)
        return self.node(CONSTANT, index)

    def copy(self) -> Graph:
        """Return a copy that may be modified."""
        other = Graph(self.longest, self.fuses)
        other.operation, other.first, other.second = list(self.operation), list(self.first), list(self.second)
        other.values, other._known, other._constants = list(self.values), dict(self._known), dict(self._constants)
        other.third = dict(self.third)
        return other

    def needed(self, results: Sequence[int]) -> list[int]:
        """Return the nodes that `results` depend on, in order, without inputs and constants."""
        wanted = bytearray(len(self.operation))
        for result in results:
            wanted[result] = 1
        order = []
        for k in range(len(self.operation) - 1, -1, -1):
            arity = ARITY[self.operation[k]] if wanted[k] else 0
            if arity > 0:
                order.append(k)
                wanted[self.first[k]] = 1
            if arity > 1:
                wanted[self.second[k]] = 1
            if arity > 2:
                wanted[self.third[k]] = 1
        return order[::-1]
