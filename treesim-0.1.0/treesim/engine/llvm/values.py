"""Values of LLVM IR: names and constants, with their types."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

VOID, I1, I8, I32, I64, PTR = "void", "i1", "i8", "i32", "i64", "ptr"


class Value(NamedTuple):
    """Operand of instructions: its name, or the text of a constant, and its type."""

    name: str
    type: str


Operand = Value | float


def constant(x: Operand, kind: str) -> Value:
    """Return a number as a value of a type, see `literal`; a value unchanged."""
    return x if isinstance(x, Value) else Value(literal(x, kind), kind)


def integers(numbers: Sequence[int]) -> Value:
    """Return a constant vector of integers."""
    return Value(f"<{', '.join([f'{I32} {k}' for k in numbers])}>", f"<{len(numbers)} x {I32}>")


def pair_of(kind: str) -> str:
    """Return the type of a pair of values of a type."""
    return f"{{ {kind}, {kind} }}"


def literal(number: float, kind: str) -> str:
    """Return LLVM's literal of a number of a type, exact to the bit; of a vector type, in all lanes."""
    if kind[0] == "<":
        element = kind[kind.index(" x ") + 3 : -1]
        return f"splat ({element} {literal(number, element)})"
    if kind[0] == "i":
        return str(int(number))
    exact = struct.unpack("<f", struct.pack("<f", number))[0] if kind == "float" else number
    return f"0x{struct.unpack('>Q', struct.pack('>d', exact))[0]:016X}"


def operand_text(x: Operand, kind: str) -> str:
    """Return the text of an operand without its type."""
    return x.name if isinstance(x, Value) else literal(x, kind)


def common_type(x: Operand, y: Operand) -> str:
    """Return the type of two operands, one of which may be a plain number."""
    return x.type if isinstance(x, Value) else y.type if isinstance(y, Value) else I64


def typed(x: Value) -> str:
    """Return the text of a value with its type."""
    return f"{x.type} {x.name}"


def as_many(kind: str, like: str) -> str:
    """Return a type, or, if `like` is a vector type, the vector type of the same width."""
    return f"{like[: like.index(' x ')]} x {kind}>" if like[0] == "<" else kind
