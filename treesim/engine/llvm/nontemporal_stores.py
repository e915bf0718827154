"""LLVM IR that writes large results past the caches, by nontemporal stores, each line once all its numbers are there.

An ordinary store has its line read from memory first. A line that is written as a whole, by one such store, is
not: where a result is larger than the caches, twice as many are written in the same time. Such stores wait in few
places of a core, though, and while none is free nothing else goes on, so they are spread over the operations: behind
each chunk of straight-line code go those lines whose last number it has made. Lines are as long as vectors, and lie
differently for every state, so their numbers are collected for one state after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..memory_techniques import NONTEMPORAL, used
from .lanes import Lanes
from .prefetch import LINE, array_lines

LARGE = 1 << 27  # bytes of a result that are worth it: caches hold enough of smaller ones
LEAST = 256  # numbers of a state: fewer cost less to write than to compute
FUNCTION = """
; the lines of array {array} that start at places low .. high - 1 of a state's numbers, if it is to be written so
define internal void @nontemporal{array}(ptr noalias %tables, i64 %group, i64 %last, ptr noalias %lanes, i64 %low, \
i64 %high) noinline nounwind {{
entry:
{table}
  %nontemporal = icmp ne i64 %a.nontemporal, 0
  %final = sub i64 %last, 1
  br i1 %nontemporal, label %state, label %end
state:
  %lane = phi i64 [ 0, %entry ], [ %lane.next, %state.end ]
  %wanted = add i64 %group, %lane
  %inside = icmp slt i64 %wanted, %final
  %index = select i1 %inside, i64 %wanted, i64 %final
  %first = mul i64 %index, %a.state
  %row = getelementptr $NUMBER, ptr %a.here, i64 %first
  %own = getelementptr $NUMBER, ptr %lanes, i64 %lane
  %from = getelementptr $NUMBER, ptr %row, i64 %low
  %address = ptrtoint ptr %from to i64
  %back = sub i64 0, %address
  %missing = and i64 %back, {within}
  %skipped = udiv i64 %missing, $UNIT
  %start = add i64 %low, %skipped
  br label %check
check:
  %place = phi i64 [ %start, %state ], [ %place.next, %line.end ]
  %more = icmp slt i64 %place, %high
  br i1 %more, label %line, label %state.end
line:
  %to = getelementptr $NUMBER, ptr %row, i64 %place
  %whole = icmp ult i64 %place, {wholes}
  br i1 %whole, label %past, label %part
past:
{sources}
  %x = call $VECTOR @llvm.masked.gather.$SUFFIX.v$LANESp0(<$LANES x ptr> %sources, i32 $UNIT, \
<$LANES x i1> splat (i1 true), $VECTOR undef)
  store $VECTOR %x, ptr %to, align $BYTES, !nontemporal !0
  br label %line.end
part:
{part_sources}
  %place.short = trunc i64 %place to i32
  %place.single = insertelement <$LANES x i32> undef, i32 %place.short, i32 0
  %place.all = shufflevector <$LANES x i32> %place.single, <$LANES x i32> undef, <$LANES x i32> zeroinitializer
  %places = add <$LANES x i32> %place.all, <{ramp}>
  %there = icmp ult <$LANES x i32> %places, splat (i32 {size})
  %part.x = call $VECTOR @llvm.masked.gather.$SUFFIX.v$LANESp0(<$LANES x ptr> %part.sources, i32 $UNIT, \
<$LANES x i1> %there, $VECTOR undef)
  call void @llvm.masked.store.$SUFFIX.p0($VECTOR %part.x, ptr %to, i32 $UNIT, <$LANES x i1> %there)
  br label %line.end
line.end:
  %place.next = add i64 %place, $LANES
  br label %check
state.end:
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, $LANES
  br i1 %lane.more, label %state, label %end
end:
  ret void
}}
"""
# where a line's numbers lie among the lanes: in order, or as the list says
IN_ORDER = """  %{n}before = mul i64 %place, $LANES
  %{n}begin = getelementptr $NUMBER, ptr %own, i64 %{n}before
  %{n}sources = getelementptr $NUMBER, ptr %{n}begin, <$LANES x i32> <{steps}>"""
LISTED = """  %{n}entries = getelementptr i32, ptr {list}, i64 %place
  %{n}listed = load <$LANES x i32>, ptr %{n}entries, align 4
  %{n}numbers = mul nsw <$LANES x i32> %{n}listed, splat (i32 $LANES)
  %{n}sources = getelementptr $NUMBER, ptr %own, <$LANES x i32> %{n}numbers"""
DECLARATIONS = """
!0 = !{i32 1}
declare $VECTOR @llvm.masked.gather.$SUFFIX.v$LANESp0(<$LANES x ptr>, i32, <$LANES x i1>, $VECTOR)
declare void @llvm.masked.store.$SUFFIX.p0($VECTOR, ptr, i32, <$LANES x i1>)
"""


def worth_it(size: int, lanes: Lanes) -> bool:
    """Return whether a result of so many bytes is to be written past the caches.

    Only vectors that fill a cache line write it by one store. Halves of lines wait for each other in the few places
    that there are: on AVX2 (Zen 3) full mass matrices took 1.7 times as long as through the caches.
    """
    return size >= LARGE and lanes.bytes >= LINE and used(NONTEMPORAL)


class NontemporalResult(NamedTuple):
    """A result that may be written past the caches: the array's number, numbers of a state, where they lie (see
    `Placed`), and behind which chunk each is there."""

    array: int
    size: int
    place: int | str
    done: Sequence[int]


def nontemporal_functions(nontemporal: Sequence[NontemporalResult], lanes: Lanes) -> list[str]:
    """Return the text of a function stream{k} for each array; a text for `substituted`."""
    return [DECLARATIONS, *(_function(result, lanes) for result in nontemporal)] if nontemporal else []


def _function(result: NontemporalResult, lanes: Lanes) -> str:
    ramp = range(lanes.width)
    steps = ", ".join(f"i32 {lanes.width * j}" for j in ramp)
    listed = isinstance(result.place, str)
    whole, part = ((LISTED if listed else IN_ORDER).format(n=n, list=result.place, steps=steps) for n in ("", "part."))
    return FUNCTION.format(
        array=result.array, table="\n".join(array_lines("%a", result.array, "0")), within=lanes.bytes - 1,
        size=result.size, wholes=result.size - lanes.width + 1, sources=whole, part_sources=part,
        ramp=", ".join(f"i32 {j}" for j in ramp),
    )  # fmt: skip


def nontemporal_calls(
    nontemporal: Sequence[NontemporalResult], chunks: int, results: str, width: int
) -> list[list[str]]:
    """Return, for each chunk, the lines that write what is there behind it; results: the lanes' buffer."""
    lines: list[list[str]] = [[] for _ in range(chunks)]
    for array, _, place, done in nontemporal:
        first = f"%nontemporal{array}"
        start = 0 if isinstance(place, str) else place
        lines[0].append(f"  {first} = getelementptr $VECTOR, ptr {results}, i64 {start}")
        for chunk, low, high in schedule(done, width):
            places = f"ptr {first}, i64 {low}, i64 {high}"
            lines[chunk].append(f"  call void @nontemporal{array}(ptr %tables, i64 %group, i64 %last, {places})")
    return lines


def schedule(done: Sequence[int], width: int) -> Iterator[tuple[int, int, int]]:
    """Yield a chunk and two places: lines of so many numbers that start from the one on, before the other, are to be
    written behind this chunk.

    done: the chunk of each number. Lines wait for all behind them, or for all before them, whichever is sooner, so that
    many neighbours go at once. A line may begin before the first number, or end behind the last.
    """
    upwards, downwards = np.maximum.accumulate(done), np.maximum.accumulate(done[::-1])[::-1]
    numbers = np.pad(min(upwards, downwards, key=np.sum), width - 1)
    ready = np.lib.stride_tricks.sliding_window_view(numbers, width).max(axis=1)
    edges = [0, *(np.flatnonzero(np.diff(ready)) + 1).tolist(), len(ready)]
    for low, high in pairwise(edges):
        yield int(ready[low]), low - width + 1, high - width + 1
