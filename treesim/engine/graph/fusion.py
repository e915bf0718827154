"""Fusion of products and sums into multiply-adds with one rounding, determined by the trace alone.

Compilers fuse according to the processor and the lengths of basic blocks, which would change the last bits.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from ..primitives import ADD, FMA, FMS, FNMA, MUL, SUB
from .trace import Trace


def fusions(traced: Trace, marks: Sequence[int] = ()) -> dict[int, int]:
    """Return the product's node for each sum that is fused with a product; the sum is the product's only use.

    Of two products, the later one is fused. marks: numbers of nodes at which loop iterations begin; product and
    sum must be in the same iteration. O(operations).
    """
    graph = traced.graph
    needed = graph.needed(traced.results)
    uses = Counter(chain(traced.results, chain.from_iterable(map(graph.operands, needed))))
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
    """Replace such sums in the trace's graph by operations of three operands (`fusions`), unless it fuses none."""
    graph = traced.graph
    if not graph.fuses:
        return
    for node, product in fusions(traced, marks).items():
        first, second = graph.operands(node)
        if graph.operation[node] == ADD:
            operation, other = FMA, second if first == product else first
        else:
            operation, other = (FMS, second) if first == product else (FNMA, first)
        graph.operation[node] = operation
        graph.first[node], graph.second[node], graph.third[node] = *graph.operands(product), other
