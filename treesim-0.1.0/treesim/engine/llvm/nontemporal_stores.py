"""LLVM IR that writes large results by nontemporal stores, bypassing the caches, one full cache line at a time.

An ordinary store reads its line from memory first; a nontemporal store of a full line does not. For results
larger than the caches this doubles the throughput. A core has few buffers for such stores and stalls if all
are in use, so the stores are spread over the operations: after each chunk of straight-line code follow the
lines that it completes. Lines are as long as vectors and aligned differently for every state, so their
numbers are collected for one state after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .builder import Function, Module
from .lanes import Lanes
from .memory_techniques import NONTEMPORAL, used
from .prefetch import LINE, array_at
from .values import I32, I64, PTR, VOID, Value, constant, integers

LARGE = 1 << 27  # bytes of a result: smaller ones mostly fit in the caches
LEAST = 256  # numbers of a state: fewer cost less to write than to compute


def worth_it(lanes: Lanes) -> bool:
    """Return whether results of LARGE bytes and more are written by nontemporal stores.

    Only vectors of a full cache line write it by one store. Halves of lines wait for each other in the few
    buffers: on AVX2 (Zen 3) full mass matrices took 1.7 times as long as through the caches.
    """
    return lanes.bytes >= LINE and used(NONTEMPORAL)


class NontemporalResult(NamedTuple):
    """Result array that may be written by nontemporal stores.

    array: index of the array among the function's. size: its numbers for one state. place: address of these
    numbers (see `Placed`). done: for each number, the index of the chunk that computes it.
    """

    array: int
    size: int
    place: int | Value
    done: Sequence[int]


class NontemporalWrite(NamedTuple):
    """Lines of a result that are written together: those that start from index `low` on, before `high`.

    function: takes the table of arrays, first state of the group, end of all states, memory of the lanes from
    `start` on, and low, high.
    """

    function: Function
    start: int
    low: int
    high: int


def nontemporal_writes(module: Module, results: Sequence[NontemporalResult]) -> dict[int, list[NontemporalWrite]]:
    """Return the writes after each chunk; their functions skip arrays that are written by ordinary stores."""
    behind: dict[int, list[NontemporalWrite]] = {}
    for result in results:
        function = _function(module, result)
        start = 0 if isinstance(result.place, Value) else result.place
        for chunk, low, high in schedule(result.done, module.lanes.width):
            behind.setdefault(chunk, []).append(NontemporalWrite(function, start, low, high))
    return behind


def _function(module: Module, result: NontemporalResult) -> Function:
    parameters = f"{PTR} noalias tables, {I64} group, {I64} last, {PTR} noalias lanes, {I64} low, {I64} high"
    f = module.function(f"nontemporal{result.array}", parameters)
    tables, group, last, memory, low, high = f.arguments
    lanes, array = f.lanes, array_at(f, tables, result.array, 0)
    with f.when(f.icmp("ne", array.nontemporal, 0)):
        final = f.sub(last, 1)
        with f.loop(0, lanes.width) as lane:
            wanted = f.add(group, lane.k)
            state = f.select(f.icmp("slt", wanted, final), wanted, final)
            row = f.at(array.here, f.mul(state, array.state), f.number)
            own = f.at(memory, lane.k, f.number)
            address = f.cast("ptrtoint", f.at(row, low, f.number), I64)
            missing = f.both(f.sub(0, address), lanes.bytes - 1)  # bytes up to the next line
            with f.loop(f.add(low, f.udiv(missing, lanes.unit)), high, lanes.width) as line:
                _write_line(f, result, own, line.k, f.at(row, line.k, f.number))
    f.ret()
    return f


def _write_line(f: Function, result: NontemporalResult, own: Value, place: Value, to: Value) -> None:
    """Append a store of one lane's numbers: a full line at once, or a masked part of a line that other states share."""
    lanes, end, ramp = f.lanes, f.label(), integers(range(f.lanes.width))
    with f.when(f.icmp("ult", place, result.size - lanes.width + 1)):
        numbers = _collected(f, _sources(f, result, own, place), constant(1, f.condition))
        f.store(numbers, to, nontemporal=True)
        f.go_to(end)
    sources = _sources(f, result, own, place)
    places = f.add(f.broadcast(f.cast("trunc", place, I32)), ramp)
    there = f.icmp("ult", places, result.size)
    part = _collected(f, sources, there)
    f.library(f"llvm.masked.store.{lanes.suffix}.p0", VOID, part, to, constant(lanes.unit, I32), there)
    f.begin(end)


def _sources(f: Function, result: NontemporalResult, own: Value, place: Value) -> Value:
    """Append the addresses of a line's numbers among the lanes: in order, or by the list."""
    width = f.lanes.width
    if not isinstance(result.place, Value):
        return f.at(f.at(own, f.mul(place, width), f.number), integers(range(0, width * width, width)), f.number)
    listed = f.load(f.at(result.place, place, I32), integers(range(width)).type, align=4)
    return f.at(own, f.mul(listed, width), f.number)


def _collected(f: Function, sources: Value, there: Value) -> Value:
    nothing = Value("undef", f.vector)
    name = f"llvm.masked.gather.{f.lanes.suffix}.v{f.lanes.width}p0"
    return f.library(name, f.vector, sources, constant(f.lanes.unit, I32), there, nothing)


def schedule(done: Sequence[int], width: int) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk, low, high): lines of `width` numbers that start at low .. high - 1 are written after this chunk.

    done: the chunk of each number. Lines wait for all lines after them, or for all before them, whichever is
    sooner, so that many neighbours are written together. A line may begin before the first number, or end after
    the last.
    """
    upwards, downwards = np.maximum.accumulate(done), np.maximum.accumulate(done[::-1])[::-1]
    numbers = np.pad(min(upwards, downwards, key=np.sum), width - 1)
    ready = np.lib.stride_tricks.sliding_window_view(numbers, width).max(axis=1)
    edges = [0, *(np.flatnonzero(np.diff(ready)) + 1).tolist(), len(ready)]
    for low, high in pairwise(edges):
        yield int(ready[low]), low - width + 1, high - width + 1
