"""LLVM IR of a trace's operations, in straight lines, cut into functions of some thousand operations.

Compilers need more than linear time for long functions. Values that a later function needs go through memory. A robot's
code can be longer than the processor's instruction cache, so instructions are kept short: they reach all memory from
addresses that they are given, those in the middle of what they reach, where an offset takes a byte, and so the
constants, whose addresses compilers write out in ten bytes each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..graph.trace import Trace
from ..primitives import (
    CONSTANT,
    COS,
    INPUT,
    PRIMITIVES,
    SIN,
)
from .builder import Function, Module
from .lanes import Lanes
from .prefetch import Prefetches
from .values import PTR, Value, constant

CHUNK = 1000  # operations of a function
MANY = 12  # functions that are worth a second process, which starts while two or three are compiled
APART = "apart"  # the list of the functions' addresses
MIDDLE = 128  # vectors, or constants, on either side of an address that are reached by an offset of one byte
RECENT = 60  # operations: a constant whose last use is farther back is not kept in a register, but loaded anew


class Chunk(NamedTuple):
    """A function of inputs, memory for values that cross between functions, results and its constants, each told by the
    address in the middle; and where these constants are."""

    function: Function
    constants: Value


class Chunks(NamedTuple):
    """The functions that in turn do what a trace does, the number of vectors of memory for values between them, and
    which of them makes each result."""

    functions: list[Chunk]
    slots: int
    done: list[int]


def chunk_functions(
    module: Module,
    traced: Trace,
    lanes: Lanes | None = None,
    asked: Prefetches | None = None,
    name: str = "",
    apart: Module | None = None,
) -> Chunks:
    """Return the functions of a trace, on the module's lanes unless told otherwise, for `chunk_calls`. Memory between
    them begins with the table of what is asked for. name: what their names begin with, of each trace of a module
    another. apart: takes the second half of many functions, to be compiled by itself at the same time."""
    lanes = lanes or module.lanes
    writer = _Writer(module, traced, lanes, asked or Prefetches([], lanes), name, apart or module)
    return Chunks(writer.chunks(), writer.slots, [writer.chunk_of.get(node, 0) for node in traced.results])


def chunk_calls(
    f: Function,
    chunks: Chunks,
    inputs: Value,
    between: Value,
    results: Value,
    behind: Callable[[int], None] = lambda chunk: None,
) -> None:
    """Append calls of all functions on inputs, memory for values between them, and results, with what is to be done
    behind each. Those of a module apart are called by their addresses."""
    lanes = chunks.functions[0].function.lanes
    middles = [f.at(place, MIDDLE, lanes.vector) for place in (inputs, between, results)]
    here = sum(function.module is f.module for function, _ in chunks.functions)
    for k, (function, constants) in enumerate(chunks.functions):
        given = [*middles, f.at(constants, MIDDLE, lanes.number)]
        if k < here:
            f.call(function, *given)
        else:
            f.call_at(f.load_at(Value(f"@{APART}", PTR), k - here, PTR), *given)
        behind(k)


def addresses_apart(apart: Module) -> tuple[str, str]:
    """Return the texts of a module and of one apart, whose functions it calls by a list of addresses: zeros in the
    first, to be filled in from the second's when both are loaded. (Of an object file that is loaded behind another,
    LLVM's loader does not find the constants; so they are loaded one by one.)"""
    kind = f"[{len(apart.functions)} x {PTR}]"
    listed = ", ".join(f"{PTR} @{f.name}" for f in apart.functions)
    return f"@{APART} = global {kind} zeroinitializer", f"@{APART} = constant {kind} [{listed}]"


