"""Calls in traces: functions of many numbers, such as networks, that run between parts of an expression.

The results of a call are further inputs of the graph. An expression with calls is evaluated in stages: an expression of
the numbers that the first call takes, this call, and so on; the last stage gives the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...errors import UnsupportedError
from ..primitives import INPUT
from .graph import Graph
from .trace import Traced


class Called(Protocol):
    """Function that a trace may call: its digest, and its results (B, n) for numbers (B, k)."""

    @property
    def digest(self) -> str:
        """Digest of the computation."""

    def columns(self, x: np.ndarray, /) -> np.ndarray:
        """Return the results (B, n) for numbers (B, k)."""


class Call(NamedTuple):
    """Call of a function with the numbers of some nodes; size: number of its results."""

    function: Called
    operands: tuple[int, ...]
    size: int


class Calls:
    """Calls of a graph with a number of inputs, whose results are the inputs behind these."""

    def __init__(self, inputs: int) -> None:
        self.made: list[Call] = []
        self._end = inputs

    def add(self, graph: Graph, call: Call) -> list[int]:
        """Return the nodes of the results of a call."""
        start, self._end = self._end, self._end + call.size
        self.made.append(call)
        return [graph.node(INPUT, k) for k in range(start, self._end)]


class Stage(NamedTuple):
    """Part of an expression, and the function that is called with its results; None for the last part."""

    part: Any
    function: Called | None


def is_traced(numbers: Any) -> bool:
    """Return whether one of some numbers, in a sequence or array, is symbolic."""
    if not isinstance(numbers, (list, tuple)) and not (isinstance(numbers, np.ndarray) and numbers.dtype == object):
        return False
    return any(isinstance(x, Traced) for x in np.ravel(np.asarray(numbers, dtype=object)))


def traced_call(function: Called, numbers: np.ndarray, size: int) -> np.ndarray:
    """Return the symbolic results (size,) of a function of numbers, of which at least one is symbolic.

    Raises UnsupportedError in functions that cannot be evaluated in stages.
    """
    graph = next(x.graph for x in numbers if isinstance(x, Traced))
    if graph.calls is None:
        raise UnsupportedError(
            "a network can be called in a policy of rollouts, and has no derivatives; in other functions that are "
            "traced it cannot"
        )
    operands = tuple(x.node if isinstance(x, Traced) else graph.constant(float(x)) for x in numbers)
    found = np.empty(size, dtype=object)
    found[:] = [Traced(graph, node) for node in graph.calls.add(graph, Call(function, operands, size))]
    return found


def in_stages(stages: Sequence[Stage], columns: Sequence[Callable[..., np.ndarray]]) -> Callable[..., np.ndarray]:
    """Return the function of all stages, given functions `Expression.columns` of their parts."""

    def staged(*groups: Any) -> np.ndarray:
        given = list(groups)
        for stage, part in zip(stages, columns, strict=True):
            found = part(*given)
            if stage.function is not None:
                given.append(stage.function.columns(found))
        return found

    return staged
