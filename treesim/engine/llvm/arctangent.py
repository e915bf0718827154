"""The angle of a point on lanes: a text in the primitives of traces, which becomes a function of LLVM's.

The coefficients are those of fdlibm's atan. Errors are below two units in the last place of float64
(`tests/engine/llvm/test_arctangent.py`). Unlike C's, the sign of a zero is not looked at: the angle of (-1, -0.0) is
pi, that of (0, 0) zero.
"""

from __future__ import annotations

from typing import Any

from ...kernels.numbers import (
    absolute,
    less,
    maximum,
    minimum,
    select,
)
from ..graph.graph import Graph
from ..graph.trace import Traced
from ..primitives import CONSTANT, INPUT, PRIMITIVES
from .builder import FAST, Module
from .lanes import Lanes
from .values import Value, constant

FAR = 0.4375  # beyond, the angle is pi / 4 and that of (t - 1) / (t + 1)
PI, PI_LOW = 3.14159265358979311600e00, 1.22464679914735317723e-16  # and what is left of it
# (t - atan t) / t^3 as a polynomial of t^2
SERIES = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip


def arctangent(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), on numbers of any type."""
    far_x, far_y = absolute(x), absolute(y)
    large, small = maximum(far_x, far_y), minimum(far_x, far_y)
    t = small / select(less(0.0, large), large, 1.0)  # of an angle up to pi / 4
    far = less(FAR, t)
    t = select(far, (t - 1.0) / (t + 1.0), t)
    z = t * t
    series = SERIES[-1]
    for coefficient in SERIES[-2::-1]:
        series = series * z + coefficient
    angle = t - t * (z * series)
    angle = select(far, PI / 4 + (angle + PI_LOW / 4), angle)
    angle = select(less(far_x, far_y), PI / 2 - (angle - PI_LOW / 2), angle)
    angle = select(less(x, 0.0), PI - (angle - PI_LOW), angle)
    return select(less(y, 0.0), -angle, angle)


def write_arctangent(module: Module, name: str, lanes: Lanes) -> None:
    """Write the function name(y, x) of a module."""
    graph = Graph()
    y, x = (Traced(graph, graph.node(INPUT, k)) for k in range(2))
    result = arctangent(y, x).node
    parameters = f"{lanes.vector} y, {lanes.vector} x"
    f = module.function(name, parameters, lanes.vector, lanes=lanes, flags=FAST, aligned_stack=True)
    values: dict[int, Value] = {}

    def value(node: int) -> Value:
        kind, first = graph.operation[node], graph.first[node]
        if kind == INPUT:
            return f.arguments[first]
        return constant(graph.values[first], f.vector) if kind == CONSTANT else values[node]

    for node in graph.needed([result]):
        values[node] = PRIMITIVES[graph.operation[node]].llvm(f, *(value(source) for source in graph.operands(node)))
    f.ret(value(result))