class _Writer:
    """Writes a trace's operations, function by function, and assigns slots to values that cross between them."""

    def __init__(
        self, module: Module, traced: Trace, lanes: Lanes, asked: Prefetches, name: str, apart: Module
    ) -> None:
        self.module, self.graph, self.lanes, self.asked, self.name = module, traced.graph, lanes, asked, name
        self.order = traced.graph.needed(traced.results)
        self.count = max(1, -(-len(self.order) // CHUNK))
        self.apart = apart if self.count >= MANY else module
        self.asks = {self.order[k]: request for k, request in asked.spread(len(self.order)).items()}
        self.chunk_of = {node: k // CHUNK for k, node in enumerate(self.order)}
        self.wanted: dict[int, list[int]] = {}  # result places of a node
        for place, node in enumerate(traced.results):
            self.wanted.setdefault(node, []).append(place)
        self.last_use: dict[int, int] = {}
        for node in self.order:
            for source in self.graph.operands(node):
                self.last_use[source] = self.chunk_of[node]
        self.slot: dict[int, int] = {}
        self.slots = asked.vectors
        self.position = 0  # in the function being written

    def chunks(self) -> list[Chunk]:
        """Write the functions."""
        free: list[int] = []
        chunks = []
        for k in range(self.count):
            chunks.append(self._chunk(k, self.order[k * CHUNK : (k + 1) * CHUNK], free))
            free += [slot for node, slot in self.slot.items() if self.last_use[node] == k]
        return chunks

    def _chunk(self, k: int, nodes: list[int], free: list[int]) -> Chunk:
        parameters = ", ".join(f"{PTR} noalias {argument}" for argument in ("in", "tmp", "out", "constants"))
        home = self.module if 2 * k < self.count else self.apart
        self.f = home.function(f"{self.name}chunk{k}", parameters, lanes=self.lanes, aligned_stack=True)
        self.inputs, self.between, self.out, self.own_constants = self.f.arguments
        table = self.f.at(self.between, -MIDDLE)
        self.here: dict[int, Value] = {}
        self.constants: list[float] = []
        self.constant_at: dict[int, tuple[int, Value]] = {}  # where one was last wanted, and its value
        for self.position, node in enumerate(nodes):
            if node in self.asks:
                self.asked.ask(self.f, table, self.asks[node])
            if node not in self.here:
                self._operation(node)
            if self.last_use.get(node, k) > k:
                self._cross(node, free)
            self._results(node)
        if k == 0:  # results that are inputs or constants
            for node in self.wanted:
                if node not in self.chunk_of:
                    self._results(node)
        self.f.ret()
        return Chunk(self.f, self.module.array(f"{self.name}constants{k}", self.constants, self.lanes.number, align=64))

    def _operation(self, node: int) -> None:
        operation = self.graph.operation[node]
        values = [self._value(source) for source in self.graph.operands(node)]
        if operation in (SIN, COS):  # both at once, whichever is asked for first
            pair = self.f.helper_pair("sine_and_cosine", *values)
            for one, value in zip((SIN, COS), pair, strict=True):
                self.here[self.graph.node(one, self.graph.first[node])] = value
        else:
            self.here[node] = PRIMITIVES[operation].llvm(self.f, *values)

    def _value(self, node: int) -> Value:
        """A value in the function being written, loaded first where it comes from outside."""
        if node not in self.here:
            operation = self.graph.operation[node]
            if operation == CONSTANT:
                return self._constant(node, self.graph.values[self.graph.first[node]])
            if operation == INPUT:
                self.here[node] = self.f.load_at(self.inputs, self.graph.first[node] - MIDDLE)
            else:
                self.here[node] = self.f.load_at(self.between, self.slot[node] - MIDDLE)
        return self.here[node]

    def _constant(self, node: int, number: float) -> Value:
        """A constant, loaded again where its last use is far."""
        if number == 0:
            return constant(number, self.f.vector)
        last, value = self.constant_at.get(node, (-RECENT, None))
        if value is None or self.position - last >= RECENT:
            place = len(self.constants) - MIDDLE
            value = self.f.broadcast(self.f.load_at(self.own_constants, place, self.f.number))
            self.constants.append(number)
        self.constant_at[node] = self.position, value
        return value

    def _cross(self, node: int, free: list[int]) -> None:
        if free:
            self.slot[node] = free.pop()
        else:
            self.slot[node] = self.slots
            self.slots += 1
        self.f.store_at(self._value(node), self.between, self.slot[node] - MIDDLE)

    def _results(self, node: int) -> None:
        for place in self.wanted.get(node, ()):
            self.f.store_at(self._value(node), self.out, place - MIDDLE)
