"""Code generation for calls: of kernels, named tuples, built-in functions, and array methods."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedError
from ...kernels.algebra import numbers as elementary
from ...kernels.algebra import state_lanes
from ..exponentials import exponential, hyperbolic_tangent
from ..primitives import PRIMITIVES
from ..trigonometry import arctangent, put_sincos, sincos, sincos_on_lanes
from . import arithmetic, arrays, masks
from .masks import merged
from .memory import call_at, reals_at, unchanged, words_at
from .types import (
    CONTIGUOUS,
    INTEGER,
    LANES,
    MASK,
    REAL,
    WIDTH,
    Array,
    Record,
    Scalar,
    Static,
    Value,
    boolean,
    described,
    integer,
    items_of,
    record,
)

if TYPE_CHECKING:
    from .lowering import FunctionBody

DTYPES: dict[Any, Scalar] = {np.int64: INTEGER, np.float64: REAL, int: INTEGER, float: REAL, state_lanes.OnLanes: LANES}


def call(body: FunctionBody, node: ast.Call) -> Value:
    """Generate a call; return its result."""
    from .expressions import value_of

    if isinstance(node.func, ast.Attribute) and node.func.attr == "_replace" and not node.args:
        return _replaced(value_of(body, node.func.value), {x.arg: value_of(body, x.value) for x in node.keywords})
    if node.keywords:
        raise UnsupportedError("calls in kernels take no arguments by name")
    given: list[Value] = []
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        owner = value_of(body, node.func.value)
        if isinstance(owner.type, Array):
            return METHODS[node.func.attr](body, owner, [value_of(body, x) for x in node.args])
    function = value_of(body, node.func)
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            given += items_of(value_of(body, argument.value))
        else:
            given.append(value_of(body, argument))
    return called(body, function, given)


def _replaced(value: Value, changed: dict[str | None, Value]) -> Value:
    """Return a named tuple with some items replaced."""
    maker = value.type.maker if isinstance(value.type, Record) else None
    if maker is None or not changed.keys() <= set(maker._fields):
        raise UnsupportedError(f"{described(value.type)} has no {', '.join(map(str, changed))} to replace")
    return record([changed.get(name, x) for name, x in zip(maker._fields, items_of(value), strict=True)], maker)


def called(body: FunctionBody, function: Value, given: Sequence[Value]) -> Value:
    """Generate the call of a function with given values; return its result."""
    if not isinstance(function.type, Static):
        raise UnsupportedError(f"{described(function.type)} is called")
    thing = function.type.thing
    if thing in KNOWN:
        return KNOWN[thing](body, *given)
    if isinstance(thing, type) and issubclass(thing, tuple) and hasattr(thing, "_fields"):
        if len(given) != len(thing._fields):
            raise UnsupportedError(f"{thing.__name__} takes {len(thing._fields)} numbers, not {len(given)}")
        return record(list(given), thing)
    if isinstance(thing, FunctionType):
        return body.call(thing, given)
    raise UnsupportedError(f"{getattr(thing, '__name__', thing)!r} is not among what kernels can call")


def _real(name: str) -> Callable[..., Value]:
    """Return the generator of calls of a function of floats, LLVM's or the C library's."""

    def compute(body: FunctionBody, *given: Value) -> Value:
        kind = LANES if arithmetic.kind_of(*given) == LANES else REAL
        numbers = ", ".join(f"{kind.llvm} {arithmetic.converted(body, x, kind).parts[0]}" for x in given)
        called = on_lanes(name) if kind == LANES else name
        return Value(kind, (body.get(f"call {body.flags} {kind.llvm} @{called}({numbers})"),))

    return compute


def on_lanes(name: str) -> str:
    """Return the name of the vector version of a function of LLVM's or the C library's."""
    return f"llvm.{name.removeprefix('llvm.').removesuffix('.f64')}.v{WIDTH}f64"


def _largest(operation: type[ast.cmpop]) -> Callable[..., Value]:
    """Return the generator of max or min of two or more numbers."""

    def compute(body: FunctionBody, first: Value, *others: Value) -> Value:
        for other in others:
            first = arithmetic.extreme(body, operation, first, other)
        return first

    return compute


def _absolute(body: FunctionBody, x: Value) -> Value:
    """Generate the absolute value of a number."""
    if x.known is not None:
        return arithmetic.known(abs(x.known))
    if x.type in (REAL, LANES):
        return _real("llvm.fabs.f64")(body, x)
    return arithmetic.extreme(body, ast.Gt, x, arithmetic.negative(body, x))


def _less(body: FunctionBody, x: Value, y: Value) -> Value:
    """Generate 1.0 if x < y, else 0.0."""
    smaller = arithmetic.compare(body, ast.Lt, x, y)
    return arithmetic.converted(body, smaller, LANES if smaller.type == MASK else REAL)


def _select(body: FunctionBody, condition: Value, x: Value, y: Value) -> Value:
    """Generate x where the condition is not zero, else y."""
    holds, kind = arithmetic.truth(body, condition), arithmetic.kind_of(x, y)
    if holds.type == MASK:
        return merged(body, holds.parts[0], *(arithmetic.converted(body, z, LANES) for z in (x, y)))
    first, second = (f"{kind.llvm} {arithmetic.converted(body, z, kind).parts[0]}" for z in (x, y))
    return Value(kind, (body.get(f"select i1 {holds.parts[0]}, {first}, {second}"),))


def _integer(body: FunctionBody, x: Value) -> Value:
    """Generate the truncation of a number to an integer."""
    if x.type in (LANES, MASK):
        raise UnsupportedError("whole numbers are the same on all lanes")
    if x.type != REAL or x.known is not None:
        return arithmetic.known(int(x.known)) if x.known is not None else arithmetic.converted(body, x, INTEGER)
    return Value(INTEGER, (body.get(f"fptosi double {x.parts[0]} to i64"),))


def _wide_product(body: FunctionBody, x: Value, y: Value) -> Value:
    """Generate the high and the low word of the product of two unsigned words."""
    a, b = (body.get(f"zext i64 {word.parts[0]} to i128") for word in (x, y))
    product = body.get(f"mul i128 {a}, {b}")
    words = body.get(f"lshr i128 {product}, 64"), product
    return record([Value(INTEGER, (body.get(f"trunc i128 {word} to i64"),)) for word in words])


def _wrapped_sum(body: FunctionBody, x: Value, y: Value) -> Value:
    """Generate the sum of two words without its carry."""
    return Value(INTEGER, (body.get(f"add i64 {x.parts[0]}, {y.parts[0]}"),))


def _power_of_two(body: FunctionBody, n: Value) -> Value:
    """Generate 2^n of whole reals: n + 1023 is the exponent of the number."""
    whole, many = (f"<{WIDTH} x i64>", True) if n.type == LANES else ("i64", False)
    bits = body.get(f"fptosi {n.type.llvm} {n.parts[0]} to {whole}")
    for instruction, number in (("add", 1023), ("shl", 52)):
        bits = body.get(f"{instruction} {whole} {bits}, {f'splat (i64 {number})' if many else number}")
    return Value(n.type, (body.get(f"bitcast {whole} {bits} to {n.type.llvm}"),))


def _source(function: Any) -> Callable[..., Value]:
    """Return the generator of calls of an elementary function's source, on numbers or lanes."""

    def compute(body: FunctionBody, *given: Value) -> Value:
        kind = LANES if arithmetic.kind_of(*given) == LANES else REAL
        return body.call(function, [arithmetic.converted(body, x, kind) for x in given])

    return compute


