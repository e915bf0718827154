"""LLVM IR from a trace in blocks: one function for each template, and a program of records that says what to run.

A block's record holds the number of its function, its own length in bytes, where in memory its operands lie and its
values go, and its entries of the robot's tables. The program is all records in order; one loop calls function after
function. So code grows with the number of templates, not of bodies, and any robot's is compiled in a fraction of a
second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import UnsupportedError
from ..graph.blocks import (
    ENTRY,
    KNOWN,
    LITERAL,
    LOCAL,
    SLOT,
    Blocks,
    BlockTemplate,
    Nodes,
    operand,
)
from ..graph.trace import Trace
from ..primitives import (
    ARITY,
    COS,
    INPUT,
    PRIMITIVES,
    SIN,
    TABLE,
)
from .lanes import Lanes, sine_and_cosine_lines, splat
from .prefetch import Prefetches
from .straight_line import (
    Code,
    distinct,
    results_placed,
    results_prefetched,
    wrapped,
)

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
  br i1 %some, label %block, label %done
block:
  %record = phi ptr [ @records, %entry ], [ %next, %block ]
  %request = phi ptr [ @requests, %entry ], [ %request.next, %block ]
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
  br i1 %more, label %block, label %done
done:
  ret void
}}
"""
# what a block asks for: places in the table of a line's start and of the step along, and how many steps
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
# results that no block writes: to each of `count` places, what the loop's middle makes of its number in the list
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


