"""What a trace costs: its operations by kind, which of them share an instruction, and its critical path.

These are the operations that straight-line code of the robot does on one state: constants are folded, equal
subexpressions shared, and what no result needs is left out. Signs cost nothing: processors add and subtract alike.
"""

from __future__ import annotations

from collections import Counter

from treesim.engine.graph.fusion import fusions
from treesim.engine.graph.trace import Trace
from treesim.engine.primitives import COS, NEG, PRIMITIVES, SIN


def operations(traced: Trace) -> Counter[str]:
    """Return how many operations of each kind (add, mul, div, sqrt, trig, exp, compare) the results take.

    Subtractions are adds; a sine or cosine is one trig, although it takes about twenty operations. O(operations).
    """
    graph = traced.graph
    kinds = (graph.operation[node] for node in graph.needed(traced.results))
    return Counter(PRIMITIVES[kind].cost for kind in kinds if PRIMITIVES[kind].cost)


def fused(traced: Trace) -> int:
    """Return how many multiplications go into one instruction with the addition that alone uses them. O(operations)."""
    return len(fusions(traced))


def turned(traced: Trace) -> int:
    """Return of how many angles sines or cosines are taken. O(operations)."""
    graph = traced.graph
    return len({graph.first[node] for node in graph.needed(traced.results) if graph.operation[node] in (SIN, COS)})


def _sources(traced: Trace, node: int) -> tuple[int, ...]:
    return traced.graph.operands(node)


def depth(traced: Trace) -> int:
    """Return the length of the critical path: the most operations that wait for one another. O(operations)."""
    graph = traced.graph
    level: dict[int, int] = {}  # of each node: the operations on the longest path to it; inputs and constants have none
    for node in graph.needed(traced.results):
        level[node] = max(level.get(source, 0) for source in _sources(traced, node)) + (graph.operation[node] != NEG)
    return max((level.get(node, 0) for node in traced.results), default=0)
