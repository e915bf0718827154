"""LLVM IR of a trace's operations, in straight lines, cut into functions of some thousand operations.

Compilers need more than linear time for long functions. Values that a later function needs go through memory. A robot's
code can be longer than the processor's instruction cache, so instructions are kept short: they reach all memory from
addresses that they are given, those in the middle of what they reach, where an offset takes a byte, and so the
constants, whose addresses compilers write out in ten bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..graph.trace import Trace
from ..primitives import (
    CONSTANT,
    COS,
    INPUT,
    PRIMITIVES,
    SIN,
)
from .lanes import Lanes, literal, sine_and_cosine_lines, splat
from .prefetch import Prefetches

CHUNK = 1000  # operations of a function
MIDDLE = 128  # vectors, or constants, on either side of an address that are reached by an offset of one byte
RECENT = 60  # operations: a constant whose last use is farther back is not kept in a register, but loaded anew
# spilled vectors stay within a cache line each only on an aligned stack
CHUNK_FUNCTION = """
@constants{k} = internal constant [{count} x $NUMBER] [{constants}], align 64
define internal void @chunk{k}(ptr noalias %in, ptr noalias %tmp, ptr noalias %out, ptr noalias %constants) \
noinline nounwind alignstack(64) {{
{body}
  ret void
}}
"""


class Chunks(NamedTuple):
    """The IR of functions chunk0, chunk1, ... that in turn do what a trace does, the number of vectors of memory for
    values between them, and which chunk makes each result."""

    functions: list[str]
    slots: int
    done: list[int]


def chunk_functions(traced: Trace, lanes: Lanes, asked: Prefetches | None = None) -> Chunks:
    """Return the functions of a trace, for `chunk_calls`: texts for `substituted`, which need DECLARATIONS and
    `elementary.sincos`. Memory between them begins with the table of what is asked for."""
    writer = _Writer(traced, lanes, asked or Prefetches([], lanes.width, 1))
    return Chunks(writer.chunks(), writer.slots, [writer.chunk_of.get(node, 0) for node in traced.results])


def chunk_calls(
    count: int, inputs: str, between: str, results: str, behind: Sequence[Sequence[str]] | None = None
) -> list[str]:
    """Return the lines that call chunk0, chunk1, ... on inputs, memory for values between them, and results, with what
    is to be done behind each."""
    places = {"in": inputs, "tmp": between, "out": results}
    middles = [f"  %middle.{name} = getelementptr $VECTOR, ptr {at}, i64 {MIDDLE}" for name, at in places.items()]
    arguments = ", ".join(f"ptr %middle.{name}" for name in places)
    constants = [f"ptr getelementptr ($NUMBER, ptr @constants{k}, i64 {MIDDLE})" for k in range(count)]
    calls = [f"  call void @chunk{k}({arguments}, {own})" for k, own in enumerate(constants)]
    return [*middles, *(line for k, call in enumerate(calls) for line in (call, *(behind[k] if behind else ())))]


class _Writer:
    """Writes a trace's operations, function by function, and assigns slots to values that cross between them."""

    def __init__(self, traced: Trace, lanes: Lanes, asked: Prefetches) -> None:
        self.graph, self.lanes, self.asked = traced.graph, lanes, asked
        self.order = traced.graph.needed(traced.results)
        self.asks = {self.order[k]: request for k, request in asked.spread(len(self.order)).items()}
        self.chunk_of = {node: k // CHUNK for k, node in enumerate(self.order)}
        self.wanted: dict[int, list[int]] = {}  # result places of a node
        for place, node in enumerate(traced.results):
            self.wanted.setdefault(node, []).append(place)
        self.last_use: dict[int, int] = {}
        for node in self.order:
            for source in self._sources(node):
                self.last_use[source] = self.chunk_of[node]
        self.slot: dict[int, int] = {}
        self.slots = asked.vectors
        self.position = 0  # in the function being written

    def _sources(self, node: int) -> tuple[int, ...]:
        return self.graph.operands(node)

    def chunks(self) -> list[str]:
        """Return the functions' texts."""
        free: list[int] = []
        texts = []
        for k in range(max(1, -(-len(self.order) // CHUNK))):
            texts.append(self._chunk(k, self.order[k * CHUNK : (k + 1) * CHUNK], free))
            free += [slot for node, slot in self.slot.items() if self.last_use[node] == k]
        return texts

    def _chunk(self, k: int, nodes: list[int], free: list[int]) -> str:
        self.lines: list[str] = [f"  %table = getelementptr $VECTOR, ptr %tmp, i64 {-MIDDLE}"]
        self.here: dict[int, str] = {}
        self.constants: list[str] = []
        self.constant_at: dict[int, tuple[int, str]] = {}  # where one was last wanted, and its name
        for self.position, node in enumerate(nodes):
            if node in self.asks:
                self.lines += self.asked.lines(f"%ask{node}", self.asks[node])
            if node not in self.here:
                self._operation(node)
            if self.last_use.get(node, k) > k:
                self._cross(node, free)
            self._results(node)
        if k == 0:  # results that are inputs or constants
            for node in self.wanted:
                if node not in self.chunk_of:
                    self._results(node)
        body = "\n".join(self.lines)
        numbers = ", ".join(self.constants)
        return CHUNK_FUNCTION.format(k=k, body=body, count=len(self.constants), constants=numbers)

    def _operation(self, node: int) -> None:
        graph, name = self.graph, f"%n{node}"
        operation = graph.operation[node]
        values = [self._value(source) for source in self._sources(node)]
        if operation in (SIN, COS):
            self._sine_and_cosine(graph.first[node], values[0])
            return
        self.lines += PRIMITIVES[operation].llvm(name, values)
        self.here[node] = name

    def _sine_and_cosine(self, argument: int, x: str) -> None:
        """Both at once, whichever is asked for first."""
        pair = f"%n{argument}.sincos"
        self.lines += sine_and_cosine_lines(pair, x)
        for index, operation in enumerate((SIN, COS)):
            self.here[self.graph.node(operation, argument)] = f"{pair}.{index}"

    def _value(self, node: int) -> str:
        """The text of a value in the function being written, loaded first where it comes from outside."""
        if node not in self.here:
            operation = self.graph.operation[node]
            if operation == CONSTANT:
                return self._constant(node, self.graph.values[self.graph.first[node]])
            if operation == INPUT:
                self._load(node, "%in", self.graph.first[node])
            else:
                self._load(node, "%tmp", self.slot[node])
        return self.here[node]

    def _constant(self, node: int, value: float) -> str:
        """The text of a constant, loaded again where its last use is far."""
        if value == 0:
            return splat(value, self.lanes.single)
        last, name = self.constant_at.get(node, (-RECENT, ""))
        if self.position - last >= RECENT:
            k = len(self.constants)
            self.constants.append(f"$NUMBER {literal(value, self.lanes.single)}")
            name = f"%c{k}"
            self.lines += [
                f"  {name}.at = getelementptr $NUMBER, ptr %constants, i64 {k - MIDDLE}",
                f"  {name}.number = load $NUMBER, ptr {name}.at",
                f"  {name}.single = insertelement $VECTOR undef, $NUMBER {name}.number, i32 0",
                f"  {name} = shufflevector $VECTOR {name}.single, $VECTOR undef, <$LANES x i32> zeroinitializer",
            ]
        self.constant_at[node] = self.position, name
        return name

    def _load(self, node: int, buffer: str, place: int) -> None:
        name = f"%l{node}"
        self.lines.append(f"  {name}.at = getelementptr $VECTOR, ptr {buffer}, i64 {place - MIDDLE}")
        self.lines.append(f"  {name} = load $VECTOR, ptr {name}.at, align $BYTES")
        self.here[node] = name

    def _store(self, node: int, buffer: str, place: int) -> None:
        name = f"%s{node}.{buffer[1:]}{place}"
        value = self._value(node)
        self.lines.append(f"  {name} = getelementptr $VECTOR, ptr {buffer}, i64 {place - MIDDLE}")
        self.lines.append(f"  store $VECTOR {value}, ptr {name}, align $BYTES")

    def _cross(self, node: int, free: list[int]) -> None:
        if free:
            self.slot[node] = free.pop()
        else:
            self.slot[node] = self.slots
            self.slots += 1
        self._store(node, "%tmp", self.slot[node])

    def _results(self, node: int) -> None:
        for place in self.wanted.get(node, ()):
            self._store(node, "%out", place)
