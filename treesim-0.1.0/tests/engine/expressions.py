"""Traces of expressions on numbers."""

from __future__ import annotations

from treesim.engine.graph.graph import Graph
from treesim.engine.graph.trace import Trace, Traced
from treesim.engine.primitives import INPUT


def of_expression(function, inputs):
    """The trace of results that `function` makes of so many inputs."""
    graph = Graph()
    found = function(*(Traced(graph, graph.node(INPUT, k)) for k in range(inputs)))
    return Trace(graph, [x.node for x in found], inputs)
