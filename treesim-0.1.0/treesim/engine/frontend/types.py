"""Types and values in kernels; a value is a type with the LLVM registers or literals of its parts."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...errors import UnsupportedError

CONTIGUOUS, ROWS, STRIDED = "contiguous", "rows", "strided"  # layouts, from the most to the least specific
LAYOUTS = (CONTIGUOUS, ROWS, STRIDED)


class Scalar(NamedTuple):
    """Number type: its name, and LLVM's type."""

    name: str
    llvm: str


BOOLEAN, INTEGER, REAL = Scalar("boolean", "i1"), Scalar("integer", "i64"), Scalar("real", "double")
NUMBERS = (BOOLEAN, INTEGER, REAL)  # each contains those before it


def _lanes_of_processor() -> int:
    """Return the number of doubles in this processor's vectors, at least 4, by NumPy, which is loaded in any case."""
    try:
        features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    except ImportError:
        features = {}
    return 8 if features.get("AVX512F") else 4


WIDTH = _lanes_of_processor()  # lanes of a vector: states that a SIMD kernel processes at once; changes no result
LANES, MASK = Scalar("real on lanes", f"<{WIDTH} x double>"), Scalar("condition on lanes", f"<{WIDTH} x i1>")


class Array(NamedTuple):
    """Array type: elements, number of axes, memory layout, and whether it is constant while a kernel runs.

    Parts: address, the length of each axis, then strides in elements. CONTIGUOUS arrays have no strides, since
    these follow from the lengths; ROWS have none for the last axis, which is contiguous.
    """

    element: Scalar
    axes: int
    layout: str
    constant: bool

    @property
    def strides(self) -> int:
        """Number of strides among the parts."""
        return {CONTIGUOUS: 0, ROWS: self.axes - 1, STRIDED: self.axes}[self.layout]


class Record:
    """Tuple type, of the named-tuple class `maker` if that is not None; its parts are those of its items in order.

    Types of hundreds of parts are used at every call, so derived properties are cached.
    """

    def __init__(self, maker: Any, items: tuple[Any, ...]) -> None:
        self.maker, self.items = maker, items
        self._hash = hash((maker, items))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Record) or self._hash != other._hash:
            return self is other
        return (self.maker, self.items) == (other.maker, other.items)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def parts(self) -> list[str]:
        """LLVM's types of the items' parts."""
        return [part for item in self.items for part in parts_of(item)]

    @cached_property
    def starts(self) -> list[int]:
        """Index of the first part of each item, and the number of parts."""
        found = [0]
        for item in self.items:
            found.append(found[-1] + len(parts_of(item)))
        return found


class Static:
    """Compile-time object, which needs no register: a function, a class, a module, None."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __repr__(self) -> str:
        return f"Static({self.thing!r})"


Type = Any  # Scalar, Array, Record or Static


class Value(NamedTuple):
    """Value: its type, its parts, and its number if it is a constant."""

    type: Type
    parts: tuple[str, ...]
    known: Any = None


NONE = Value(Static(None), ())


def parts_of(kind: Type) -> list[str]:
    """Return LLVM's types of the parts of a value."""
    if isinstance(kind, Scalar):
        return [kind.llvm]
    if isinstance(kind, Array):
        return ["ptr"] + ["i64"] * (kind.axes + kind.strides)
    return kind.parts if isinstance(kind, Record) else []


def items_of(value: Value) -> list[Value]:
    """Return the items of a tuple."""
    return [item_of(value, k) for k in range(len(value.type.items))]


def item_of(value: Value, k: int) -> Value:
    """Return an item of a tuple."""
    start, end = value.type.starts[k], value.type.starts[k + 1]
    return made_of(value.type.items[k], value.parts[start:end])


def made_of(kind: Type, parts: tuple[str, ...]) -> Value:
    """Return the value with given parts; a literal integer, such as a length or -1 in a shape, is a constant."""
    literal = kind == INTEGER and not parts[0].startswith("%")
    return Value(kind, parts, int(parts[0]) if literal else None)


def record(items: list[Value], maker: Any = None) -> Value:
    """Return the tuple of some values."""
    parts = tuple(part for item in items for part in item.parts)
    return Value(Record(maker, tuple(item.type for item in items)), parts)


def integer(number: int) -> Value:
    """Return an integer constant."""
    return Value(INTEGER, (str(number),), number)


def boolean(truth: bool) -> Value:
    """Return a boolean constant."""
    return Value(BOOLEAN, ("true" if truth else "false",), truth)


def real(number: float) -> Value:
    """Return a float constant, written bit by bit."""
    return Value(REAL, ("0x" + struct.pack(">d", number).hex().upper(),), number)


def containing(kinds: Sequence[Scalar]) -> Scalar:
    """Return the common type of numbers; a vector type if one of them is."""
    if LANES in kinds or MASK in kinds:
        return MASK if all(kind in (BOOLEAN, MASK) for kind in kinds) else LANES
    return max(kinds, key=NUMBERS.index)


def unified(a: Type, b: Type) -> Type:
    """Return the type of a variable that is assigned values of two types; raises UnsupportedError if there is none."""
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return containing((a, b))
    if isinstance(a, Array) and isinstance(b, Array) and (a.element, a.axes) == (b.element, b.axes):
        layout = max(a.layout, b.layout, key=LAYOUTS.index)
        return Array(a.element, a.axes, layout, a.constant and b.constant)
    if isinstance(a, Record) and isinstance(b, Record) and (a.maker, len(a.items)) == (b.maker, len(b.items)):
        return Record(a.maker, tuple(map(unified, a.items, b.items)))
    raise UnsupportedError(f"one name stands for {described(a)} and for {described(b)}")


def described(kind: Type) -> str:
    """Return a type in words."""
    if isinstance(kind, Scalar):
        return f"{'an' if kind is INTEGER else 'a'} {kind.name}"
    if isinstance(kind, Array):
        return f"an array of {kind.element.name}s with {kind.axes} axes"
    if isinstance(kind, Record):
        return f"a tuple of {len(kind.items)}" if kind.maker is None else f"a {kind.maker.__name__}"
    return repr(kind.thing)
