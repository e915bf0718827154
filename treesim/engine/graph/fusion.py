"""Which products and sums of a trace share one rounding: decided by the trace alone, for all processors alike.

Compilers that may fuse do as the processor at hand, and the lengths of basic blocks, suggest; then so do the last bits.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence

from ..primitives import ADD, FMA, FMS, FNMA, MUL, SUB
from .trace import Trace


def fusions(traced: Trace, marks: Sequence[int] = ()) -> dict[int, int]:
    """Return of each sum that takes a product in the product's node: it alone uses it, once. Of two products, the later
    one. marks: numbers of nodes at which iterations of loops begin; product and sum then are of one iteration.
    O(operations).
    """
    graph = traced.graph
    needed = graph.needed(traced.results)
    uses = Counter(source for node in needed for source in graph.operands(node)) + Counter(traced.results)
    found = {}
    for node in needed:
        if graph.operation[node] in (ADD, SUB):
            products = [
                source
                for source in graph.operands(node)
                if graph.operation[source] == MUL and uses[source] == 1 and bisect(marks, source) == bisect(marks, node)
            ]
            if products:
                found[node] = max(products)
    return found


def fuse(traced: Trace, marks: Sequence[int] = ()) -> None:
    """Make of such sums, in the trace's graph, operations of three operands (`fusions`)."""
    graph = traced.graph
    for node, product in fusions(traced, marks).items():
        first, second = graph.operands(node)
        if graph.operation[node] == ADD:
            operation, other = FMA, second if first == product else first
        else:
            operation, other = (FMS, second) if first == product else (FNMA, first)
        graph.operation[node] = operation
        graph.first[node], graph.second[node], graph.third[node] = *graph.operands(product), other
