"""Cost of a trace: its operations by kind, fused ones, and its critical path.

These are the operations of the robot's straight-line code on one state: constants are folded, equal
subexpressions shared, and unused ones dropped. Signs cost nothing: processors add and subtract alike.
"""

from __future__ import annotations

from collections import Counter

from treesim.engine.graph.fusion import fusions
from treesim.engine.graph.trace import Trace
from treesim.engine.primitives import COS, NEG, PRIMITIVES, SIN


def operations(traced: Trace) -> Counter[str]:
    """Return the number of operations of each kind (add, mul, div, sqrt, trig, exp, compare) for the results.

    Subtractions are adds; a sine or cosine is one trig, although it takes about twenty operations.
    O(operations).
    """
    graph = traced.graph
    kinds = (graph.operation[node] for node in graph.needed(traced.results))
    return Counter(PRIMITIVES[kind].cost for kind in kinds if PRIMITIVES[kind].cost)


def fused(traced: Trace) -> int:
    """Return the number of multiplications fused with the addition that alone uses them. O(operations)."""
    return len(fusions(traced))


def turned(traced: Trace) -> int:
    """Return the number of angles of which sines or cosines are taken. O(operations)."""
    graph = traced.graph
    return len({graph.first[node] for node in graph.needed(traced.results) if graph.operation[node] in (SIN, COS)})


def depth(traced: Trace) -> int:
    """Return the length of the critical path, the longest chain of dependent operations. O(operations)."""
    graph = traced.graph
    level: dict[int, int] = {}  # of each node: the operations on the longest path to it; inputs and constants have none
    for node in graph.needed(traced.results):
        level[node] = max(level.get(source, 0) for source in graph.operands(node)) + (graph.operation[node] != NEG)
    return max((level.get(node, 0) for node in traced.results), default=0)
