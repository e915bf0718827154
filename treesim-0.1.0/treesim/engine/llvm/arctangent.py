"""Arctangent of two arguments on lanes: traced from a source in primitives, emitted as an LLVM function.

Errors are below two units in the last place of float64 (`tests/engine/llvm/test_arctangent.py`).
"""

from __future__ import annotations

from ..graph.fusion import fuse
from ..graph.graph import Graph
from ..graph.trace import Trace, Traced
from ..primitives import CONSTANT, INPUT, PRIMITIVES
from ..trigonometry import arctangent
from .builder import Module
from .lanes import Lanes
from .values import Value, constant


def write_arctangent(module: Module, name: str, lanes: Lanes) -> None:
    """Write the function name(y, x) of a module."""
    graph = Graph()
    y, x = (Traced(graph, graph.node(INPUT, k)) for k in range(2))
    result = arctangent(y, x).node  # type: ignore[no-untyped-call]
    fuse(Trace(graph, [result], 2))
    parameters = f"{lanes.vector} y, {lanes.vector} x"
    f = module.function(name, parameters, lanes.vector, lanes=lanes, aligned_stack=True)
    values: dict[int, Value] = {}

    def value(node: int) -> Value:
        kind, first = graph.operation[node], graph.first[node]
        if kind == INPUT:
            return f.arguments[first]
        return constant(graph.values[first], f.vector) if kind == CONSTANT else values[node]

    for node in graph.needed([result]):
        values[node] = PRIMITIVES[graph.operation[node]].llvm(f, *(value(source) for source in graph.operands(node)))
    f.ret(value(result))
