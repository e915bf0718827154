"""Straight-line LLVM IR of a trace, divided into functions of some thousand operations.

Compilers take more than linear time for long functions. Values used by a later function are passed through
memory. A robot's code can exceed the processor's instruction cache, so instructions must be short. All
memory is addressed relative to pointers to the middle of its region, where an offset takes one byte. This
includes constants, whose absolute addresses would take ten bytes each.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from ..graph.trace import Trace
from ..graph.twins import paired_order
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
MANY = 12  # functions worth a second process, which starts in the time of two or three
APART = "apart"  # the list of the functions' addresses
MIDDLE = 128  # vectors, or constants, on either side of an address within an offset of one byte
RECENT = 60  # operations: a constant whose last use is farther back is loaded again


class Chunk(NamedTuple):
    """Function of a chunk of operations.

    function: takes inputs, memory for values between functions, results and constants, each by the address of
    its middle. constants: address of its constants.
    """

    function: Function
    constants: Value


class Chunks(NamedTuple):
    """Functions that together compute a trace.

    functions: in order. slots: vectors of memory for values between them.
    """

    functions: list[Chunk]
    slots: int


def chunk_functions(
    module: Module,
    traced: Trace,
    lanes: Lanes | None = None,
    asked: Prefetches | None = None,
    name: str = "",
    apart: Module | None = None,
    pairs: dict[int, int] | None = None,
) -> Chunks:
    """Return the functions of a trace, for `chunk_calls`; lanes: the module's by default.

    pairs: nodes that share instructions (`graph.twins`), for one lane.

    Memory between them begins with the table of prefetches `asked`. name: prefix of the functions' names,
    unique in the module. apart: module for the second half of many functions, compiled at the same time.
    """
    lanes = lanes or module.lanes
    writer = _Writer(module, traced, lanes, asked or Prefetches([], lanes), name, apart or module, pairs)
    return Chunks(writer.chunks(), writer.slots)


def chunk_calls(
    f: Function,
    chunks: Chunks,
    inputs: Value,
    between: Value,
    results: Value,
) -> None:
    """Append calls of all functions, on inputs, memory between functions, and results.

    Functions in the second module are called by their addresses.
    """
    lanes = chunks.functions[0].function.lanes
    middles = [f.at(place, MIDDLE, lanes.vector) for place in (inputs, between, results)]
    here = sum(function.module is f.module for function, _ in chunks.functions)
    for k, (function, constants) in enumerate(chunks.functions):
        given = [*middles, f.at(constants, MIDDLE, lanes.number)]
        if k < here:
            f.call(function, *given)
        else:
            f.call_at(f.load_at(Value(f"@{APART}", PTR), k - here, PTR), *given)


def addresses_apart(apart: Module) -> tuple[str, str]:
    """Return the IR of an address list in a module, zeros, and in the second module, whose functions it refers to.

    The first list is filled from the second when both are loaded. (LLVM's loader does not find the constants of
    an object file that is loaded after another one, so each is loaded by itself.)
    """
    kind = f"[{len(apart.functions)} x {PTR}]"
    listed = ", ".join(f"{PTR} @{f.name}" for f in apart.functions)
    return f"@{APART} = global {kind} zeroinitializer", f"@{APART} = constant {kind} [{listed}]"


class _Writer:
    """Writer of a trace's operations, function by function; assigns slots to values used by later functions."""

    def __init__(
        self,
        module: Module,
        traced: Trace,
        lanes: Lanes,
        asked: Prefetches,
        name: str,
        apart: Module,
        pairs: dict[int, int] | None,
    ) -> None:
        self.module, self.graph, self.lanes, self.asked, self.name = module, traced.graph, lanes, asked, name
        self.second = pairs or {}  # of each pair's first node
        self.order = paired_order(traced, self.second)
        self.first_of = {second: one for one, second in self.second.items()}
        self.two = Lanes(lanes.single, 2)
        self.count = max(1, -(-len(self.order) // CHUNK))
        self.apart = apart if self.count >= MANY else module
        self.asks = {self.order[k]: request for k, request in asked.spread(len(self.order)).items()}
        self.chunk_of = {node: k // CHUNK for k, node in enumerate(self.order)}
        self.chunk_of |= {second: self.chunk_of[one] for one, second in self.second.items()}
        self.wanted: dict[int, list[int]] = {}  # indices of a node's results
        for place, node in enumerate(traced.results):
            self.wanted.setdefault(node, []).append(place)
        self.last_use: dict[int, int] = {}  # chunk that uses a node, or either one of a pair, last
        for node in self.order:
            for part in self._parts(node):
                for source in self.graph.operands(part):
                    self.last_use[self.first_of.get(source, source)] = self.chunk_of[node]
        self.slot: dict[int, int] = {}
        self.slots = asked.vectors
        self.position = 0  # in the function being written

    def _parts(self, node: int) -> tuple[int, ...]:
        """Return both nodes of a pair for its first one, else the node."""
        return (node, self.second[node]) if node in self.second else (node,)

    def chunks(self) -> list[Chunk]:
        """Write the functions."""
        free: dict[int, list[int]] = {1: [], 2: []}  # slots of single nodes, and first slots of pairs
        chunks = []
        for k in range(self.count):
            chunks.append(self._chunk(k, self.order[k * CHUNK : (k + 1) * CHUNK], free))
            for node, slot in self.slot.items():
                if node not in self.first_of and self.last_use[node] == k:
                    free[len(self._parts(node))].append(slot)
        return chunks

    def _chunk(self, k: int, nodes: list[int], free: dict[int, list[int]]) -> Chunk:
        parameters = ", ".join(f"{PTR} noalias {argument}" for argument in ("in", "tmp", "out", "constants"))
        home = self.module if 2 * k < self.count else self.apart
        self.f = home.function(f"{self.name}chunk{k}", parameters, lanes=self.lanes, aligned_stack=True)
        self.inputs, self.between, self.out, self.own_constants = self.f.arguments
        table = self.f.at(self.between, -MIDDLE)
        self.here: dict[int, Value] = {}
        self.both: dict[tuple[int, ...], Value] = {}  # vectors of two nodes
        self.constants: list[float] = []
        self.constant_at: dict[int, tuple[int, Value]] = {}  # last use of a constant, and its value
        self.distances: dict[tuple[int, int], Value] = {}  # of prefetches
        self.nodes = nodes
        for self.position, node in enumerate(nodes):
            if node in self.asks:
                self.asked.ask(self.f, table, self.asks[node], self.distances)
            if node not in self.here and self._parts(node) not in self.both:
                self._operation(node)
            if self.last_use.get(node, k) > k:
                self._cross(node, free)
            for part in self._parts(node):
                self._results(part)
        if k == 0:  # results that are inputs or constants
            for node in self.wanted:
                if node not in self.chunk_of:
                    self._results(node)
        self.f.ret()
        return Chunk(self.f, self.module.array(f"{self.name}constants{k}", self.constants, self.lanes.number, align=64))

    def _operation(self, node: int) -> None:
        if self._is_turn(node):
            return self._turn(node)
        if node in self.second:
            return self._pair(node)
        values = [self._value(source) for source in self.graph.operands(node)]
        self.here[node] = PRIMITIVES[self.graph.operation[node]].llvm(self.f, *values)

    def _pair(self, node: int) -> None:
        """Append the operation of a pair of nodes."""
        nodes = self._parts(node)
        values = [self._vector(pair) for pair in zip(*map(self.graph.operands, nodes), strict=True)]
        with self.f.on_lanes(self.two):
            self.both[nodes] = PRIMITIVES[self.graph.operation[node]].llvm(self.f, *values)

    def _vector(self, nodes: tuple[int, ...]) -> Value:
        """Return the vector of two nodes; one of constants is loaded where it is used."""
        if all(self.graph.operation[node] == CONSTANT for node in nodes):
            numbers = [self.graph.values[self.graph.first[node]] for node in nodes]
            place = len(self.constants) - MIDDLE
            self.constants += numbers
            return self.f.load(self.f.at(self.own_constants, place), self.two.vector, self.lanes.unit)
        found = self.both.get(nodes)
        if found is None:
            found = self.both[nodes] = self._new_vector(nodes)
        return found

    def _new_vector(self, nodes: tuple[int, ...]) -> Value:
        first, second = nodes
        if self.second.get(first) == second:
            return self.f.load(self.f.at(self.between, self.slot[first] - MIDDLE), self.two.vector, self.lanes.unit)
        values = [self._value(node) for node in nodes]
        with self.f.on_lanes(self.two):
            return self.f.broadcast(values[0]) if first == second else self.f.vector_of(values)

    def _is_turn(self, node: int) -> bool:
        return self.graph.operation[node] in (SIN, COS)

    def _turn(self, node: int) -> None:
        """Append sine and cosine of a node's angle together; without lanes, also those of the next known angles."""
        width = self.module.lanes.width if self.lanes.width == 1 else 1
        later = (self.graph.first[k] for k in self.nodes[self.position :] if self._is_turn(k) and k not in self.here)
        angles = list(islice(dict.fromkeys(angle for angle in later if self._is_known(angle)), width))
        values = [self._value(angle) for angle in angles]
        if len(angles) > 1:
            pairs = self.f.sines_and_cosines(values, self.module.lanes)
        else:
            pairs = [self.f.helper_pair("sine_and_cosine", *values)]
        for angle, pair in zip(angles, pairs, strict=True):
            for one, value in zip((SIN, COS), pair, strict=True):
                self.here[self.graph.node(one, angle)] = value

    def _is_known(self, node: int) -> bool:
        """Return whether a node is computed before the current position."""
        pair = self._parts(self.first_of.get(node, node))
        leaf = self.graph.operation[node] in (INPUT, CONSTANT)
        return leaf or node in self.here or node in self.slot or pair in self.both

    def _value(self, node: int) -> Value:
        """Return a value in the current function; values from outside are loaded first."""
        if node not in self.here:
            operation, first = self.graph.operation[node], self.first_of.get(node, node)
            pair = self.both.get(self._parts(first)) if first in self.second else None
            if pair is not None:
                self.here[node] = self.f.element(pair, int(first != node))
            elif operation == CONSTANT:
                return self._constant(node, self.graph.values[self.graph.first[node]])
            elif operation == INPUT:
                self.here[node] = self.f.load_at(self.inputs, self.graph.first[node] - MIDDLE)
            else:
                self.here[node] = self.f.load_at(self.between, self.slot[node] - MIDDLE)
        return self.here[node]

    def _constant(self, node: int, number: float) -> Value:
        """Return a constant, loaded again if its last use is far back."""
        if number == 0:
            return constant(number, self.f.vector)
        last, value = self.constant_at.get(node, (-RECENT, None))
        if value is None or self.position - last >= RECENT:
            place = len(self.constants) - MIDDLE
            value = self.f.broadcast(self.f.load_at(self.own_constants, place, self.f.number))
            self.constants.append(number)
        self.constant_at[node] = self.position, value
        return value

    def _cross(self, node: int, free: dict[int, list[int]]) -> None:
        parts = self._parts(node)
        slots = free[len(parts)]
        slot = slots.pop() if slots else self.slots
        self.slots = max(self.slots, slot + len(parts))
        self.slot |= {part: slot + k for k, part in enumerate(parts)}
        x = self.both[parts] if len(parts) > 1 else self._value(node)
        self.f.store(x, self.f.at(self.between, slot - MIDDLE), align=self.lanes.unit if len(parts) > 1 else None)

    def _results(self, node: int) -> None:
        for place in self.wanted.get(node, ()):
            self.f.store_at(self._value(node), self.out, place - MIDDLE)
