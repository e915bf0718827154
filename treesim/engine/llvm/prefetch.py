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

EVERY = 24  # operations for one request: more would hold up the operations' own loads
LINE = 64  # bytes of a cache line
CALL = "  call void @llvm.prefetch."  # how a request's line begins, wherever it is made
# address, strides, and whether it is to be written past the caches
TABLE_ROW = (("array", "ptr"), ("element", "i64"), ("state", "i64"), ("step", "i64"), ("nontemporal", "i64"))
POINTERS = """{array}
  {n}.first.number = mul i64 {group}, {n}.state
  {n}.first.new = add i64 {n}.first.number, {new}
  {n}.theirs = getelementptr $NUMBER, ptr {n}.here, i64 {n}.first.new
  {n}.by.rows = icmp eq i64 {n}.element, 1
  {n}.between = select i1 {n}.by.rows, i64 {n}.state, i64 {n}.element
  {n}.columns = mul i64 {n}.element, {bytes}
  {n}.onwards = select i1 {n}.by.rows, i64 {line}, i64 {n}.columns
  {n}.ours = icmp ne i64 {past}, 0
  {n}.first = select i1 {n}.ours, ptr %table, ptr {n}.theirs
  {n}.apart = select i1 {n}.ours, i64 0, i64 {n}.between
  {n}.along = select i1 {n}.ours, i64 0, i64 {n}.onwards
  {n}.along.at = getelementptr i64, ptr %table, i64 {along}
  store i64 {n}.along, ptr {n}.along.at"""
POINTER = """  {n}.start.{l} = mul i64 {n}.apart, {l}
  {n}.lane.{l} = getelementptr $NUMBER, ptr {n}.first, i64 {n}.start.{l}
  {n}.lane.{l}.at = getelementptr ptr, ptr %table, i64 {place}
  store ptr {n}.lane.{l}, ptr {n}.lane.{l}.at"""


class Prefetch(NamedTuple):
    """One cache line: of which array, of those asked for; from the start of which lane; how many steps along it."""

    array: int
    lane: int
    along: int


class Prefetched(NamedTuple):
    """An array that is asked for: its number, whether to write, the names of the step and the group that are wanted,
    and whether code may stream it."""

    number: int
    size: int
    writes: bool
    step: str
    group: str
    nontemporal: bool = False


class Prefetches:
    """The requests of one kernel, of small arrays first: they are needed whole.

    They need a table, of 8 bytes for each place: for each array and lane the address to start from, then for each array
    the step along.
    """

    def __init__(self, asked: Sequence[Prefetched], lanes: int, unit: int) -> None:
        """lanes: numbers of a vector. unit: bytes of a number."""
        self._lanes, self._unit = lanes, unit
        self._asked = sorted((a for a in asked if a.size), key=lambda a: a.size)
        self._all = [
            Prefetch(k, lane, along)
            for k, array in enumerate(self._asked)
            for along in range(-(-array.size * unit // LINE))
            for lane in range(lanes)
        ]

    @property
    def vectors(self) -> int:
        """Vectors of memory that the table takes."""
        return -(-len(self._asked) * (self._lanes + 1) * 8 // (self._lanes * self._unit))

    def table_lines(self) -> str:
        """Return the lines that fill the table at %table."""
        return "\n".join(self._pointers(k, array) for k, array in enumerate(self._asked))

    def _pointers(self, k: int, asked: Prefetched) -> str:
        name = f"%ask{asked.number}"
        lines = [
            POINTERS.format(
                n=name, array="\n".join(array_lines(name, asked.number, asked.step)), group=asked.group,
                bytes=self._lanes * self._unit, line=LINE, new=LINE // self._unit - 1, along=self._along_place(k),
                past=f"{name}.nontemporal" if asked.nontemporal else 0,
            )
        ]  # fmt: skip
        lanes = range(self._lanes)
        return "\n".join([*lines, *(POINTER.format(n=name, l=lane, place=k * self._lanes + lane) for lane in lanes)])

    def _along_place(self, array: int) -> int:
        return len(self._asked) * self._lanes + array

    def spread(self, operations: int) -> dict[int, Prefetch]:
        """Return before which operation each request stands, spread evenly; no more than one for EVERY of them."""
        taken = self._all[: operations // EVERY]
        return {k * operations // len(taken): request for k, request in enumerate(taken)}

    def _places(self, request: Prefetch) -> tuple[int, int, int]:
        """Places in the table of a request's start and of its step along, and how many steps."""
        return request.array * self._lanes + request.lane, self._along_place(request.array), request.along

    def places(self, operations: int, parts: int) -> list[tuple[int, int, int]]:
        """Return requests for each of `parts` equal parts of a program, part after part: places in the table of start
        and step along, and how many steps. Too few are repeated."""
        each = max(1, min(operations // (EVERY * parts), -(-len(self._all) // parts)))
        taken = self._all[: each * parts] or [Prefetch(0, 0, 0)]
        return [self._places(taken[k * len(taken) // (each * parts)]) for k in range(each * parts)]

    def lines(self, name: str, request: Prefetch) -> list[str]:
        """Return the lines that ask for a cache line, with the table at %table; `name` begins all new names."""
        start, stride, along = self._places(request)
        writes = int(self._asked[request.array].writes)
        return [
            f"  {name}.from.at = getelementptr ptr, ptr %table, i64 {start}",
            f"  {name}.from = load ptr, ptr {name}.from.at",
            f"  {name}.along.at = getelementptr i64, ptr %table, i64 {stride}",
            f"  {name}.along = load i64, ptr {name}.along.at",
            f"  {name}.offset = mul i64 {name}.along, {along}",
            f"  {name}.line = getelementptr i8, ptr {name}.from, i64 {name}.offset",
            f"  call void @llvm.prefetch.p0(ptr {name}.line, i32 {writes}, i32 3, i32 1)",
        ]


def without_prefetches(text: str) -> str:
    """Return IR without its requests: what they alone need is left out of machine code."""
    return "\n".join(line for line in text.split("\n") if not line.startswith(CALL))


def array_lines(name: str, array: int, step: str) -> list[str]:
    """Return the lines that read an array's row of %tables, and make {name}.here its address at a step."""
    lines = []
    for word, (label, kind) in enumerate(TABLE_ROW):
        lines += [
            f"  {name}.{label}.at = getelementptr i64, ptr %tables, i64 {len(TABLE_ROW) * array + word}",
            f"  {name}.{label} = load {kind}, ptr {name}.{label}.at",
        ]
    return [
        *lines,
        f"  {name}.offset = mul i64 {name}.step, {step}",
        f"  {name}.here = getelementptr $NUMBER, ptr {name}.array, i64 {name}.offset",
    ]