def _length(body: FunctionBody, x: Value) -> Value:
    """Return the length of a tuple, or of an array's first axis."""
    return arithmetic.known(len(x.type.items)) if isinstance(x.type, Record) else arrays.lengths(x)[0]


def _new(fill: float | None) -> Callable[..., Value]:
    """Return the generator of np.empty, np.zeros or np.ones."""

    def make(body: FunctionBody, shape: Value, dtype: Value | None = None) -> Value:
        array = arrays.allocated(body, _shape([shape]), REAL if dtype is None else _dtype(dtype))
        if fill is not None:
            arrays.put(body, array, arithmetic.known(fill))
        return array

    return make


def _dtype(value: Value) -> Scalar:
    """Return the number type of a dtype."""
    thing = value.type.thing if isinstance(value.type, Static) else None
    kind = thing if isinstance(thing, Scalar) else DTYPES.get(thing)
    if kind is None:
        raise UnsupportedError("arrays of kernels hold np.int64, np.float64, or the numbers of another array's dtype")
    return kind


def _shape(given: Sequence[Value]) -> list[Value]:
    """Return a shape from one integer, several, or a tuple of them."""
    return items_of(given[0]) if len(given) == 1 and isinstance(given[0].type, Record) else list(given)


def _copy(body: FunctionBody, array: Value, given: Sequence[Value]) -> Value:
    """Generate a new contiguous array with the same elements."""
    new = arrays.allocated(body, arrays.lengths(array), array.type.element)
    arrays.put(body, new, array)
    return new


