"""LLVM IR from a trace in segments: one function for each shape, and a program of records that says what to run.

A segment's record holds the number of its function, its own length in bytes, where in memory its operands lie and its
values go, and its entries of the robot's tables. The program is all records in order; one loop calls function after
function. So code grows with the number of shapes, not of bodies, and any robot's is compiled in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import UnsupportedError
from .lanes import Lanes, sine_and_cosine_lines, splat
from .primitives import ARITY, COS, INPUT, PRIMITIVES, SIN, TABLE
from .requests import Requests
from .segments import ENTRY, KNOWN, LITERAL, LOCAL, SLOT, Nodes, Segments, Shape, operand
from .straight_line import Code, distinct, results_asked, results_placed, wrapped
from .trace import Trace

HEAD = 8  # bytes of a record before its offsets: number of the function, length
MOST_BYTES = 2**31  # what offsets of 32 bits reach

PROGRAM = """
%request = type {{ i32, i32, i32 }}
@records = internal constant [{size} x i8] {records}, align 64
@steps = internal constant [{count} x ptr] [{steps}]
@requests = internal constant [{requests} x %request] [{listed}]

define internal void @program(ptr %memory) noinline nounwind {{
entry:
  %table = getelementptr $VECTOR, ptr %memory, i64 {table}
  %end = getelementptr i8, ptr @records, i64 {size}
  %some = icmp ne i64 {size}, 0
  br i1 %some, label %segment, label %done
segment:
  %record = phi ptr [ @records, %entry ], [ %next, %segment ]
  %request = phi ptr [ @requests, %entry ], [ %request.next, %segment ]
{asked}
  %request.next = getelementptr %request, ptr %request, i64 {each}
  %number = load i32, ptr %record, align 8
  %length.at = getelementptr i8, ptr %record, i64 4
  %length = load i32, ptr %length.at, align 4
  %index = zext i32 %number to i64
  %step.at = getelementptr ptr, ptr @steps, i64 %index
  %step = load ptr, ptr %step.at
  call void %step(ptr %memory, ptr %memory, ptr %record)
  %bytes = zext i32 %length to i64
  %next = getelementptr i8, ptr %record, i64 %bytes
  %more = icmp ne ptr %next, %end
  br i1 %more, label %segment, label %done
done:
  ret void
}}
"""
# what a segment asks for: places in the table of a line's start and of the step along, and how many steps
REQUEST = """  %asked.{k} = getelementptr %request, ptr %request, i64 {k}
  %parts.{k} = load %request, ptr %asked.{k}
  %from.place.{k} = extractvalue %request %parts.{k}, 0
  %from.at.{k} = getelementptr ptr, ptr %table, i32 %from.place.{k}
  %from.{k} = load ptr, ptr %from.at.{k}
  %stride.place.{k} = extractvalue %request %parts.{k}, 1
  %stride.at.{k} = getelementptr i64, ptr %table, i32 %stride.place.{k}
  %stride.{k} = load i64, ptr %stride.at.{k}
  %along.{k} = extractvalue %request %parts.{k}, 2
  %along.wide.{k} = zext i32 %along.{k} to i64
  %offset.{k} = mul i64 %stride.{k}, %along.wide.{k}
  %line.{k} = getelementptr i8, ptr %from.{k}, i64 %offset.{k}
  call void @llvm.prefetch.p0(ptr %line.{k}, i32 1, i32 3, i32 1)"""
# results that no segment writes: to each of `count` places, what the loop's middle makes of its number in the list
LIST = """
@{name}.list = internal constant [{size} x i8] {data}, align 64

