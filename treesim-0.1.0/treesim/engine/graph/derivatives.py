"""Forward and reverse derivatives of traces, as further nodes of the same graph.

Forward mode propagates one direction with every operation. Reverse mode propagates the gradient of one
combination of results to all inputs (Griewank and Walther 2008, chapter 3). Both use the partial
derivatives in `primitives`, so a derivative is exact to rounding, runs wherever the trace runs, and can be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..primitives import CONSTANT, INPUT, PRIMITIVES
from .graph import Graph
from .trace import Trace, Traced


def forward(traced: Trace, tangents: Mapping[int, Traced]) -> list[Traced]:
    """Return the directional derivative of every result; tangents: direction by input number, 0 if missing.

    Cost: at most 4 operations for each of the trace's.
    """
    graph = traced.graph
    zero = _known(graph, 0.0)
    along = {node: tangents.get(graph.first[node], zero) for node in _inputs(graph)}
    for node in graph.needed(traced.results):
        tangent = zero
        for partial, operand in zip(_partials(graph, node), graph.operands(node), strict=True):
            tangent = tangent + along.get(operand, zero) * partial
        along[node] = tangent
    return [along.get(node, zero) for node in traced.results]


def reverse(traced: Trace, weights: Sequence[Traced]) -> list[Traced]:
    """Return the gradient of sum(weights * results) with respect to every input.

    Cost: at most 5 operations for each of the trace's, for any number of inputs.
    """
    graph = traced.graph
    zero = _known(graph, 0.0)
    back: dict[int, Traced] = {}
    for node, weight in zip(traced.results, weights, strict=True):
        back[node] = back.get(node, zero) + weight
    for node in reversed(graph.needed(traced.results)):
        adjoint = back.get(node, zero)
        for partial, operand in zip(_partials(graph, node), graph.operands(node), strict=True):
            back[operand] = back.get(operand, zero) + adjoint * partial
    return [back.get(graph.node(INPUT, k), zero) for k in range(traced.inputs)]


def _inputs(graph: Graph) -> list[int]:
    return [node for node, operation in enumerate(graph.operation) if operation == INPUT]


def _partials(graph: Graph, node: int) -> tuple[Traced | float, ...]:
    """Return the partial derivatives of an operation with respect to its operands."""
    found: tuple[Traced | float, ...] = PRIMITIVES[graph.operation[node]].partials(
        *(_number(graph, k) for k in (node, *graph.operands(node)))
    )
    return found


def _number(graph: Graph, node: int) -> Traced:
    """Return a node as a traced number; a constant has its value."""
    known = graph.operation[node] == CONSTANT
    return Traced(graph, node, graph.values[graph.first[node]] if known else None)


def _known(graph: Graph, value: float) -> Traced:
    return Traced(graph, graph.constant(value), value)
