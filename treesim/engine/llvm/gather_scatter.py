"""LLVM IR that gathers the caller's arrays into lanes, and scatters lanes back.

An array has two strides: between numbers of a state, and between states. If a state's numbers are
contiguous, blocks of as many numbers as lanes, or of half or a quarter of them if a state has fewer, are
transposed in registers; the last block overlaps the one before if the count does not divide. If the states
are contiguous, vectors are moved directly; numbers that all states share are broadcast. Other layouts are
moved number by number. Results that occur in several places, such as zeros and the halves of a symmetric
matrix, are in the lanes' memory once; a list has the vector's index for each number. Scatters check the
numbers for NaN and infinity. Lanes beyond the last state repeat it: they compute the same results, and
write them to the same place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .builder import Function, Module
from .lanes import Lanes
from .non_finite import SUMS, added, non_finite
from .values import I32, I64, PTR, Value, constant

LEAST = 4  # numbers of the smallest block, if there are as many lanes
PARAMETERS = (
    f"{PTR} noalias array, {I64} size, {I64} element, {I64} stride, {I64} group, {I64} last, {PTR} noalias lanes"
)


class Moves(NamedTuple):
    """Functions that move one array: gather, scatter, and scatter by an index list.

    The scatters return 1 if one of the numbers is NaN or infinity, else 0.

    Arguments: address of the array, numbers of a state, both strides, first state of the group, end of all
    states, memory of the lanes, and the list.
    """

    gather: Function
    scatter: Function
    scatter_listed: Function


def gather_and_scatter(module: Module) -> Moves:
    """Return the functions that move arrays, for the module's lanes."""
    gather = module.function("gather", PARAMETERS)
    scatter = module.function("scatter", PARAMETERS, I64)
    listed = module.function("scatter_listed", f"{PARAMETERS}, {PTR} noalias list", I64)
    for f in (gather, scatter, listed):
        _Mover(f, gathers=f is gather).write()
    return Moves(gather, scatter, listed)


