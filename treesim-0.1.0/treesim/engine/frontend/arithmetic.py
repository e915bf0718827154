"""Code generation for numbers: conversions, arithmetic, comparisons, with constant folding."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from ...errors import UnsupportedError
from .body import Body
from .types import (
    BOOLEAN,
    INTEGER,
    LANES,
    MASK,
    REAL,
    WIDTH,
    Scalar,
    Type,
    Value,
    boolean,
    containing,
    described,
    integer,
    real,
)

PYTHON: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.Pow: operator.pow,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
OF_REALS: dict[type[ast.AST], str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
OF_INTEGERS: dict[type[ast.AST], str] = {
    ast.Add: "add nsw", ast.Sub: "sub nsw", ast.Mult: "mul nsw", ast.LShift: "shl", ast.RShift: "ashr",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
# of reals: ordered, so false of NaN, but for "not equal"
COMPARED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"), ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"), ast.GtE: ("sge", "oge"),
}  # fmt: skip
LARGEST_POWER = 16  # expanded to products


def known(number: Any) -> Value:
    """Return the value of a Python number."""
    if isinstance(number, bool):
        return boolean(number)
    return integer(int(number)) if isinstance(number, int) else real(float(number))


def kind_of(*values: Value) -> Scalar:
    """Return the common type of all values; raises UnsupportedError if one is no number."""
    for value in values:
        if not isinstance(value.type, Scalar):
            raise UnsupportedError(f"{described(value.type)} stands where a number is wanted")
    return containing([value.type for value in values])


def converted(body: Body, value: Value, kind: Type) -> Value:
    """Convert a number to a wider type."""
    if value.type == kind:
        return value
    if kind in (LANES, MASK):
        return _on_lanes(body, value, kind)
    if kind == BOOLEAN:
        return truth(body, value)
    if kind_of(value) in (REAL, LANES, MASK):
        raise UnsupportedError("a real number stands where a whole one is wanted: say int(...)")
    if value.known is not None:
        return known(int(value.known)) if kind == INTEGER else known(float(value.known))
    if kind == INTEGER:
        return Value(INTEGER, (body.get(f"zext i1 {value.parts[0]} to i64"),))
    instruction = "uitofp i1" if value.type == BOOLEAN else "sitofp i64"
    return Value(REAL, (body.get(f"{instruction} {value.parts[0]} to double"),))


def _on_lanes(body: Body, value: Value, kind: Scalar) -> Value:
    """Broadcast a number or condition to a vector."""
    if kind == MASK and value.type != BOOLEAN:
        return truth(body, value)
    if value.type == MASK:
        return Value(LANES, (body.get(f"uitofp {MASK.llvm} {value.parts[0]} to {LANES.llvm}"),))
    one = value if kind == MASK else converted(body, value, REAL)
    if one.known is not None:
        return Value(kind, (f"splat ({one.type.llvm} {one.parts[0]})",))
    first = body.get(f"insertelement {kind.llvm} poison, {one.type.llvm} {one.parts[0]}, i64 0")
    same = f"<{WIDTH} x i32> zeroinitializer"
    return Value(kind, (body.get(f"shufflevector {kind.llvm} {first}, {kind.llvm} poison, {same}"),))


def truth(body: Body, value: Value) -> Value:
    """Return whether a number is not zero."""
    if value.type in (BOOLEAN, MASK):
        return value
    return compare(body, ast.NotEq, value, integer(0))


def arithmetic(body: Body, operation: type[ast.AST], a: Value, b: Value) -> Value:
    """Generate `a operation b`."""
    kind = kind_of(a, b)
    if a.known is not None and b.known is not None:
        return _folded(operation, a, b)
    if operation is ast.Pow:
        return power(body, a, b)
    if operation is ast.Div or (kind in (REAL, LANES, MASK) and operation in OF_REALS):
        kind = LANES if kind in (LANES, MASK) else REAL
        x, y = (converted(body, value, kind).parts[0] for value in (a, b))
        return Value(kind, (body.get(f"{OF_REALS[operation]} {body.flags} {kind.llvm} {x}, {y}"),))
    if kind in (REAL, LANES):
        raise UnsupportedError(f"there is no {operation.__name__} of real numbers")
    kind = kind if operation in BITWISE else INTEGER
    x, y = (converted(body, value, kind).parts[0] for value in (a, b))
    if operation in (ast.FloorDiv, ast.Mod):
        return _divided(body, operation, x, y)
    if (a.known == 0 and operation is ast.Add) or (b.known == 0 and operation in (ast.Add, ast.Sub)):
        return Value(kind, (y if a.known == 0 else x,))
    if operation is ast.Mult and (a.known == 1 or b.known == 1):
        return Value(kind, (y if a.known == 1 else x,))
    return Value(kind, (body.get(f"{OF_INTEGERS[operation]} {kind.llvm} {x}, {y}"),))


def _folded(operation: type[ast.AST], a: Value, b: Value) -> Value:
    """Return the result of an operation on constants."""
    try:
        return known(PYTHON[operation](a.known, b.known))
    except (ArithmeticError, ValueError) as error:
        raise UnsupportedError(f"{a.known} and {b.known}: {error}") from None


def _divided(body: Body, operation: type[ast.AST], x: str, y: str) -> Value:
    """Generate the quotient or remainder of integers, rounded towards minus infinity as in Python.

    A zero divisor, which would end the process, is replaced by 1.
    """
    y = body.get(f"select i1 {body.get(f'icmp eq i64 {y}, 0')}, i64 1, i64 {y}")
    quotient, rest = body.get(f"sdiv i64 {x}, {y}"), body.get(f"srem i64 {x}, {y}")
    inexact, mixed = body.get(f"icmp ne i64 {rest}, 0"), body.get(f"xor i64 {rest}, {y}")
    below = body.get(f"and i1 {inexact}, {body.get(f'icmp slt i64 {mixed}, 0')}")
    if operation is ast.FloorDiv:
        return Value(INTEGER, (body.get(f"sub i64 {quotient}, {body.get(f'zext i1 {below} to i64')}"),))
    added = body.get(f"select i1 {below}, i64 {y}, i64 0")
    return Value(INTEGER, (body.get(f"add i64 {rest}, {added}"),))


def power(body: Body, a: Value, b: Value) -> Value:
    """Generate `a` to a small constant power, as products."""
    if not isinstance(b.known, int) or not 1 <= b.known <= LARGEST_POWER:
        raise UnsupportedError(f"powers must be whole numbers from 1 to {LARGEST_POWER}, written out")
    result = a
    for _ in range(b.known - 1):
        result = arithmetic(body, ast.Mult, result, a)
    return result


def negative(body: Body, a: Value) -> Value:
    """Generate `-a`."""
    if a.known is not None:
        return known(-a.known)
    if a.type in (REAL, LANES):
        return Value(a.type, (body.get(f"fneg {body.flags} {a.type.llvm} {a.parts[0]}"),))
    return arithmetic(body, ast.Sub, integer(0), a)


def inverted(body: Body, a: Value) -> Value:
    """Generate `not a`."""
    a = truth(body, a)
    if a.known is not None:
        return boolean(not a.known)
    return Value(
        a.type, (body.get(f"xor {a.type.llvm} {a.parts[0]}, {converted(body, boolean(True), a.type).parts[0]}"),)
    )


def compare(body: Body, operation: type[ast.AST], a: Value, b: Value) -> Value:
    """Generate the comparison `a operation b`."""
    kind = kind_of(a, b)
    if a.known is not None and b.known is not None:
        return boolean(PYTHON[operation](a.known, b.known))
    kind = INTEGER if kind == BOOLEAN else kind
    x, y = (converted(body, value, kind).parts[0] for value in (a, b))
    of_integers, of_reals = COMPARED[operation]
    if kind == INTEGER:
        return Value(BOOLEAN, (body.get(f"icmp {of_integers} i64 {x}, {y}"),))
    found = BOOLEAN if kind == REAL else MASK
    return Value(found, (body.get(f"fcmp {body.flags} {of_reals} {kind.llvm} {x}, {y}"),))


def extreme(body: Body, operation: type[ast.AST], a: Value, b: Value) -> Value:
    """Generate max (ast.Gt) or min (ast.Lt) of two numbers as in Python: the first, unless the second is beyond it."""
    if a.known is not None and b.known is not None:
        return b if PYTHON[operation](b.known, a.known) else a
    kind = kind_of(a, b)
    first, second = converted(body, a, kind), converted(body, b, kind)
    beyond = compare(body, operation, second, first)
    flags = f"{body.flags} " if kind in (REAL, LANES) else ""
    either = ", ".join(f"{kind.llvm} {value.parts[0]}" for value in (second, first))
    return Value(kind, (body.get(f"select {flags}{beyond.type.llvm} {beyond.parts[0]}, {either}"),))
