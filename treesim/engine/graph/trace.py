"""Traces: the operations of a kernel for one robot, as a graph.

The kernel's source runs once in the interpreter on `Traced` numbers, which record operations. The robot's
tables are constants, so indexing and branches on joint types happen during tracing. Constants are folded,
common subexpressions shared, and unused operations removed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from ...kernels.entries.entry import fuses
from ...kernels.entries.status import FINE
from ..exponentials import hyperbolic_tangent
from ..primitives import (
    ADD,
    ATAN2,
    COS,
    DIV,
    EXP,
    INPUT,
    LESS,
    MAX,
    MIN,
    MUL,
    NEG,
    PRIMITIVES,
    SIN,
    SQRT,
    SUB,
)
from .graph import Graph

UNITS = (0.0, 1.0, -1.0)  # products with these need no operation


class Traced:
    """Symbolic number; `value` is set for constants, which are folded as by a compiler.

    0 x is folded to 0 for all x, as in the compiled kernels, whose results are checked for NaN and infinity.
    """

    __slots__ = ("graph", "node", "value")

    def __init__(self, graph: Graph, node: int, value: float | None = None) -> None:
        self.graph, self.node, self.value = graph, node, value

    @property
    def context(self) -> type[Functions]:
        """Elementary functions, in the place where kernels look for them."""
        return Functions

    def made(self, operation: int, other: Traced | None = None) -> Traced:
        """Return the result of an operation on this number, or on this and another."""
        graph = self.graph
        return Traced(graph, graph.node(operation, self.node, 0 if other is None else other.node))

    def constant(self, value: float) -> Traced:
        """Return a constant of the same trace."""
        return Traced(self.graph, self.graph.constant(value), value)

    def _other(self, other: Any) -> Traced:
        """Return the other operand as a number of the trace; NotImplemented for text, and arrays."""
        if isinstance(other, Traced):
            return other
        return NotImplemented if isinstance(other, np.ndarray | str) else self.constant(float(other))

    def __add__(self, other: Any) -> Traced:
        b = self._other(other)
        if b is NotImplemented:
            return b
        if self.value is not None and b.value is not None:
            return self.constant(self.value + b.value)
        if self.value == 0:
            return b
        if b.value == 0:
            return self
        operation = self.graph.operation
        if operation[b.node] == NEG:
            return self - _operand(b)
        if operation[self.node] == NEG:
            return b - _operand(self)
        return self.made(ADD, b)

    __radd__ = __add__

    def __pos__(self) -> Traced:
        return self

    def __neg__(self) -> Traced:
        if self.value is not None:
            return self.constant(-self.value)
        if _is_negation(self):
            return _operand(self)
        if self.graph.operation[self.node] == SUB:  # -(a - b) = b - a
            return Traced(self.graph, self.graph.second[self.node]) - _operand(self)
        return self.made(NEG)

    def __sub__(self, other: Any) -> Traced:
        b = self._other(other)
        if b is NotImplemented:
            return b
        if b.value == 0:
            return self
        if self.value is not None and b.value is not None:
            return self.constant(self.value - b.value)
        if self.value == 0:
            return -b
        if _is_negation(b):
            return self + _operand(b)
        if self.node == b.node:
            return self.constant(0.0)
        return self.made(SUB, b)

    def __rsub__(self, other: Any) -> Traced:
        return self._other(other) - self

    def __mul__(self, other: Any) -> Traced:
        b = self._other(other)
        if b is NotImplemented:
            return b
        if self.value is not None and b.value is not None:
            return self.constant(self.value * b.value)
        if self.value in UNITS:
            return self._unit_times(b)
        if b.value in UNITS:
            return b._unit_times(self)
        operation = self.graph.operation
        if operation[self.node] == NEG:  # signs move outward, where sums absorb them
            return -(_operand(self) * b)
        if operation[b.node] == NEG:
            return -(self * _operand(b))
        return self.made(MUL, b)

    def _unit_times(self, other: Traced) -> Traced:
        """Return the product of another number with this one, 0, 1 or -1."""
        if not self.value:
            return self.constant(0.0)
        return other if self.value == 1 else -other

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Traced:
        b = self._other(other)
        if b is NotImplemented:
            return b
        if b.value == 0:
            raise UnsupportedError("the kernel divides by zero whatever its inputs are: a joint moves no inertia")
        if b.value is not None and (self.graph.fuses or math.frexp(b.value)[0] == 0.5):  # else the quotient is exact
            return self * (1.0 / b.value)
        if self.value == 0 and b.value is None:
            return self
        return self.made(DIV, b)

    def __rtruediv__(self, other: Any) -> Traced:
        return self._other(other) / self

    def __eq__(self, other: object) -> bool:
        if self.value is None or not isinstance(other, (int, float)):
            raise data_dependent()
        return self.value == other

    def __lt__(self, other: Any) -> Condition:
        """Return a condition, which cannot be branched on."""
        b = self._other(other)
        return b if b is NotImplemented else Condition.of(Functions.less(self, b))

    def __gt__(self, other: Any) -> Condition:
        b = self._other(other)
        return b if b is NotImplemented else Condition.of(Functions.less(b, self))

    def __le__(self, other: Any) -> Condition:
        return ~(self > other)

    def __ge__(self, other: Any) -> Condition:
        return ~(self < other)

    def __bool__(self) -> bool:
        raise data_dependent()

    def __float__(self) -> float:
        raise UnsupportedError(
            "the kernel's course depends on the values of its inputs, as in functions of math (use those of numpy): "
            "it cannot be traced"
        )

    __int__ = __index__ = __bool__

    def __abs__(self) -> Traced:
        return Functions.maximum(self, -self)

    def __pow__(self, exponent: Any) -> Traced:
        """Return an integer power as products."""
        if not (isinstance(exponent, int) and exponent >= 0):
            raise UnsupportedError(f"powers of numbers that are not known yet must be whole, not {exponent!r}")
        result = self.constant(1.0)
        for _ in range(exponent):
            result = result * self
        return result

    def __rpow__(self, base: Any) -> Traced:
        """Return a power of a positive number: exp(x log(base))."""
        if not (isinstance(base, int | float) and 0 < base < math.inf):
            raise UnsupportedError(f"of powers whose exponent is not known yet the base must be above 0, not {base!r}")
        return Functions.exp(math.log(base) * self)

    # under the names that NumPy's functions call on object arrays
    def sin(self) -> Traced:
        """Sine."""
        return Functions.sin(self)

    def cos(self) -> Traced:
        """Cosine."""
        return Functions.cos(self)

    def sqrt(self) -> Traced:
        """Square root."""
        return Functions.sqrt(self)

    def exp(self) -> Traced:
        """Exponential function."""
        return Functions.exp(self)

    def tanh(self) -> Traced:
        """Hyperbolic tangent."""
        return Functions.tanh(self)

    def tan(self) -> Traced:
        """Tangent."""
        return self.sin() / self.cos()

    def arctan2(self, x: Any) -> Traced:
        """Angle of the point (x, this number)."""
        return Functions.atan2(self, x)

    def arctan(self) -> Traced:
        """Inverse tangent."""
        return Functions.atan2(self, 1.0)

    def arcsin(self) -> Traced:
        """Inverse sine."""
        return Functions.atan2(self, self._cathetus())

    def arccos(self) -> Traced:
        """Inverse cosine."""
        return Functions.atan2(self._cathetus(), self)

    def _cathetus(self) -> Traced:
        """Return sqrt(1 - x^2)."""
        return ((1.0 - self) * (1.0 + self)).sqrt()

    def hypot(self, other: Any) -> Traced:
        """Length of the vector (x, y)."""
        return (self * self + other * other).sqrt()

    def radians(self) -> Traced:
        """Angle in degrees, in radians."""
        return self * (math.pi / 180)

    def degrees(self) -> Traced:
        """Angle in radians, in degrees."""
        return self * (180 / math.pi)

    deg2rad, rad2deg = radians, degrees

    def conjugate(self) -> Traced:
        """Return the number itself, which is real."""
        return self

    __hash__ = None  # type: ignore[assignment]


class Condition(Traced):
    """Result of a comparison: 1 if true, else 0; combined by & and |, negated by ~."""

    __slots__ = ()

    @classmethod
    def of(cls, x: Traced) -> Condition:
        """Return a number that is 0 or 1 as a condition."""
        return cls(x.graph, x.node, x.value)

    def __and__(self, other: Condition) -> Condition:
        return Condition.of(self * other) if isinstance(other, Condition) else NotImplemented

    def __or__(self, other: Condition) -> Condition:
        return Condition.of(Functions.maximum(self, other)) if isinstance(other, Condition) else NotImplemented

    def __invert__(self) -> Condition:
        return Condition.of(1.0 - self)


def data_dependent() -> UnsupportedError:
    """Return the error for a kernel that branches on its inputs: it has no straight-line code."""
    return UnsupportedError("the kernel's course depends on the values of its inputs: it cannot be traced")


def _is_negation(x: Traced) -> bool:
    return x.graph.operation[x.node] == NEG


def _operand(x: Traced) -> Traced:
    return Traced(x.graph, x.graph.first[x.node])


def _of_one(operation: int, x: Traced) -> Traced:
    """Return an operation on one number, folded for a constant unless its value is undefined."""
    if x.value is not None:
        with suppress(ValueError, OverflowError):
            return x.constant(float(PRIMITIVES[operation].python(x.value)))
    return x.made(operation)


def _compared(operation: int, x: Any, y: Any) -> Traced:
    """Return an operation on two numbers, at least one of them traced."""
    one = x if isinstance(x, Traced) else y
    first, second = (z if isinstance(z, Traced) else one.constant(float(z)) for z in (x, y))
    if first.value is not None and second.value is not None:
        return one.constant(float(PRIMITIVES[operation].python(first.value, second.value)))
    return first.made(operation, second)


class Functions:
    """Elementary functions of traced numbers."""

    sin, cos, sqrt, exp = (staticmethod(partial(_of_one, operation)) for operation in (SIN, COS, SQRT, EXP))
    maximum, minimum, less, atan2 = (staticmethod(partial(_compared, each)) for each in (MAX, MIN, LESS, ATAN2))
    tanh = staticmethod(hyperbolic_tangent)

    @staticmethod
    def select(condition: Any, x: Any, y: Any) -> Traced:
        """Return x where the condition is not zero, else y."""
        one = next(z for z in (condition, x, y) if isinstance(z, Traced))
        condition, first, second = (z if isinstance(z, Traced) else one.constant(float(z)) for z in (condition, x, y))
        if condition.value is not None:
            return first if condition.value else second
        if first.node == second.node:
            return first
        return Traced(condition.graph, condition.graph.choice(condition.node, first.node, second.node))


class Trace(NamedTuple):
    """Trace of a kernel entry for one robot: its graph, the nodes of its results, and the number of inputs."""

    graph: Graph
    results: list[int]
    inputs: int


def trace(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    graph: Graph | None = None,
) -> Trace:
    """Trace `entry` for one state, given constants and the sizes of its input and result arrays.

    graph: an empty one to use. Raises UnsupportedError if the entry branches on its inputs or is too long.
    Cost: about 3 us per operation, once per robot.
    """
    graph = Graph() if graph is None else graph
    graph.fuses = graph.fuses and fuses(entry)
    inputs, start = [], 0
    for size in sizes:
        inputs.append(_objects([Traced(graph, graph.node(INPUT, start + k)) for k in range(size)]))
        start += size
    outputs = written_down(graph, entry, constants, inputs, results)
    nodes = [x.node if isinstance(x, Traced) else graph.constant(float(x)) for output in outputs for x in output]
    return Trace(graph, nodes, start)


def written_down(
    graph: Graph,
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[np.ndarray],
    results: Sequence[int],
) -> list[np.ndarray]:
    """Return the result arrays, of the given sizes, of an entry called on traced numbers of a graph.

    Raises UnsupportedError as `trace` does.
    """
    outputs = [_objects([Traced(graph, graph.constant(0.0), 0.0)] * size) for size in results]
    if entry(*(_constants(graph, x) for x in constants), *inputs, *outputs) != FINE:
        raise UnsupportedError(f"{entry.__name__} cannot be traced: the sizes of its arrays do not fit")
    return outputs


def _constants(graph: Graph, value: Any) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind in "iu":
        return value
    return _objects([Traced(graph, *graph.given(x)) for x in value.reshape(-1).tolist()])


def _objects(items: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def is_traced(value: Any) -> bool:
    """Return whether a value is an array of traced numbers."""
    return isinstance(value, np.ndarray) and value.dtype == object and any(isinstance(x, Traced) for x in value.flat)


def on_traced(
    entry: Callable[..., int], constants: Sequence[Any], arrays: Sequence[np.ndarray], shapes: Sequence[tuple[int, ...]]
) -> list[np.ndarray]:
    """Return the results of `entry` for one state of traced numbers: arrays of the given shapes, of the same trace.

    Raises ArgumentError for arrays of other objects, UnsupportedError as `trace` does.
    """
    numbers = [x for array in arrays if array.dtype == object for x in array.flat]
    graph = next((x.graph for x in numbers if isinstance(x, Traced)), None)
    if graph is None or not all(isinstance(x, (Traced, int, float)) for x in numbers):
        raise ArgumentError("an array of objects holds what is no number")
    given = [_objects([_in_trace(graph, x) for x in array.flat]) for array in arrays]
    outputs = written_down(graph, entry, constants, given, [math.prod(shape) for shape in shapes])
    return [output.reshape(shape) for output, shape in zip(outputs, shapes, strict=True)]


def _in_trace(graph: Graph, x: Any) -> Traced:
    return x if isinstance(x, Traced) else Traced(graph, graph.constant(float(x)), float(x))