class _Mover:
    """Writer of one of these functions."""

    def __init__(self, f: Function, gathers: bool) -> None:
        self.f, self.gathers, self.width = f, gathers, f.lanes.width
        self.array, self.size, self.element, self.stride, group, self.last, self.lanes, *self.list = f.arguments
        final = f.sub(self.last, 1)
        self.rows = []
        for lane in range(self.width):
            wanted = f.add(group, lane)
            state = f.select(f.icmp("slt", wanted, final), wanted, final)
            self.rows.append(f.at(self.array, f.mul(state, self.stride), f.number))
        self.full = f.icmp("slt", wanted, self.last)
        self.sums = [constant(0.0, f.vector)] * (0 if gathers else SUMS)  # of 0 times each number that was scattered

    def write(self) -> None:
        """Write the function: the fastest way that the strides allow."""
        f, block = self.f, self.width
        if self.gathers:
            with f.when(f.icmp("eq", self.stride, 0)):
                self._spread()
        while block >= min(LEAST, self.width):
            room = f.sub(self.size, block)
            with f.when(f.both(f.icmp("sge", room, 0), f.icmp("eq", self.element, 1))):
                self._blocks(block, room)
            block //= 2
        with f.when(f.both(self.full, f.icmp("eq", self.stride, 1))):
            self._columns()
        self._numbers()

    def _spread(self) -> None:
        """Append the broadcast of numbers that all states share."""
        f = self.f
        with f.loop(0, self.size, begins=True) as loop:
            number = f.load_at(self.array, f.mul(loop.k, self.element), f.number)
            f.store_at(f.broadcast(number), self.lanes, loop.k)
        f.ret()

    def _blocks(self, block: int, room: Value) -> None:
        """Append the transposition of contiguous numbers of each state, block after block.

        If a block has fewer numbers than there are lanes, a vector consists of parts: of rows k, k + block, ... before
        each group of parts is transposed, and of number k of all rows after it.
        """
        f = self.f
        with f.loop(0, self.size, block, carried=self.sums, begins=True) as loop:
            start = f.select(f.icmp("slt", loop.k, room), loop.k, room)
            theirs = [f.at(row, start, f.number) for row in self.rows]
            ours = [f.at(self.lanes, self._place(f.add(start, k))) for k in range(block)]
            parts = Lanes(f.lanes.single, block).vector
            if self.gathers:
                rows = [self._load(row, parts) for row in theirs]
                vectors = _transposed(f, [_joined(f, rows[k::block]) for k in range(block)])
                for x, place in zip(vectors, ours, strict=True):
                    self._store(x, place)
            else:
                self._ask_ahead(theirs)
                loaded = [self._load(place) for place in ours]
                loop.values = added(f, loop.values, loaded)
                vectors = _transposed(f, loaded)
                for lane, row in enumerate(theirs):
                    x, first = vectors[lane % block], lane // block * block
                    self._store(f.shuffle(x, x, range(first, first + block)), row)
        self._return(loop.values)

    def _ask_ahead(self, rows: Sequence[Value]) -> None:
        """Append prefetches of rows to be written.

        Rows are far apart, as columns are, and no processor predicts that many streams. The number of requests is
        limited by what a core can have outstanding.
        """
        for row in rows:
            self.f.prefetch(self.f.at(row, 2), writes=True)

    def _columns(self) -> None:
        """Append direct moves for contiguous states."""
        f = self.f
        with f.loop(0, self.size, carried=self.sums, begins=True) as loop:
            column = f.at(self.rows[0], f.mul(loop.k, self.element), f.number)
            ours = f.at(self.lanes, self._place(loop.k))
            f.prefetch(f.at(column, 1), writes=not self.gathers)
            source, target = (column, ours) if self.gathers else (ours, column)
            x = self._load(source)
            self._store(x, target)
            if not self.gathers:
                loop.values = added(f, loop.values, [x])
        self._return(loop.values)

    def _numbers(self) -> None:
        """Append moves number by number."""
        f = self.f
        with f.loop(0, self.size, carried=self.sums, begins=True) as loop:
            start = f.mul(loop.k, self.element)
            place = self._place(loop.k)
            first = f.mul(place, self.width)
            for lane, row in enumerate(self.rows):
                theirs, ours = f.at(row, start, f.number), f.at(self.lanes, f.add(first, lane), f.number)
                source, target = (theirs, ours) if self.gathers else (ours, theirs)
                f.store(f.load(source, f.number), target)
            if not self.gathers:
                loop.values = added(f, loop.values, [f.load_at(self.lanes, place)])
        self._return(loop.values)

    def _return(self, sums: Sequence[Value]) -> None:
        """Append the return, of a scatter with whether a number is NaN or infinity."""
        self.f.ret(None if self.gathers else non_finite(self.f, sums))

    def _place(self, number: Value) -> Value:
        """Append the address of a number's lanes: in order, or by the list."""
        return self.f.cast("zext", self.f.load_at(self.list[0], number, I32), I64) if self.list else number

    def _load(self, source: Value, kind: str | None = None) -> Value:
        return self.f.load(source, kind, align=self.f.lanes.unit if self.gathers else None)

    def _store(self, x: Value, target: Value) -> None:
        self.f.store(x, target, align=None if self.gathers else self.f.lanes.unit)


def _joined(f: Function, parts: Sequence[Value]) -> Value:
    """Append the vector of several parts, joined in pairs."""
    while len(parts) > 1:
        both = range(2 * f.lanes.width // len(parts))
        parts = [f.shuffle(x, y, both) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _transposed(f: Function, vectors: Sequence[Value]) -> Sequence[Value]:
    """Append a transposition by butterflies: vectors i and i + d exchange the lanes whose positions differ in bit d."""
    width, d = f.lanes.width, 1
    while d < len(vectors):
        low = [p if not p & d else width + p - d for p in range(width)]
        high = [p + d if not p & d else width + p for p in range(width)]
        vectors = [f.shuffle(vectors[i & ~d], vectors[i | d], high if i & d else low) for i in range(len(vectors))]
        d *= 2
    return vectors
