"""Looped LLVM IR of a trace in blocks: one function for each template, and a program of records to run.

A block's record contains the number of its function, its length in bytes, the memory offsets of its
operands and values, and its entries of the robot's tables. The program is the sequence of all records; one
loop calls function after function. Code grows with the number of templates, not of bodies, so that of any
robot compiles in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from .batch_loop import BatchLoop, Group
from .builder import Function, Module
from .lanes import Lanes
from .prefetch import At, Prefetches
from .straight_line import Code, code_of, distinct, results_placed, results_prefetched
from .values import I8, I32, I64, PTR, Value, constant

HEAD = 8  # bytes of a record before its offsets: number of the function, length
MOST_BYTES = 2**31  # range of 32-bit offsets


def looped(
    module: Module,
    traced: Trace,
    blocks: Blocks,
    sizes: Sequence[int],
    results: Sequence[int],
    carried: int = 0,
    invariant: int = 0,
    quaternions: Sequence[int] = (),
) -> Code:
    """Write an empty module's code: the function `share` of straight_line, for a trace on a TableGraph and its blocks.

    Raises UnsupportedError if the program or its memory takes more than 2 GB. Cost: about 1 us per operation.
    """
    lanes = module.lanes
    traced, order = distinct(traced, carried)
    asked = Prefetches(results_prefetched(sizes, results), lanes)
    memory = Memory(traced, blocks, asked.vectors)
    _check_size((memory.slots + traced.inputs + len(traced.results)) * lanes.bytes, "values take")
    steps = [
        _Step(module, k, template, blocks.nodes.values, _offsets(blocks, memory, lanes, template))
        for k, template in enumerate(blocks.templates)
    ]
    parts = [_program(module, blocks, memory, asked, [step.write() for step in steps])]
    parts += _lists(module, traced, blocks.nodes, memory)

    def work(group: Group, read: At, written: At) -> None:
        f = group.code
        asked.fill_table(f, f.at(group.inputs, memory.table), group.tables, read, written)
        for part in parts:
            f.call(part, group.inputs)

    placed = results_placed(module, results, order)
    return code_of(BatchLoop(module, work, memory.slots, sizes, placed, carried, invariant), quaternions)


def _check_size(size: int, what: str) -> None:
    if size >= MOST_BYTES:
        raise UnsupportedError(f"the kernel's {what} more than 2 GB")


# ---- memory


class Memory:
    """Memory layout of values: inputs, table of prefetches, a write-only slot, slots between blocks, results.

    of_node: slot of each node, -1 for none. No block writes to a slot that it reads.
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
    """Return slots of the values at `places`, each free again after its last use, and their number."""
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
    """Offsets in a template's records [bytes]: of the entries of tables, and of the end."""

    entries: int
    size: int


