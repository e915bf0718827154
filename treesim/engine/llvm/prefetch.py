"""LLVM IR that prefetches: what a group of states writes, and what the next one reads, while the processor computes.

Memory answers a core with a cache line in eight cycles, some dozens of requests may wait, and those in a row hold up
what stands behind them. So requests are spread over the operations. Every lane has an address in each array from where
it goes along in equal steps: where a state's numbers are neighbours, from the state's first number by cache lines;
where the states are neighbours, from one of the first numbers of all states by as many numbers as there are lanes. What
lies at the start has mostly been reached by the row or group before, so lines are asked for by their last byte. There
are as many requests as lines in a row; columns take more of them where vectors are shorter than lines, and the last
ones then go without. An array in another order is asked for in vain, which does no harm: a request never fails. What is
to be written past the caches (`nontemporal_stores`) must not be asked for; memory of our own is, in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .builder import Function
from .lanes import Lanes
from .values import I8, I64, PTR, Operand, Value

EVERY = 24  # operations for one request: more would hold up the operations' own loads
LINE = 64  # bytes of a cache line
At = tuple[Value, Value]  # a step, and the first of a group of states
# an array in the table of arrays: address, strides (see `straight_line`), whether it is to be written past the caches
ROW = (PTR, I64, I64, I64, I64)


class ArrayAt(NamedTuple):
    """An array at a step: where it begins, its strides, in numbers, from number to number and from state to state, and
    whether it is to be written past the caches."""

    here: Value
    element: Value
    state: Value
    nontemporal: Value


def array_at(f: Function, tables: Value, array: int, step: Operand) -> ArrayAt:
    """Read an array's row of the table of arrays."""
    words = [f.load_at(tables, len(ROW) * array + k, kind) for k, kind in enumerate(ROW)]
    start, element, state, each_step, nontemporal = words
    return ArrayAt(f.at(start, f.mul(each_step, step), f.number), element, state, nontemporal)


class Prefetch(NamedTuple):
    """One cache line: of which array, of those asked for; from the start of which lane; how many steps along it."""

    array: int
    lane: int
    along: int


class Prefetched(NamedTuple):
    """An array that is asked for: its number, numbers of a state, whether to write, and whether by nontemporal stores
    if they are used."""

    number: int
    size: int
    writes: bool
    nontemporal: bool = False


class Prefetches:
    """The requests of one kernel, of small arrays first: they are needed whole.

    They need a table, of 8 bytes for each place: for each array and lane the address to start from, then for each array
    the step along.
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
        """Vectors of memory that the table takes."""
        return -(-len(self._asked) * (self._lanes.width + 1) * 8 // self._lanes.bytes)

    def fill_table(self, f: Function, table: Value, tables: Value, read: At, written: At) -> None:
        """Append what fills the table, for the step and the group of states that are read next, and written."""
        for k, asked in enumerate(self._asked):
            step, group = written if asked.writes else read
            self._fill(f, table, k, group, array_at(f, tables, asked.number, step))

    def _fill(self, f: Function, table: Value, k: int, group: Value, array: ArrayAt) -> None:
        first = f.at(array.here, f.add(f.mul(group, array.state), LINE // self._lanes.unit - 1), f.number)
        by_rows = f.icmp("eq", array.element, 1)
        apart = f.select(by_rows, array.state, array.element)
        along = f.select(by_rows, LINE, f.mul(array.element, self._lanes.bytes))
        if self._asked[k].nontemporal:
            ours = f.icmp("ne", array.nontemporal, 0)
            first, apart, along = f.select(ours, table, first), f.select(ours, 0, apart), f.select(ours, 0, along)
        f.store_at(along, table, self._along_place(k))
        for lane in range(self._lanes.width):
            f.store_at(f.at(first, f.mul(apart, lane), f.number), table, k * self._lanes.width + lane)

    def _along_place(self, array: int) -> int:
        return len(self._asked) * self._lanes.width + array

    def spread(self, operations: int) -> dict[int, Prefetch]:
        """Return before which operation each request stands, spread evenly; no more than one for EVERY of them."""
        taken = self._all[: operations // EVERY]
        return {k * operations // len(taken): request for k, request in enumerate(taken)}

    def _places(self, request: Prefetch) -> tuple[int, int, int]:
        """Places in the table of a request's start and of its step along, and how many steps."""
        return request.array * self._lanes.width + request.lane, self._along_place(request.array), request.along

    def places(self, operations: int, parts: int) -> list[tuple[int, int, int]]:
        """Return requests for each of `parts` equal parts of a program, part after part: places in the table of start
        and step along, and how many steps. Too few are repeated."""
        each = max(1, min(operations // (EVERY * parts), -(-len(self._all) // parts)))
        taken = self._all[: each * parts] or [Prefetch(0, 0, 0)]
        return [self._places(taken[k * len(taken) // (each * parts)]) for k in range(each * parts)]

    def ask(self, f: Function, table: Value, request: Prefetch) -> None:
        """Append that a cache line is asked for."""
        start, stride, along = self._places(request)
        first = f.load_at(table, start, PTR)
        line = f.at(first, f.mul(f.load_at(table, stride, I64), along), I8)
        f.prefetch(line, self._asked[request.array].writes)