def looped(
    traced: Trace,
    blocks: Blocks,
    sizes: Sequence[int],
    results: Sequence[int],
    lanes: Lanes,
    carried: int = 0,
    invariant: int = 0,
    quaternions: Sequence[int] = (),
) -> Code:
    """Return the IR of the function `share` of straight_line, for a trace on a TableGraph and its blocks.

    Raises UnsupportedError if the program or its memory takes more than 2 GB. Cost: about 1 us per operation.
    """
    traced, order = distinct(traced, carried)
    asked = Prefetches(results_prefetched(sizes, results), lanes.width, lanes.bytes // lanes.width)
    memory = Memory(traced, blocks, asked.vectors)
    if (memory.slots + traced.inputs + len(traced.results)) * lanes.bytes >= MOST_BYTES:
        raise UnsupportedError("the kernel's values take more than 2 GB")
    texts = [_Step(k, template, blocks.nodes.values, lanes).text() for k, template in enumerate(blocks.templates)]
    texts += [_program(blocks, memory, lanes, asked), *_lists(traced, blocks.nodes, memory, lanes)]
    calls = [f"  %table = getelementptr $VECTOR, ptr %in, i64 {memory.table}\n{asked.table_lines()}"]
    calls += [f"  call void @{name}(ptr %in)" for name in ("program", "copy", "fill")]
    placed = results_placed(results, order, lanes.width)
    return wrapped(texts, calls, memory.slots, sizes, placed, lanes, carried, invariant, quaternions)


# ---- memory


class Memory:
    """Where values lie: the inputs, the table of requests, a slot that is only written to, slots of values that cross,
    the results.

    of_node: the slot of each node, -1 for those that have none. No block writes to a slot that it reads.
    """

    def __init__(self, traced: Trace, blocks: Blocks, table: int) -> None:
        nodes, order = blocks.nodes, blocks.order
        self.inputs = self.table = traced.inputs
        self.unread = self.table + table
        own, first = np.unique(np.array(traced.results, dtype=np.int64), return_index=True)
        computed = nodes.operation[own] > TABLE
        is_result = np.zeros(len(nodes.operation), dtype=bool)
        is_result[own[computed]] = True
        self.of_node = np.full(len(nodes.operation), -1, dtype=np.int64)
        inputs = np.flatnonzero(nodes.operation == INPUT)
        self.of_node[inputs] = nodes.first[inputs]
        places = np.flatnonzero(blocks.crossing & ~is_result[order])
        slots, count = _reused_slots(blocks, places)
        self.of_node[order[places]] = self.unread + 1 + slots
        self.slots = table + 1 + count
        self.out = self.inputs + self.slots
        self.of_node[own[computed]] = self.out + first[computed]


def _reused_slots(blocks: Blocks, places: np.ndarray) -> tuple[np.ndarray, int]:
    """Slots of the values at `places` in order, each free again behind the last block that takes it; how many."""
    users = np.repeat(np.arange(len(blocks.starts) - 1), np.diff(blocks.external_starts))
    last_user = np.zeros(len(blocks.nodes.operation), dtype=np.int64)
    last_user[blocks.externals] = users  # ascending: the last one stays
    last = last_user[blocks.order[places]]
    makers = (np.searchsorted(blocks.starts, places, side="right") - 1).tolist()
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
    """Places in a template's records, in bytes: of the entries of tables, and of the end."""

    entries: int
    size: int


def _record(template: BlockTemplate, unit: int) -> _Record:
    taken = int(np.count_nonzero(template.externals == SLOT))
    entries = -(-(HEAD + 4 * (taken + len(template.stored))) // 8) * 8
    return _Record(entries, -(-(entries + unit * (len(template.externals) - taken)) // 8) * 8)


def _program(blocks: Blocks, memory: Memory, lanes: Lanes, asked: Prefetches) -> str:
    """The loop over all records."""
    layouts = [_record(template, lanes.bytes // lanes.width) for template in blocks.templates]
    sizes = np.zeros(len(blocks.starts) - 1, dtype=np.int64)
    for template, layout in zip(blocks.templates, layouts, strict=True):
        sizes[template.blocks] = layout.size
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if starts[-1] >= MOST_BYTES:
        raise UnsupportedError("the kernel's program takes more than 2 GB")
    records = np.zeros(starts[-1], dtype=np.uint8)
    for k, (template, layout) in enumerate(zip(blocks.templates, layouts, strict=True)):
        content = _contents(blocks, memory, lanes, k, layout)
        records[starts[template.blocks][:, None] + np.arange(layout.size)] = content
    parts = max(1, len(sizes))
    places = asked.places(len(blocks.order), parts)
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


def _contents(blocks: Blocks, memory: Memory, lanes: Lanes, number: int, layout: _Record) -> np.ndarray:
    """The records of all blocks of one template, in rows of bytes."""
    template = blocks.templates[number]
    places = blocks.external_starts[template.blocks][:, None] + np.arange(len(template.externals))
    outside = blocks.externals[places]
    made = blocks.starts[template.blocks][:, None] + template.stored
    slots = memory.of_node[blocks.order[made]]
    slots[slots < 0] = memory.unread
    head = np.tile(np.array([number, layout.size], dtype=np.int32), (len(template.blocks), 1))
    offsets = np.column_stack([memory.of_node[outside[:, template.externals == SLOT]], slots]) * lanes.bytes
    entries = blocks.nodes.first[outside[:, template.externals == ENTRY]]
    values = blocks.nodes.values[entries].astype(np.float32 if lanes.single else np.float64)
    rows = np.zeros((len(template.blocks), layout.size), dtype=np.uint8)
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


# ---- functions of templates


class _Step:
    """Writes the function of one template."""

    def __init__(self, number: int, template: BlockTemplate, literals: np.ndarray, lanes: Lanes) -> None:
        self.number, self.template, self.literals, self.lanes = number, template, literals, lanes
        self.lines: list[str] = []
        self.names: dict[int, str] = {}  # of operands by code
        layout = _record(template, lanes.bytes // lanes.width)
        taken = np.cumsum(template.externals == SLOT)
        entry = np.cumsum(template.externals == ENTRY)
        unit = lanes.bytes // lanes.width
        slots = HEAD + 4 * (taken - 1)
        self.at = np.where(template.externals == SLOT, slots, layout.entries + unit * (entry - 1)).tolist()
        self.stores = HEAD + 4 * int(taken[-1] if len(taken) else 0)

    def text(self) -> str:
        """Return the function's text."""
        for k, row in enumerate(self.template.operations.tolist()):
            self._operation(k, row[0], row[1:])
        for k, local in enumerate(self.template.stored.tolist()):
            self._offset(f"%s{k}", self.stores + 4 * k)
            self.lines += [
                f"  %s{k}.at = getelementptr i8, ptr %to, i64 %s{k}.wide",
                f"  store $VECTOR {self.names[4 * local + LOCAL]}, ptr %s{k}.at, align $BYTES",
            ]
        body = "\n".join(self.lines)
        # no block writes to a slot that it reads
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
