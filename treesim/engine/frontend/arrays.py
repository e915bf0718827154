"""Code generation for arrays: elements, slices, reshapes, allocation, and elementwise assignment."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...errors import UnsupportedError
from .arena import fill_byte
from .arithmetic import arithmetic, converted, extreme
from .body import Body, Loop
from .bounds import check_within
from .masks import merged
from .types import (
    CONTIGUOUS,
    INTEGER,
    LANES,
    REAL,
    ROWS,
    STRIDED,
    WIDTH,
    Array,
    Scalar,
    Value,
    described,
    integer,
    made_of,
)

BYTES = 8  # of a number
SMALL = 64  # elements: arrays of constant size up to this are on the stack
# integers are never stored where floats are loaded
ALIAS = {INTEGER: ", !tbaa !1", REAL: ", !tbaa !2", LANES: ", !tbaa !2"}
UNCHANGED = ", !invariant.load !0"
INDEPENDENT = ", !llvm.access.group !8"  # of other accesses in the steps of a loop
AT_ONCE = ", !llvm.loop !9"  # a loop with these accesses only, which needs no tests of overlap


class Range(NamedTuple):
    """Slice of an axis: first element and end; None: start or end of the axis."""

    start: Value | None
    stop: Value | None


def lengths(array: Value) -> list[Value]:
    """Return the length of each axis."""
    return [made_of(INTEGER, (part,)) for part in array.parts[1 : 1 + array.type.axes]]


def strides(body: Body, array: Value) -> list[Value]:
    """Return the strides of the axes, in elements."""
    kind, axes = array.type, array.type.axes
    if kind.layout == CONTIGUOUS:
        found = [integer(1)]
        for length in lengths(array)[:0:-1]:
            found.insert(0, arithmetic(body, ast.Mult, length, found[0]))
        return found[:axes]
    given = [made_of(INTEGER, (part,)) for part in array.parts[1 + axes :]]
    return given if kind.layout == STRIDED else [*given, integer(1)]


def size(body: Body, array: Value) -> Value:
    """Return the number of elements."""
    return product(body, lengths(array))


def product(body: Body, numbers: Sequence[Value]) -> Value:
    """Generate the product of integers."""
    result = integer(1)
    for number in numbers:
        result = arithmetic(body, ast.Mult, result, number)
    return result


def indexed(body: Body, array: Value, indices: Sequence[Value | Range]) -> Value:
    """Generate an index or slice of the first axes, as in NumPy.

    A slice must lie within its axis; negative indices must be literals. With an integer for each axis, the
    result has no axes.
    """
    kind = array.type
    if len(indices) > kind.axes:
        raise UnsupportedError(f"{len(indices)} indices are too many for {described(kind)}")
    places = [*indices, *[Range(None, None)] * (kind.axes - len(indices))]
    offset, kept, rest = integer(0), [], []
    for place, length, stride in zip(places, lengths(array), strides(body, array), strict=True):
        start = _start(body, place, length)
        if not isinstance(place, Range):
            check_within(body, start, length)
        offset = arithmetic(body, ast.Add, offset, arithmetic(body, ast.Mult, start, stride))
        if isinstance(place, Range):
            kept.append(_kept(body, place, start, length))
            rest.append(stride)
    address = array.parts[0]
    if offset.known != 0:
        address = body.get(f"getelementptr inbounds {kind.element.llvm}, ptr {address}, i64 {offset.parts[0]}")
    layout = _layout(kind, places)
    rest = rest[: Array(kind.element, len(kept), layout, kind.constant).strides]
    return Value(
        Array(kind.element, len(kept), layout, kind.constant), (address, *(x.parts[0] for x in (*kept, *rest)))
    )


def _start(body: Body, place: Value | Range, length: Value) -> Value:
    """Return the first selected element of an axis."""
    start = place.start if isinstance(place, Range) else place
    if start is None:
        return integer(0)
    if start.type != INTEGER:
        raise UnsupportedError(f"{described(start.type)} is no index")
    return arithmetic(body, ast.Add, length, start) if start.known is not None and start.known < 0 else start


def _kept(body: Body, place: Range, start: Value, length: Value) -> Value:
    """Return the number of selected elements of an axis."""
    end = arithmetic(body, ast.Add, length, integer(1))  # where an empty slice may begin
    check_within(body, start, end)
    if place.stop is None:
        return length if place.start is None else arithmetic(body, ast.Sub, length, start)
    stop = _start(body, Range(place.stop, None), length)
    check_within(body, stop, end)
    return extreme(body, ast.Gt, arithmetic(body, ast.Sub, stop, start), integer(0))


def _layout(kind: Array, places: Sequence[Value | Range]) -> str:
    """Return the known memory layout of a slice."""
    ranges = [k for k, place in enumerate(places) if isinstance(place, Range)]
    if not ranges:
        return CONTIGUOUS
    whole = all(places[k] == Range(None, None) for k in ranges[1:])
    together = ranges == list(range(ranges[0], kind.axes))
    neighbours = kind.layout != STRIDED and ranges[-1] == kind.axes - 1
    if neighbours and (len(ranges) == 1 or (kind.layout == CONTIGUOUS and whole and together)):
        return CONTIGUOUS
    return ROWS if neighbours else STRIDED


def element(body: Body, array: Value) -> Value:
    """Load the element of an array without axes."""
    kind = array.type.element
    what = UNCHANGED if array.type.constant else ""
    return Value(
        kind, (body.get(f"load {kind.llvm}, ptr {array.parts[0]}, align {BYTES}{ALIAS[kind]}{what}{body.accesses}"),)
    )


def put(body: Body, array: Value, value: Value) -> None:
    """Store a number, or an array of the same shape, in a part of an array."""
    if array.type.constant:
        raise UnsupportedError("a table of the robot's is read only")
    if array.type.axes == 0:
        kind = array.type.element
        value = converted(body, value, kind)
        part = (value if body.mask is None else merged(body, body.mask, value, element(body, array))).parts[0]
        body.do(f"store {kind.llvm} {part}, ptr {array.parts[0]}, align {BYTES}{ALIAS[kind]}{body.accesses}")
    elif isinstance(value.type, Array):
        if value.type.axes != array.type.axes:
            raise UnsupportedError(f"{described(value.type)} is assigned to {described(array.type)}")
        both = [flat(body, x) for x in (array, value)] if _flat(array, value) else [array, value]
        each(body, lengths(both[0]), lambda at: put(body, indexed(body, both[0], at), _read(body, both[1], at)))
    else:
        number = converted(body, value, array.type.element)
        whole = flat(body, array) if _flat(array) else array
        each(body, lengths(whole), lambda at: put(body, indexed(body, whole, at), number))


def _read(body: Body, array: Value, at: Sequence[Value]) -> Value:
    return element(body, indexed(body, array, at))


def _flat(*arrays: Value) -> bool:
    return all(array.type.layout == CONTIGUOUS for array in arrays)


def flat(body: Body, array: Value) -> Value:
    """Return a contiguous array with a single axis."""
    return reshaped(body, array, [size(body, array)])


def each(body: Body, counts: Sequence[Value], write: Callable[[list[Value]], None]) -> None:
    """Generate nested loops up to `counts`; write(indices) generates the body."""

    def nested(at: list[Value]) -> None:
        if len(at) == len(counts):
            write(at)
        else:
            loop(body, integer(0), counts[len(at)], integer(1), lambda k: nested([*at, k]))

    nested([])


def loop(body: Body, start: Value, stop: Value, step: Value, write: Callable[[Value], None]) -> None:
    """Generate a loop over range(start, stop, step); write(counter) generates the body."""
    test, inside, following, end = (body.new(name) for name in ("test", "inside", "next", "end"))
    counter = body.reserve("i64")
    body.do(f"store i64 {start.parts[0]}, ptr {counter}")
    body.begin(test)
    k = body.get(f"load i64, ptr {counter}")
    body.branch(_goes_on(body, k, stop, step), inside, end)
    body.begin(inside)
    body.loops = (*body.loops, Loop(following, end))
    write(Value(INTEGER, (k,)))
    body.loops = body.loops[:-1]
    body.begin(following)
    body.do(f"store i64 {body.get(f'add nsw i64 {k}, {step.parts[0]}')}, ptr {counter}")
    body.jump(test, body.loop_kind)
    body.begin(end)


def independent_loop(body: Body, start: Value, stop: Value, step: Value, write: Callable[[Value], None]) -> None:
    """Generate a loop whose steps access different elements, so that LLVM vectorizes it.

    On lanes it does not, as the elements are vectors already, and LLVM would report on stderr that it failed.
    """
    before, first = body.loop_kind, len(body.lines)

    def write_step(k: Value) -> None:
        write(k)
        if any(LANES.llvm in line for line in body.lines[first:]):
            body.loop_kind = before

    body.loop_kind, body.accesses = AT_ONCE, INDEPENDENT
    try:
        loop(body, start, stop, step, write_step)
    finally:
        body.loop_kind, body.accesses = before, ""


def _goes_on(body: Body, k: str, stop: Value, step: Value) -> str:
    """Generate the condition that a loop continues."""
    up, down = (f"icmp {sign} i64 {k}, {stop.parts[0]}" for sign in ("slt", "sgt"))
    if step.known is not None:
        return body.get(up if step.known > 0 else down)
    rises = body.get(f"icmp sgt i64 {step.parts[0]}, 0")
    return body.get(f"select i1 {rises}, i1 {body.get(up)}, i1 {body.get(down)}")


def reshaped(body: Body, array: Value, shape: Sequence[Value]) -> Value:
    """Reshape a contiguous array; one axis may be -1."""
    kind = array.type
    if kind.layout != CONTIGUOUS:
        raise UnsupportedError("only arrays whose elements follow one another can be reshaped: copy it first")
    given = [length for length in shape if length.known != -1]
    sizes = list(shape)
    if len(given) < len(shape):
        free = arithmetic(body, ast.FloorDiv, size(body, array), product(body, given))
        sizes = [free if length.known == -1 else length for length in shape]
    parts = (array.parts[0], *(x.parts[0] for x in sizes))
    return Value(Array(kind.element, len(sizes), CONTIGUOUS, kind.constant), parts)


def transposed(body: Body, array: Value) -> Value:
    """Return the transpose of a matrix."""
    kind = array.type
    if kind.axes != 2:
        raise UnsupportedError(f"{described(kind)} has no transpose here: it must have two")
    (rows, columns), (down, along) = lengths(array), strides(body, array)
    parts = (array.parts[0], *(x.parts[0] for x in (columns, rows, along, down)))
    return Value(Array(kind.element, 2, STRIDED, kind.constant), parts)


def allocated(body: Body, shape: Sequence[Value], kind: Scalar) -> Value:
    """Allocate an array on the stack if it is small, of constant size, not returned and not in a loop.

    Others are allocated in the arena, the memory of the entry's call.
    """
    count = product(body, shape)
    bytes_ = arithmetic(body, ast.Mult, count, integer(BYTES * (WIDTH if kind == LANES else 1))).parts[0]
    if count.known is not None and count.known <= SMALL and not (body.returns_arrays or body.loops):
        address = body.reserve(f"[{max(count.known, 1)} x {kind.llvm}]", 64)
    else:
        address = body.get(f"call ptr @allocate(ptr %arena, i64 {bytes_})")
        # stored in the arena, since LLVM would otherwise assume that only this function accesses the memory
        body.do(f"store ptr {address}, ptr {body.get('getelementptr ptr, ptr %arena, i64 1')}")
        body.allocates = True
    if (byte := fill_byte()) is not None:
        body.do(f"call void @llvm.memset.p0.i64(ptr {address}, i8 {byte}, i64 {bytes_}, i1 false)")
    return Value(Array(kind, len(shape), CONTIGUOUS, False), (address, *(x.parts[0] for x in shape)))
