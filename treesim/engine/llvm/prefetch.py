"""LLVM IR of prefetches: memory that a group of states writes, and the next one reads, while the processor computes.

Memory delivers a cache line to a core every eight cycles. Some dozens of requests may be outstanding, and
consecutive ones delay the instructions after them, so requests are spread over the operations. Every lane
has an address in each array and advances by equal steps. If a state's numbers are contiguous, it starts at
the state's first number and advances by cache lines. If the states are contiguous, it starts at one of the
first numbers and advances by as many numbers as there are lanes. The start of a line was mostly loaded with
the row or group before, so lines are requested by their last byte. There are as many requests as lines in a
row. Columns need more if vectors are shorter than lines, and the last ones then get none. For an array in
another order the requests are useless but harmless: a prefetch never fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .builder import Function
from .lanes import Lanes
from .values import I8, I64, PTR, Operand, Value

EVERY = 24  # operations for one request: more requests would delay the operations' loads
LINE = 64  # bytes of a cache line
At = tuple[Value, Value]  # a step, and the first of a group of states
ROW = (PTR, I64, I64, I64)  # of the table of arrays: address, strides (see `straight_line`)


class ArrayAt(NamedTuple):
    """Array at a step.

    here: its address. element, state: strides between numbers and between states, in numbers.
    """

    here: Value
    element: Value
    state: Value


def array_at(f: Function, tables: Value, array: int, step: Operand) -> ArrayAt:
    """Append loads of an array's row in the table of arrays."""
    words = [f.load_at(tables, len(ROW) * array + k, kind) for k, kind in enumerate(ROW)]
    start, element, state, each_step = words
    return ArrayAt(f.at(start, f.mul(each_step, step), f.number), element, state)


class Prefetch(NamedTuple):
    """Request of one cache line: index of the array, lane with the start address, number of steps from there."""

    array: int
    lane: int
    along: int


class Prefetched(NamedTuple):
    """Array to prefetch.

    number: its number. size: numbers of a state. writes: whether it is written.
    """

    number: int
    size: int
    writes: bool


class Prefetches:
    """Prefetch requests of one kernel, small arrays first: they are needed completely.

    They need a table with words of 8 bytes: for each array and lane the start address, then for each array the
    step.
    """

    def __init__(self, asked: Sequence[Prefetched], lanes: Lanes) -> None:
        self._lanes = lanes
        self._asked = sorted((a for a in asked if a.size), key=lambda a: a.size)
        self._all = [
            Prefetch(k, lane, along)
            for k, array in enumerate(self._asked)
            for along in range(-(-array.size * lanes.unit // LINE))
            for lane in range(lanes.width)
        ]

    @property
    def vectors(self) -> int:
        """Vectors of memory of the table."""
        return -(-len(self._asked) * (self._lanes.width + 1) * 8 // self._lanes.bytes)

    def fill_table(self, f: Function, table: Value, tables: Value, read: At, written: At) -> None:
        """Append code that fills the table, for the step and group of states read next (`read`), and `written`."""
        for k, asked in enumerate(self._asked):
            step, group = written if asked.writes else read
            self._fill(f, table, k, group, array_at(f, tables, asked.number, step))

    def _fill(self, f: Function, table: Value, k: int, group: Value, array: ArrayAt) -> None:
        first = f.at(array.here, f.add(f.mul(group, array.state), LINE // self._lanes.unit - 1), f.number)
        by_rows = f.icmp("eq", array.element, 1)
        apart = f.select(by_rows, array.state, array.element)
        along = f.select(by_rows, LINE, f.mul(array.element, self._lanes.bytes))
        f.store_at(along, table, self._along_place(k))
        for lane in range(self._lanes.width):
            f.store_at(f.at(first, f.mul(apart, lane), f.number), table, k * self._lanes.width + lane)

    def _along_place(self, array: int) -> int:
        return len(self._asked) * self._lanes.width + array

    def spread(self, operations: int) -> dict[int, Prefetch]:
        """Return requests by the operation that they precede, spread evenly; at most one for EVERY operations."""
        taken = self._all[: operations // EVERY]
        return {k * operations // len(taken): request for k, request in enumerate(taken)}

    def _places(self, request: Prefetch) -> tuple[int, int, int]:
        """Return the places in the table of a request's start and step, and the number of steps."""
        return request.array * self._lanes.width + request.lane, self._along_place(request.array), request.along

    def places(self, operations: int, parts: int) -> list[tuple[int, int, int]]:
        """Return requests for each of `parts` equal parts of a program, part after part, as places in the table.

        Each is (place of the start, place of the step, number of steps). Too few requests are repeated.
        """
        each = max(1, min(operations // (EVERY * parts), -(-len(self._all) // parts)))
        taken = self._all[: each * parts] or [Prefetch(0, 0, 0)]
        return [self._places(taken[k * len(taken) // (each * parts)]) for k in range(each * parts)]

    def ask(self, f: Function, table: Value, request: Prefetch, distances: dict[tuple[int, int], Value]) -> None:
        """Append a prefetch of a cache line; distances: those from starts that the function has computed before."""
        start, stride, along = self._places(request)
        if (stride, along) not in distances:
            distances[stride, along] = f.mul(f.load_at(table, stride, I64), along)
        line = f.at(f.load_at(table, start, PTR), distances[stride, along], I8)
        f.prefetch(line, self._asked[request.array].writes)