define internal void @{name}(ptr %memory) noinline nounwind {{
entry:
  %some = icmp ne i64 {count}, 0
  br i1 %some, label %one, label %done
one:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %to.entry = getelementptr i32, ptr @{name}.list, i64 %k
  %to.offset = load i32, ptr %to.entry, align 4
  %to.wide = zext i32 %to.offset to i64
  %to = getelementptr i8, ptr %memory, i64 %to.wide
  %sources = getelementptr i8, ptr @{name}.list, i64 {sources}
{middle}
  store $VECTOR %value, ptr %to, align $BYTES
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, {count}
  br i1 %more, label %one, label %done
done:
  ret void
}}
"""
COPIED = """  %from.entry = getelementptr i32, ptr %sources, i64 %k
  %from.offset = load i32, ptr %from.entry, align 4
  %from.wide = zext i32 %from.offset to i64
  %from = getelementptr i8, ptr %memory, i64 %from.wide
  %value = load $VECTOR, ptr %from, align $BYTES"""
FILLED = """  %from = getelementptr $NUMBER, ptr %sources, i64 %k
  %number = load $NUMBER, ptr %from
  %single = insertelement $VECTOR undef, $NUMBER %number, i32 0
  %value = shufflevector $VECTOR %single, $VECTOR undef, <$LANES x i32> zeroinitializer"""


def rolled(
    traced: Trace,
    segments: Segments,
    sizes: Sequence[int],
    results: Sequence[int],
    lanes: Lanes,
    fed_back: int = 0,
    held: int = 0,
    quaternions: Sequence[int] = (),
) -> Code:
    """Return the IR of the function `share` of straight_line, for a trace on a TableGraph and its segments.

    Raises UnsupportedError if the program or its memory takes more than 2 GB. Cost: about 1 us per operation.
    """
    traced, order = distinct(traced, fed_back)
    asked = Requests(results_asked(sizes, results), lanes.width, lanes.bytes // lanes.width)
    memory = Memory(traced, segments, asked.vectors)
    if (memory.slots + traced.inputs + len(traced.results)) * lanes.bytes >= MOST_BYTES:
        raise UnsupportedError("the kernel's values take more than 2 GB")
    texts = [_Step(k, shape, segments.nodes.values, lanes).text() for k, shape in enumerate(segments.shapes)]
    texts += [_program(segments, memory, lanes, asked), *_lists(traced, segments.nodes, memory, lanes)]
    calls = [f"  %table = getelementptr $VECTOR, ptr %in, i64 {memory.table}\n{asked.table_lines()}"]
    calls += [f"  call void @{name}(ptr %in)" for name in ("program", "copy", "fill")]
    placed = results_placed(results, order, lanes.width)
    return wrapped(texts, calls, memory.slots, sizes, placed, lanes, fed_back, held, quaternions)


# ---- memory


class Memory:
    """Where values lie: the inputs, the table of requests, a slot that is only written to, slots of values that cross,
    the results.

    of_node: the slot of each node, -1 for those that have none. No segment writes to a slot that it reads.
    """

    def __init__(self, traced: Trace, segments: Segments, table: int) -> None:
        nodes, order = segments.nodes, segments.order
        self.inputs = self.table = traced.inputs
        self.unread = self.table + table
        own, first = np.unique(np.array(traced.results, dtype=np.int64), return_index=True)
        computed = nodes.operation[own] > TABLE
        is_result = np.zeros(len(nodes.operation), dtype=bool)
        is_result[own[computed]] = True
        self.of_node = np.full(len(nodes.operation), -1, dtype=np.int64)
        inputs = np.flatnonzero(nodes.operation == INPUT)
        self.of_node[inputs] = nodes.first[inputs]
        places = np.flatnonzero(segments.crossing & ~is_result[order])
        slots, count = _reused_slots(segments, places)
        self.of_node[order[places]] = self.unread + 1 + slots
        self.slots = table + 1 + count
        self.out = self.inputs + self.slots
        self.of_node[own[computed]] = self.out + first[computed]


def _reused_slots(segments: Segments, places: np.ndarray) -> tuple[np.ndarray, int]:
    """Slots of the values at `places` in order, each free again behind the last segment that takes it; how many."""
    users = np.repeat(np.arange(len(segments.starts) - 1), np.diff(segments.external_starts))
    last_user = np.zeros(len(segments.nodes.operation), dtype=np.int64)
    last_user[segments.externals] = users  # ascending: the last one stays
    last = last_user[segments.order[places]]
    makers = (np.searchsorted(segments.starts, places, side="right") - 1).tolist()
    by_end = np.argsort(last, kind="stable").tolist()
    ends = last[by_end].tolist()
    slots, free, done = [0] * len(places), [], 0
    count = 0
    for k, maker in enumerate(makers):
        while done < len(ends) and ends[done] < maker:
            free.append(slots[by_end[done]])
            done += 1
        if free:
            slots[k] = free.pop()
        else:
            slots[k] = count
            count += 1
    return np.array(slots, dtype=np.int64), count


# ---- the program


class _Record(NamedTuple):
    """Places in a shape's records, in bytes: of the entries of tables, and of the end."""

    entries: int
    size: int


