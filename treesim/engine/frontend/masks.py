"""Control flow that differs between lanes: assignments under a vector condition change active lanes only.

Each side of an `if` runs if it is active on any lane; a `while` continues as long as it is active on any
lane. Inactive lanes compute, too, and their results are discarded. Integers are equal on all lanes and
cannot change under a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from .bounds import check_within
from .types import (
    BOOLEAN,
    INTEGER,
    LANES,
    MASK,
    REAL,
    WIDTH,
    Array,
    Record,
    Scalar,
    Type,
    Value,
    described,
    items_of,
    record,
    unified,
)

if TYPE_CHECKING:
    from .body import Body

ALL = "splat (i1 true)"


def merged(body: Any, mask: str, yes: Value, no: Value) -> Value:
    """Return `yes` on the lanes of a mask and `no` on the others; also for tuples of numbers."""
    from .lowering import fitted

    kind = unified(on_lanes(yes.type), on_lanes(no.type))
    yes, no = fitted(body, yes, kind), fitted(body, no, kind)
    if isinstance(kind, Record):
        return record([merged(body, mask, x, y) for x, y in zip(items_of(yes), items_of(no), strict=True)], kind.maker)
    if kind not in (LANES, MASK):
        raise UnsupportedError(f"{described(kind)} cannot differ from lane to lane")
    chosen = f"select {MASK.llvm} {mask}, {kind.llvm} {yes.parts[0]}, {kind.llvm} {no.parts[0]}"
    return Value(kind, (body.get(chosen),))


def on_lanes(kind: Type) -> Type:
    """Return the vector type of a scalar type."""
    if isinstance(kind, Record):
        return Record(kind.maker, tuple(map(on_lanes, kind.items)))
    return {BOOLEAN: MASK, REAL: LANES}.get(kind, kind) if isinstance(kind, Scalar) else kind


def may_be_written(kind: Type) -> bool:
    """Return whether a kernel may write to an array in an argument of this type."""
    if isinstance(kind, Array):
        return not kind.constant
    return isinstance(kind, Record) and any(map(may_be_written, kind.items))


def some_active(body: Body, condition: Value) -> Value:
    """Return whether a condition holds on any active lane, see `kernels.algebra.numbers.some`."""
    if condition.type != MASK:
        return condition
    return some(body, Value(MASK, (both(body, body.mask, condition.parts[0]),)))


def some(body: Body, condition: Value) -> Value:
    """Return whether a condition holds on any lane."""
    if condition.type != MASK:
        return condition
    return Value(BOOLEAN, (body.get(f"call i1 @llvm.vector.reduce.or.v{WIDTH}i1({MASK.llvm} {condition.parts[0]})"),))


def both(body: Body, outer: str | None, inner: str) -> str:
    """Return the intersection of two masks; None: all lanes."""
    return inner if outer is None else body.get(f"and {MASK.llvm} {outer}, {inner}")


def where(body: Body, condition: str, write: Callable[[], None]) -> None:
    """Generate code by `write` that is active on the lanes where a condition holds."""
    outer, inside, end = body.mask, body.new("some"), body.new("none")
    mask = both(body, outer, condition)
    body.branch(some(body, Value(MASK, (mask,))).parts[0], inside, end)
    body.begin(inside)
    body.mask = mask
    write()
    body.mask = outer
    body.begin(end)


def all_that_take_part(body: Body) -> str:
    """Return memory for the mask of lanes that continue a loop, initially all active lanes."""
    live = body.reserve(MASK.llvm)
    body.do(f"store {MASK.llvm} {body.mask or ALL}, ptr {live}")
    return live


def going_on(body: Body, live: str, condition: Value) -> Value:
    """Restrict the mask of a loop to the lanes where a condition holds; return whether any lane continues."""
    kept = body.get(f"load {MASK.llvm}, ptr {live}")
    body.mask = body.get(f"and {MASK.llvm} {kept}, {condition.parts[0]}")
    body.do(f"store {MASK.llvm} {body.mask}, ptr {live}")
    return some(body, Value(MASK, (body.mask,)))


def gathered(body: Body, x: Value, k: Value, size: Value, states: Value) -> Value:
    """Generate a gather, see `kernels.algebra.state_lanes`."""
    found = "poison"
    for lane in range(WIDTH):
        number = body.get(f"load double, ptr {_place(body, x, k, size, states, lane)}, align 8")
        found = body.get(f"insertelement {LANES.llvm} {found}, double {number}, i64 {lane}")
    return Value(LANES, (found,))


def scattered(body: Body, x: Value, k: Value, size: Value, states: Value, value: Value) -> Value:
    """Generate a scatter, see `kernels.algebra.state_lanes`."""
    from .arithmetic import converted
    from .types import NONE

    value = converted(body, value, LANES)
    for lane in range(WIDTH):
        number = body.get(f"extractelement {LANES.llvm} {value.parts[0]}, i64 {lane}")
        body.do(f"store double {number}, ptr {_place(body, x, k, size, states, lane)}, align 8")
    return NONE


def _place(body: Body, x: Value, k: Value, size: Value, states: Value, lane: int) -> str:
    """Return the address of number k of the state on one lane."""
    from . import arrays

    if x.type.element != REAL or states.type.element != INTEGER or any(value.type != INTEGER for value in (k, size)):
        raise UnsupportedError("lanes are filled from arrays of real numbers")
    index = body.get(f"getelementptr inbounds i64, ptr {states.parts[0]}, i64 {lane}")
    state = body.get(f"load i64, ptr {index}, align 8")
    row = body.get(f"mul nsw i64 {state}, {size.parts[0]}")
    at = body.get(f"add nsw i64 {row}, {k.parts[0]}")
    check_within(body, Value(INTEGER, (at,)), arrays.size(body, x))
    return body.get(f"getelementptr inbounds double, ptr {x.parts[0]}, i64 {at}")
