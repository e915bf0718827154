"""Expressions: traced Python functions of numbers, evaluated in compiled code or by NumPy.

A function runs on symbolic numbers that record its operations (see `trace`), twice if they are new to this process.
The operations are then compiled into a loop over steps by SIMD code, or run on NumPy columns if there is no such code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np

from ...errors import UnsupportedError
from ...system.memory import without_collection
from ..primitives import ARITY, INPUT, PRIMITIVES
from .calls import Calls, Stage, in_stages
from .graph import Graph
from .trace import Traced
from .user_functions import CALLS, random_states

ON_NUMBERS = [primitive.python for primitive in PRIMITIVES]
ON_COLUMNS = [primitive.numpy for primitive in PRIMITIVES]
STEADY: set[str] = set()  # digests of the expressions of this process that two calls agree on
MOST_STEADY = 4096


class Expression:
    """Traced function of groups of numbers: the operations from its inputs to its results.

    Expressions with the same operations are equal, and have the same repr in every process. may_call: whether the
    function may call networks, see `calls`. stages: of an expression with calls.
    """

    may_call: ClassVar[bool] = False
    stages: tuple[Stage, ...] = ()

    def __init__(
        self, sizes: Sequence[int], function: Callable[..., Iterable[Any]], named: Mapping[str, Any] | None = None
    ) -> None:
        """Trace function(*groups), for groups of the given sizes; it returns traced or known numbers.

        named: the user's functions that it calls, by their names in messages. Raises UnsupportedError if it branches on
        the numbers, or if another call does other operations.
        """
        self.sizes, self._function = tuple(sizes), function
        with random_states(*(named or {}).values()) as states:
            before = states()
            self._trace()
            if self._digest not in STEADY:
                self._check_other_calls(named or {}, states() != before)
        del self._function

    @without_collection()
    def _trace(self) -> None:
        self.graph = Graph()
        self.graph.calls = Calls(sum(self.sizes)) if self.may_call else None
        inputs = np.empty(sum(self.sizes), dtype=object)
        inputs[:] = [Traced(self.graph, self.graph.node(INPUT, k)) for k in range(inputs.size)]
        found = self._function(*np.split(inputs, np.cumsum(self.sizes)[:-1]))
        self.results = [x.node if isinstance(x, Traced) else self.graph.constant(float(x)) for x in found]
        self.order = self.graph.needed(self.results)
        self._digest = self._identity()
        self.stages = self._stages()

    def _stages(self) -> tuple[Stage, ...]:
        """Return the parts between calls, none if there are no calls."""
        made = self.graph.calls.made if self.may_call else []
        found, sizes = [], self.sizes
        for function, results, size in [*made, (None, self.results, 0)] if made else []:
            part = copy(self)
            part.sizes, part.results, part.stages = sizes, list(results), ()
            part.order = self.graph.needed(part.results)
            part._digest = part._identity()
            found.append(Stage(part, function))
            sizes = (*sizes, size)
        return tuple(found)

    def _check_other_calls(self, named: Mapping[str, Any], draws: bool) -> None:
        """Trace again, several times if random numbers are drawn; raises UnsupportedError if a trace differs."""
        first = copy(self)
        for _ in range(CALLS - 1 if draws else 1):
            self._trace()
            if self._digest != first._digest:
                raise UnsupportedError(
                    f"{first._difference(self, ' or '.join(named))}: a compiled function "
                    "is not called in each step, so random numbers, counters and clocks would be the same in all "
                    "steps; give noise as parameters, and take the time from the function's arguments"
                )
        if len(STEADY) >= MOST_STEADY:
            STEADY.clear()
        STEADY.add(self._digest)

    def _difference(self, other: Expression, called: str) -> str:
        """Return what differs between two calls: a result, and a constant in it."""
        pairs = zip(self._by_result(), other._by_result(), strict=False)
        differ = next((k for k, (one, two) in enumerate(pairs) if one != two), None)
        if differ is None:
            return f"{called} has {len(self.results)} results in one call, and {len(other.results)} in the next"
        one, two = (set(e.graph.values) for e in (self, other))
        numbers = [f"{min(x):.12g}" for x in (one - two, two - one) if x]
        example = f", as {' and '.join(numbers)}" if len(numbers) == 2 else ""
        return f"{self._result_name(differ, called)} contains other numbers in each call{example}"

    def _by_result(self) -> list[str]:
        """Return a digest of the operations of each result."""
        digests: dict[int, str] = {}

        def digest(node: int) -> str:
            if node not in digests:
                operation, first = self.graph.operation[node], self.graph.first[node]
                leaf = f"{operation} {first if operation == INPUT else self.graph.values[first].hex()}"
                digests[node] = hashlib.sha256(leaf.encode()).hexdigest()
            return digests[node]

        for node in self.order:
            text = f"{self.graph.operation[node]} {' '.join(map(digest, self.graph.operands(node)))}"
            digests[node] = hashlib.sha256(text.encode()).hexdigest()
        return [digest(node) for node in self.results]

    def _result_name(self, k: int, called: str) -> str:
        """Return the name of a result for messages."""
        return f"result {k} of {called}"

    def _identity(self) -> str:
        graph = self.graph
        columns = (graph.operation, graph.first, graph.second)
        operations = self.order, [[*map(column.__getitem__, self.order)] for column in columns], graph.third
        leaves = [(k, op, graph.first[k]) for k, op in enumerate(graph.operation) if ARITY[op] == 0]
        values = [value.hex() for value in graph.values]
        made = self.graph.calls.made if self.may_call else []
        calls = [(call.function.digest, call.operands) for call in made]
        described = self.sizes, self.results, operations, leaves, values, *([calls] if calls else [])
        return hashlib.sha256(repr(described).encode()).hexdigest()

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
        if self.stages:
            return in_stages(self.stages, [stage.part.columns for stage in self.stages])(*groups)
        found = self._applied([x for group in groups for x in (group.T if np.ndim(group) else [group])], ON_COLUMNS)
        result = np.empty((max(len(group) for group in groups if np.ndim(group)), len(found)))
        for column, x in zip(result.T, found, strict=True):
            column[:] = x
        return result

    def _applied(self, inputs: list[Any], operations: list[Callable[..., Any]]) -> list[Any]:
        if self.stages:
            raise UnsupportedError(
                "a policy that calls a network runs between steps, not in their code, and has no derivatives"
            )
        known = self.numbers(inputs, operations)
        return [known[node] for node in self.results]

    def numbers(self, inputs: Sequence[Any], operations: Sequence[Callable[..., Any]]) -> dict[int, Any]:
        """Return the number of every input, constant and needed operation, by node."""
        graph = self.graph
        known = {
            node: inputs[first] if operation == INPUT else graph.values[first]
            for node, (operation, first) in enumerate(zip(graph.operation, graph.first, strict=True))
            if not ARITY[operation] and (operation != INPUT or first < len(inputs))  # others are results of calls
        }
        if are_inputs(inputs):
            place = inputs[0].graph
            nodes = {node: x.node if isinstance(x, Traced) else place.constant(x) for node, x in known.items()}
            place.append(graph, self.order, nodes)
            return known | {node: Traced(place, nodes[node]) for node in self.order}
        for node in self.order:
            known[node] = operations[graph.operation[node]](*[known[k] for k in graph.operands(node)])
        return known


def are_inputs(numbers: Sequence[Any]) -> bool:
    """Return whether numbers are different inputs of one graph."""
    nodes = {x.node for x in numbers if isinstance(x, Traced) and x.graph.operation[x.node] == INPUT}
    return 0 < len(nodes) == len(numbers)


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