def _record(shape: Shape, unit: int) -> _Record:
    taken = int(np.count_nonzero(shape.externals == SLOT))
    entries = -(-(HEAD + 4 * (taken + len(shape.stored))) // 8) * 8
    return _Record(entries, -(-(entries + unit * (len(shape.externals) - taken)) // 8) * 8)


def _program(segments: Segments, memory: Memory, lanes: Lanes, asked: Requests) -> str:
    """The loop over all records."""
    layouts = [_record(shape, lanes.bytes // lanes.width) for shape in segments.shapes]
    sizes = np.zeros(len(segments.starts) - 1, dtype=np.int64)
    for shape, layout in zip(segments.shapes, layouts, strict=True):
        sizes[shape.segments] = layout.size
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if starts[-1] >= MOST_BYTES:
        raise UnsupportedError("the kernel's program takes more than 2 GB")
    records = np.zeros(starts[-1], dtype=np.uint8)
    for k, (shape, layout) in enumerate(zip(segments.shapes, layouts, strict=True)):
        content = _contents(segments, memory, lanes, k, layout)
        records[starts[shape.segments][:, None] + np.arange(layout.size)] = content
    parts = max(1, len(sizes))
    places = asked.places(len(segments.order), parts)
    each = len(places) // parts
    return PROGRAM.format(
        requests=len(places),
        listed=", ".join(f"%request {{ i32 {a}, i32 {b}, i32 {c} }}" for a, b, c in places),
        asked="\n".join(REQUEST.format(k=k) for k in range(each)),
        each=each,
        table=memory.table,
        size=len(records),
        records=_literal(records.tobytes()),
        count=len(layouts),
        steps=", ".join(f"ptr @step{k}" for k in range(len(layouts))),
    )


def _contents(segments: Segments, memory: Memory, lanes: Lanes, number: int, layout: _Record) -> np.ndarray:
    """The records of all segments of one shape, in rows of bytes."""
    shape = segments.shapes[number]
    places = segments.external_starts[shape.segments][:, None] + np.arange(len(shape.externals))
    outside = segments.externals[places]
    made = segments.starts[shape.segments][:, None] + shape.stored
    slots = memory.of_node[segments.order[made]]
    slots[slots < 0] = memory.unread
    head = np.tile(np.array([number, layout.size], dtype=np.int32), (len(shape.segments), 1))
    offsets = np.column_stack([memory.of_node[outside[:, shape.externals == SLOT]], slots]) * lanes.bytes
    entries = segments.nodes.first[outside[:, shape.externals == ENTRY]]
    values = segments.nodes.values[entries].astype(np.float32 if lanes.single else np.float64)
    rows = np.zeros((len(shape.segments), layout.size), dtype=np.uint8)
    ints = np.column_stack([head, offsets.astype(np.int32)])
    rows[:, : ints.shape[1] * 4] = _bytes(ints)
    rows[:, layout.entries : layout.entries + values.shape[1] * values.itemsize] = _bytes(values)
    return rows


def _bytes(rows: np.ndarray) -> np.ndarray:
    return np.frombuffer(np.ascontiguousarray(rows).tobytes(), dtype=np.uint8).reshape(len(rows), -1)


def _literal(data: bytes) -> str:
    """LLVM's text of an array of bytes."""
    return 'c"\\' + data.hex("\\") + '"' if data else "zeroinitializer"


def _lists(traced: Trace, nodes: Nodes, memory: Memory, lanes: Lanes) -> list[str]:
    """What copies results that are inputs, or stand in several places, and fills in those that are known."""
    results = np.array(traced.results, dtype=np.int64)
    places = memory.out + np.arange(len(results))
    known = np.isin(nodes.operation[results], KNOWN)
    copied = ~known & (memory.of_node[results] != places)
    numbers = nodes.values[nodes.first[results[known]]]
    values = numbers.astype(np.float32 if lanes.single else np.float64)
    sources = (memory.of_node[results[copied]] * lanes.bytes).astype(np.int32)
    return [
        _list("copy", places[copied] * lanes.bytes, sources, COPIED),
        _list("fill", places[known] * lanes.bytes, values, FILLED),
    ]


def _list(name: str, targets: np.ndarray, sources: np.ndarray, middle: str) -> str:
    start = -(-4 * len(targets) // 8) * 8
    data = targets.astype(np.int32).tobytes().ljust(start, b"\0") + sources.tobytes()
    return LIST.format(
        name=name, size=len(data), data=_literal(data), count=len(targets), sources=start, middle=middle
    )  # fmt: skip


# ---- functions of shapes


class _Step:
    """Writes the function of one shape."""

    def __init__(self, number: int, shape: Shape, literals: np.ndarray, lanes: Lanes) -> None:
        self.number, self.shape, self.literals, self.lanes = number, shape, literals, lanes
        self.lines: list[str] = []
        self.names: dict[int, str] = {}  # of operands by code
        layout = _record(shape, lanes.bytes // lanes.width)
        taken = np.cumsum(shape.externals == SLOT)
        entry = np.cumsum(shape.externals == ENTRY)
        unit = lanes.bytes // lanes.width
        slots = HEAD + 4 * (taken - 1)
        self.at = np.where(shape.externals == SLOT, slots, layout.entries + unit * (entry - 1)).tolist()
        self.stores = HEAD + 4 * int(taken[-1] if len(taken) else 0)

    def text(self) -> str:
        """Return the function's text."""
        for k, row in enumerate(self.shape.operations.tolist()):
            self._operation(k, row[0], row[1:])
        for k, local in enumerate(self.shape.stored.tolist()):
            self._offset(f"%s{k}", self.stores + 4 * k)
            self.lines += [
                f"  %s{k}.at = getelementptr i8, ptr %to, i64 %s{k}.wide",
                f"  store $VECTOR {self.names[4 * local + LOCAL]}, ptr %s{k}.at, align $BYTES",
            ]
        body = "\n".join(self.lines)
        # no segment writes to a slot that it reads
        arguments = "ptr noalias %from, ptr noalias %to, ptr noalias %record"
        return (
            f"define internal void @step{self.number}({arguments}) noinline nounwind alignstack(64) {{\n"
            f"{body}\n  ret void\n}}"
        )

    def _operation(self, k: int, operation: int, codes: list[int]) -> None:
        code = 4 * k + LOCAL
        if operation in (SIN, COS):
            pair = f"%sincos{codes[0]}"
            if pair not in self.names.values():
                self.names[-codes[0] - 2] = pair
                self.lines += sine_and_cosine_lines(pair, self._value(codes[0]))
            self.names[code] = f"{pair}.{int(operation == COS)}"
            return
        values = [self._value(c) for c in codes[: ARITY[operation]]]
        self.names[code] = f"%n{k}"
        self.lines += PRIMITIVES[operation].llvm(f"%n{k}", values)

    def _value(self, code: int) -> str:
        if code not in self.names:
            kind, which = operand(code)
            if kind == LITERAL:
                self.names[code] = splat(float(self.literals[which]), self.lanes.single)
            else:
                self._load(f"%e{which}", kind, self.at[which])
                self.names[code] = f"%e{which}"
        return self.names[code]

    def _load(self, name: str, kind: int, at: int) -> None:
        if kind == SLOT:
            self._offset(name, at)
            self.lines += [
                f"  {name}.at = getelementptr i8, ptr %from, i64 {name}.wide",
                f"  {name} = load $VECTOR, ptr {name}.at, align $BYTES",
            ]
        else:
            self.lines += [
                f"  {name}.at = getelementptr i8, ptr %record, i64 {at}",
                f"  {name}.number = load $NUMBER, ptr {name}.at",
                f"  {name}.single = insertelement $VECTOR undef, $NUMBER {name}.number, i32 0",
                f"  {name} = shufflevector $VECTOR {name}.single, $VECTOR undef, <$LANES x i32> zeroinitializer",
            ]

    def _offset(self, name: str, at: int) -> None:
        self.lines += [
            f"  {name}.offset.at = getelementptr i8, ptr %record, i64 {at}",
            f"  {name}.offset = load i32, ptr {name}.offset.at, align 4",
            f"  {name}.wide = zext i32 {name}.offset to i64",
        ]