def _record(template: BlockTemplate, unit: int) -> _Record:
    taken = int(np.count_nonzero(template.externals == SLOT))
    entries = -(-(HEAD + 4 * (taken + len(template.stored))) // 8) * 8
    return _Record(entries, -(-(entries + unit * (len(template.externals) - taken)) // 8) * 8)


def _program(module: Module, blocks: Blocks, memory: Memory, asked: Prefetches, steps: Sequence[Function]) -> Function:
    """Write the loop over all records."""
    layouts = [_record(template, module.lanes.unit) for template in blocks.templates]
    sizes = np.zeros(len(blocks.starts) - 1, dtype=np.int64)
    for template, layout in zip(blocks.templates, layouts, strict=True):
        sizes[template.blocks] = layout.size
    starts = np.concatenate([[0], np.cumsum(sizes)])
    _check_size(starts[-1], "program takes")
    records = np.zeros(starts[-1], dtype=np.uint8)
    for k, (template, layout) in enumerate(zip(blocks.templates, layouts, strict=True)):
        content = _contents(blocks, memory, module.lanes, k, layout)
        records[starts[template.blocks][:, None] + np.arange(layout.size)] = content
    parts = max(1, len(sizes))
    requests = np.array(asked.places(len(blocks.order), parts)).reshape(parts, -1)
    return _program_loop(module, memory.table, records, len(sizes), requests, steps)


def _program_loop(
    module: Module, table: int, records: np.ndarray, count: int, requests: np.ndarray, steps: Sequence[Function]
) -> Function:
    """Write the loop over `count` records; requests: rows of places in the table of prefetches, for each record."""
    first = module.array("records", records, I8, align=64)
    functions = module.addresses("steps", steps)
    asked = module.array("requests", requests, I32)
    f = module.function("program", f"{PTR} memory")
    [memory] = f.arguments
    starts = f.at(memory, table)
    with f.loop(0, count, carried=[first, asked]) as loop:
        record, request = loop.values
        for k in range(0, requests.shape[1], 3):
            start, stride, along = (f.load_at(request, k + j, I32) for j in range(3))
            offset = f.mul(f.load_at(starts, stride, I64), f.cast("zext", along, I64))
            f.prefetch(f.at(f.load_at(starts, start, PTR), offset, I8), writes=True)
        number, length = f.load(record, I32), f.load_at(record, 1, I32)
        step = f.load_at(functions, f.cast("zext", number, I64), PTR)
        f.call_at(step, memory, memory, record)
        loop.values = [f.at(record, f.cast("zext", length, I64), I8), f.at(request, requests.shape[1], I32)]
    f.ret()
    return f


def _contents(blocks: Blocks, memory: Memory, lanes: Lanes, number: int, layout: _Record) -> np.ndarray:
    """Return the records of all blocks of one template, as rows of bytes."""
    template = blocks.templates[number]
    head = np.tile(np.array([number, layout.size], dtype=np.int32), (len(template.blocks), 1))
    offsets = _offsets(blocks, memory, lanes, template)
    entries = blocks.nodes.first[_outside(blocks, template)[:, template.externals == ENTRY]]
    values = blocks.nodes.values[entries].astype(np.float32 if lanes.single else np.float64)
    rows = np.zeros((len(template.blocks), layout.size), dtype=np.uint8)
    ints = np.column_stack([head, offsets.astype(np.int32)])
    rows[:, : ints.shape[1] * 4] = _bytes(ints)
    rows[:, layout.entries : layout.entries + values.shape[1] * values.itemsize] = _bytes(values)
    return rows


def _outside(blocks: Blocks, template: BlockTemplate) -> np.ndarray:
    """Return the nodes that the blocks of a template take from outside, one row each."""
    places = blocks.external_starts[template.blocks][:, None] + np.arange(len(template.externals))
    return blocks.externals[places]


def _offsets(blocks: Blocks, memory: Memory, lanes: Lanes, template: BlockTemplate) -> np.ndarray:
    """Return the offsets in memory [bytes] of what the blocks of a template load and store, one row each."""
    made = blocks.starts[template.blocks][:, None] + template.stored
    slots = memory.of_node[blocks.order[made]]
    slots[slots < 0] = memory.unread
    loaded = _outside(blocks, template)[:, template.externals == SLOT]
    return np.column_stack([memory.of_node[loaded], slots]) * lanes.bytes


def _bytes(rows: np.ndarray) -> np.ndarray:
    return np.frombuffer(np.ascontiguousarray(rows).tobytes(), dtype=np.uint8).reshape(len(rows), -1)


def _lists(module: Module, traced: Trace, nodes: Nodes, memory: Memory) -> list[Function]:
    """Write functions that copy results which are inputs or occur several times, and fill in constant ones."""
    lanes = module.lanes
    results = np.array(traced.results, dtype=np.int64)
    places = memory.out + np.arange(len(results))
    known = np.isin(nodes.operation[results], KNOWN)
    copied = ~known & (memory.of_node[results] != places)
    numbers = nodes.values[nodes.first[results[known]]]
    sources = module.array("copy_from", memory.of_node[results[copied]] * lanes.bytes, I32)
    values = module.array("fill_from", numbers, lanes.number)

    def at_offset(f: Function, offsets: Value, k: Value) -> Value:
        return f.at(f.arguments[0], f.cast("zext", f.load_at(offsets, k, I32), I64), I8)

    def write(name: str, targets: np.ndarray, value: Callable[[Function, Value], Value]) -> Function:
        offsets = module.array(f"{name}_to", targets * lanes.bytes, I32)
        f = module.function(name, f"{PTR} memory")
        with f.loop(0, len(targets)) as loop:
            f.store(value(f, loop.k), at_offset(f, offsets, loop.k))
        f.ret()
        return f

    functions = []
    if copied.any():
        functions.append(write("copy", places[copied], lambda f, k: f.load(at_offset(f, sources, k))))
    if known.any():
        functions.append(write("fill", places[known], lambda f, k: f.broadcast(f.load_at(values, k, f.number))))
    return functions


# ---- functions of templates


class _Step:
    """Writer of the function of one template; offsets that all of its blocks share are constants in it."""

    def __init__(
        self, module: Module, number: int, template: BlockTemplate, literals: np.ndarray, offsets: np.ndarray
    ) -> None:
        self.template, self.literals = template, literals
        same = (offsets == offsets[0]).all(axis=0)  # of all blocks: not read from their records
        self.offsets = [at if known else None for at, known in zip(offsets[0].tolist(), same.tolist(), strict=True)]
        # no block writes to a slot that it reads
        parameters = f"{PTR} noalias from, {PTR} noalias to, {PTR} noalias record"
        self.f = module.function(f"step{number}", parameters, aligned_stack=True)
        self.values: dict[int, Value] = {}  # of operands by code
        self.sines: dict[int, tuple[Value, Value]] = {}  # and cosines, by code of the angle
        unit = module.lanes.unit
        layout = _record(template, unit)
        taken = np.cumsum(template.externals == SLOT)
        entry = np.cumsum(template.externals == ENTRY)
        slots = HEAD + 4 * (taken - 1)
        self.at = np.where(template.externals == SLOT, slots, layout.entries + unit * (entry - 1)).tolist()
        self.stores = HEAD + 4 * int(taken[-1] if len(taken) else 0)

    def write(self) -> Function:
        """Write the function."""
        for k, row in enumerate(self.template.operations.tolist()):
            self.values[4 * k + LOCAL] = self._operation(row[0], row[1:])
        for k, local in enumerate(self.template.stored.tolist()):
            self.f.store(self.values[4 * local + LOCAL], self._slot(self.f.arguments[1], self.stores + 4 * k))
        self.f.ret()
        return self.f

    def _operation(self, operation: int, codes: list[int]) -> Value:
        if operation not in (SIN, COS):
            return PRIMITIVES[operation].llvm(self.f, *[self._value(c) for c in codes[: ARITY[operation]]])
        if codes[0] not in self.sines:  # both are computed together
            self.sines[codes[0]] = self.f.helper_pair("sine_and_cosine", self._value(codes[0]))
        return self.sines[codes[0]][operation == COS]

    def _value(self, code: int) -> Value:
        if code not in self.values:
            kind, which = operand(code)
            if kind == LITERAL:
                self.values[code] = constant(float(self.literals[which]), self.f.vector)
            elif kind == SLOT:
                self.values[code] = self.f.load(self._slot(self.f.arguments[0], self.at[which]))
            else:
                entry = self.f.load(self.f.at(self.f.arguments[2], self.at[which], I8), self.f.number)
                self.values[code] = self.f.broadcast(entry)
        return self.values[code]

    def _slot(self, memory: Value, at: int) -> Value:
        """Append the address of a value, from the offset at a place in the record."""
        known = self.offsets[(at - HEAD) // 4]
        if known is not None:
            return self.f.at(memory, known, I8)
        offset = self.f.load(self.f.at(self.f.arguments[2], at, I8), I32)
        return self.f.at(memory, self.f.cast("zext", offset, I64), I8)