def _at(kind: Scalar) -> Callable[..., Value]:
    """Return the generator of an array at a memory address."""

    def see(body: FunctionBody, address: Value, count: Value) -> Value:
        return Value(
            Array(kind, 1, CONTIGUOUS, False),
            (body.get(f"inttoptr i64 {address.parts[0]} to ptr"), arithmetic.converted(body, count, INTEGER).parts[0]),
        )

    return see


def _call_at(body: FunctionBody, address: Value, words: Value) -> Value:
    """Generate the call of the function at a memory address with an array's address."""
    function = body.get(f"inttoptr i64 {address.parts[0]} to ptr")
    return Value(INTEGER, (body.get(f"call i64 {function}(ptr {words.parts[0]})"),))


METHODS: dict[str, Callable[[Any, Value, Sequence[Value]], Value]] = {
    "reshape": lambda body, array, given: arrays.reshaped(body, array, _shape(given)),
    "copy": _copy,
}
# elementary functions of reals are those of the table of primitives; choices are made here, since they are also made of
# whole numbers, as indices are, and folded where the numbers are known
KNOWN: dict[Any, Callable[..., Value]] = {
    elementary.in_vectors: lambda body: boolean(True),
    elementary.sincos: lambda body, x: (
        body.call(sincos_on_lanes, [x]) if x.type == LANES else body.call(sincos, [arithmetic.converted(body, x, REAL)])
    ),
    elementary.put_sincos: lambda body, *arrays: body.call(put_sincos, arrays),
    elementary.some: masks.some_active,
    state_lanes.gathered: masks.gathered,
    state_lanes.lane_count: lambda body: integer(WIDTH),
    state_lanes.scattered: masks.scattered,
    elementary.less: _less,
    elementary.select: _select,
    **{f: _real(p.scalar) for p in PRIMITIVES if p.scalar for f in (p.python, getattr(math, p.name))},
    **dict.fromkeys((elementary.atan2, math.atan2), _source(arctangent)),
    **dict.fromkeys((elementary.exp, math.exp), _source(exponential)),
    **dict.fromkeys((elementary.tanh, math.tanh), _source(hyperbolic_tangent)),
    elementary.power_of_two: _power_of_two,
    elementary.wide_product: _wide_product,
    elementary.wrapped_sum: _wrapped_sum,
    **dict.fromkeys((elementary.absolute, abs), _absolute),
    **dict.fromkeys((elementary.maximum, max), _largest(ast.Gt)),
    **dict.fromkeys((elementary.minimum, min), _largest(ast.Lt)),
    call_at: _call_at,
    words_at: _at(INTEGER),
    reals_at: _at(REAL),
    unchanged: lambda body, array: array._replace(type=array.type._replace(constant=True)),
    int: _integer,
    len: _length,
    np.empty: _new(None),
    np.zeros: _new(0),
    np.ones: _new(1),
}
