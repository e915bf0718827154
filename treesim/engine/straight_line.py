"""LLVM IR from a trace: straight-line code for as many states at once as the processor's vectors have lanes.

The operations are cut into functions of a few thousand, since compilers need more than linear time for long ones;
values that a later function needs go through memory. Around them stands one loop that gathers the lanes of a group of
states from the caller's arrays, and scatters the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .lane_code import HARNESS, JOB_WORDS, residue, splat
from .lane_functions import exponential, sincos, turn
from .lane_transfers import transfers
from .requests import Asked, Requests, array_lines
from .trace import ADD, ARITY, CONSTANT, COS, DIV, EXP, INPUT, LESS, MAX, MIN, MUL, NEG, SIN, SQRT, SUB, Trace

CHUNK = 1500
FAST = "contract nsz arcp nnan ninf"  # as in the generic engine
BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}
CALLS = {SQRT: "sqrt", MAX: "maxnum", MIN: "minnum"}
DECLARATIONS = """
declare $VECTOR @llvm.sqrt.$SUFFIX($VECTOR)
declare $VECTOR @llvm.maxnum.$SUFFIX($VECTOR, $VECTOR)
declare $VECTOR @llvm.minnum.$SUFFIX($VECTOR, $VECTOR)
"""


class Lanes(NamedTuple):
    """A vector type: the number type, and how many of them."""

    single: bool
    width: int

    @property
    def number(self) -> str:
        """LLVM's name of one number."""
        return "float" if self.single else "double"

    @property
    def vector(self) -> str:
        """LLVM's name of the vector."""
        return f"<{self.width} x {self.number}>"

    @property
    def suffix(self) -> str:
        """LLVM's suffix of intrinsics on the vector."""
        return f"v{self.width}f{32 if self.single else 64}"

    @property
    def bytes(self) -> int:
        """Size of the vector in memory."""
        return self.width * (4 if self.single else 8)


class Code(NamedTuple):
    """IR text, and the number of vectors of workspace that its function `share` needs for each thread."""

    text: str
    workspace: int


def straight_line(
    traced: Trace, sizes: Sequence[int], results: Sequence[int], lanes: Lanes, fed_back: int = 0, held: int = 0
) -> Code:
    """Return the IR of a function `share(job)` that works on blocks of states until none of the job's is left.

    sizes, results: numbers of one state in each input and result array. The job points to a table of an address and
    three strides, counted in numbers, for each array: from number to number, from state to state, from step to step.
    Without fed_back, steps is 1. With it, the first fed_back inputs are the first results of the step before, their
    arrays hold the states to start from; the next `held` inputs stay; all others hold an entry for each step. Results
    are written after every `every` steps; the job's status is 1 if one written, or one read at a step, is not finite.
    Every lane sees the same operations in the same order, so a state's result does not depend on where in the batch it
    stands.
    """
    traced, order = distinct(traced, fed_back)
    before, angles = with_turned_inputs(traced, 1)
    first = fed_back + held if fed_back else 0
    soon = [Asked(k, size, False, "%t.soon", "%group.soon") for k, size in enumerate(sizes) if k >= first]
    asked = Requests(soon + results_asked(sizes, results), lanes.width, lanes.bytes // lanes.width)
    chunks, slots = chunk_functions(before, lanes, asked)
    turned = 2 * len(angles)
    calls = [
        f"  %slots = getelementptr $VECTOR, ptr %tmp, i64 {turned}",
        f"  %table = getelementptr $VECTOR, ptr %slots, i64 0\n{asked.table_lines()}\n  call void @turn(ptr %in)",
        *(f"  call void @chunk{k}(ptr %in, ptr %slots, ptr %out)" for k in range(len(chunks))),
    ]
    functions = [turn(angles, traced.inputs, lanes.single), *chunks]
    return wrapped(functions, calls, turned + slots, sizes, results, order, lanes, fed_back, held)


def results_asked(sizes: Sequence[int], results: Sequence[int]) -> list[Asked]:
    """Return what is to be asked for before the results of a step are written; sizes: of the inputs."""
    return [Asked(k, size, True, "%record", "%group") for k, size in enumerate(results, start=len(sizes))]


def with_turned_inputs(traced: Trace, width: int) -> tuple[Trace, list[int]]:
    """The same trace with sines and cosines of inputs as further inputs, and these angles.

    Behind the inputs lie, for each group of `width` angles, their sines and then their cosines.
    """
    graph = traced.graph
    needed = graph.needed(traced.results)
    turned = [k for k in needed if graph.operation[k] in (SIN, COS) and graph.operation[graph.first[k]] == INPUT]
    angles = sorted({graph.first[graph.first[k]] for k in turned})
    place = {angle: traced.inputs + 2 * width * (j // width) + j % width for j, angle in enumerate(angles)}
    changed = graph.copy()
    for k in turned:
        angle = graph.first[graph.first[k]]
        changed.operation[k], changed.first[k] = INPUT, place[angle] + width * (graph.operation[k] == COS)
    return Trace(changed, traced.results, traced.inputs), angles


def distinct(traced: Trace, fed_back: int) -> tuple[Trace, list[int]]:
    """Return the trace with each result once, and which of these stands in each place: mirrored entries and zeros of a
    matrix then go through memory once. What is fed back stays in order."""
    if fed_back:
        return traced, list(range(len(traced.results)))
    own = {node: k for k, node in enumerate(dict.fromkeys(traced.results))}
    return traced._replace(results=list(own)), [own[node] for node in traced.results]


def wrapped(
    functions: Sequence[str],
    calls: Sequence[str],
    slots: int,
    sizes: Sequence[int],
    results: Sequence[int],
    order: Sequence[int],
    lanes: Lanes,
    fed_back: int,
    held: int,
) -> Code:
    """Return the IR of `share`, see straight_line, around `calls` of `functions`, which take a group of states from
    %in through %tmp, of so many slots, to %out; the three follow one another in memory. order: which of the values at
    %out stands in each place of the results."""
    inputs, written = _places(sizes), max(order, default=-1) + 1
    places, lists = _result_places(results, order)
    first = fed_back + held if fed_back else 0  # of those that change with the steps
    text = HARNESS.format(
        inputs=sum(sizes),
        arriving=sum(sizes[:first]),
        crossing=slots,
        calls="\n".join(calls),
        initial=_transfers("gather", "%in", inputs[:first], 0, "0"),
        gathers=_transfers("gather", "%in", inputs[first:], first, "%t"),
        scatters=_transfers("scatter", "%out", places, len(sizes), "%record"),
        words=JOB_WORDS,
        fed_back=sum(sizes[:fed_back]),
    )
    residues = residue("residue_in", sum(sizes[first:])), residue("residue_out", written)
    helpers = sincos(lanes.single), exponential(lanes.single), transfers(lanes.width), *residues
    text = "\n".join([DECLARATIONS, *helpers, *lists, *functions, text])
    return Code(substituted(text, lanes), sum(sizes) + slots + written)


def chunk_functions(traced: Trace, lanes: Lanes, asked: Requests | None = None) -> tuple[list[str], int]:
    """Return the IR of functions chunk0, chunk1, ... (ptr in, ptr tmp, ptr out) that in turn do what a trace does, and
    the number of vectors of tmp, which begin with the table of what is asked for; texts for `substituted`, which need
    DECLARATIONS and `lane_code.sincos`."""
    writer = _Writer(traced, lanes, asked or Requests([], lanes.width, 1))
    return writer.chunks(), writer.slots


def substituted(text: str, lanes: Lanes) -> str:
    """Return a text of IR with the names of a vector type in the place of $VECTOR, $NUMBER and the others."""
    for name, value in (("VECTOR", lanes.vector), ("NUMBER", lanes.number), ("SUFFIX", lanes.suffix),
                        ("LANES", str(lanes.width)), ("BYTES", str(lanes.bytes)),
                        ("UNIT", str(lanes.bytes // lanes.width)), ("FAST", FAST)):  # fmt: skip
        text = text.replace(f"${name}", value)
    return text


def operation_lines(name: str, operation: int, values: Sequence[str]) -> list[str]:
    """Return the lines that make `name` the result of an operation (not sine or cosine) on values."""
    if operation in BINARY:
        return [f"  {name} = {BINARY[operation]} $FAST $VECTOR {values[0]}, {values[1]}"]
    if operation == NEG:
        return [f"  {name} = fneg $FAST $VECTOR {values[0]}"]
    if operation == LESS:
        return [
            f"  {name}.less = fcmp olt $VECTOR {values[0]}, {values[1]}",
            f"  {name} = uitofp <$LANES x i1> {name}.less to $VECTOR",
        ]
    if operation == EXP:
        return [f"  {name} = call $VECTOR @exponential($VECTOR {values[0]})"]
    arguments = ", ".join(f"$VECTOR {value}" for value in values)
    return [f"  {name} = call $FAST $VECTOR @llvm.{CALLS[operation]}.$SUFFIX({arguments})"]


def sine_and_cosine_lines(pair: str, value: str) -> list[str]:
    """Return the lines that make {pair}.0 and {pair}.1 sine and cosine of a value."""
    return [
        f"  {pair} = call {{ $VECTOR, $VECTOR }} @sine_and_cosine($VECTOR {value})",
        *(f"  {pair}.{index} = extractvalue {{ $VECTOR, $VECTOR }} {pair}, {index}" for index in range(2)),
    ]


def _places(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Size and place in the lanes' buffer of each array."""
    return [(size, sum(sizes[:k])) for k, size in enumerate(sizes)]


def _result_places(results: Sequence[int], order: Sequence[int]) -> tuple[list[tuple[int, Any]], list[str]]:
    """Size of each result array, and the place of its first number if all lie in order, else its list; the lists."""
    places: list[tuple[int, Any]] = []
    lists = []
    for k, (size, start) in enumerate(_places(results)):
        own = list(order[start : start + size])
        if own == [own[0] + j for j in range(size)]:
            places.append((size, own[0] if own else 0))
        else:
            places.append((size, f"@list{k}"))
            lists.append(f"@list{k} = internal constant [{size} x i32] [{', '.join(f'i32 {j}' for j in own)}]")
    return places, lists


def _transfers(function: str, buffer: str, places: Sequence[tuple[int, Any]], array: int, step: str) -> str:
    """Calls that move arrays, numbered from `array` on, between the caller's memory at a step and the lanes' buffer.

    places: size of each array, and where it begins in the buffer, or the name of the list of its numbers' places.
    """
    lines = []
    for k, (size, start) in enumerate(places, start=array):
        name = f"%{function}{k}"
        listed = isinstance(start, str)
        if size:
            lines += [
                *array_lines(name, k, step),
                f"  {name}.lanes = getelementptr $VECTOR, ptr {buffer}, i64 {0 if listed else start}",
                f"  call void @{function}{'_listed' if listed else ''}(ptr {name}.here, i64 {size}, "
                f"i64 {name}.element, i64 {name}.state, i64 %group, i64 %last, "
                f"ptr {name}.lanes{f', ptr {start}' if listed else ''})",
            ]
    return "\n".join(lines)


class _Writer:
    """Writes a trace's operations, function by function, and assigns slots to values that cross between them."""

    def __init__(self, traced: Trace, lanes: Lanes, asked: Requests) -> None:
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

    def _sources(self, node: int) -> tuple[int, ...]:
        graph = self.graph
        return (graph.first[node], graph.second[node])[: ARITY[graph.operation[node]]]

    def chunks(self) -> list[str]:
        """Return the functions' texts."""
        free: list[int] = []
        texts = []
        for k in range(max(1, -(-len(self.order) // CHUNK))):
            texts.append(self._chunk(k, self.order[k * CHUNK : (k + 1) * CHUNK], free))
            free += [slot for node, slot in self.slot.items() if self.last_use[node] == k]
        return texts

    def _chunk(self, k: int, nodes: list[int], free: list[int]) -> str:
        self.lines: list[str] = ["  %table = getelementptr $VECTOR, ptr %tmp, i64 0"]
        self.here: dict[int, str] = {}
        for node in nodes:
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
        # spilled vectors stay within a cache line each only on an aligned stack
        arguments, attributes = (
            "ptr noalias %in, ptr noalias %tmp, ptr noalias %out",
            "noinline nounwind alignstack(64)",
        )
        return f"define internal void @chunk{k}({arguments}) {attributes} {{\n{body}\n  ret void\n}}"

    def _operation(self, node: int) -> None:
        graph, name = self.graph, f"%n{node}"
        operation = graph.operation[node]
        values = [self._value(source) for source in self._sources(node)]
        if operation in (SIN, COS):
            self._sine_and_cosine(graph.first[node], values[0])
            return
        self.lines += operation_lines(name, operation, values)
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
                self.here[node] = splat(self.graph.values[self.graph.first[node]], self.lanes.single)
            elif operation == INPUT:
                self._load(node, "%in", self.graph.first[node])
            else:
                self._load(node, "%tmp", self.slot[node])
        return self.here[node]

    def _load(self, node: int, buffer: str, place: int) -> None:
        name = f"%l{node}"
        self.lines.append(f"  {name}.at = getelementptr $VECTOR, ptr {buffer}, i64 {place}")
        self.lines.append(f"  {name} = load $VECTOR, ptr {name}.at, align $BYTES")
        self.here[node] = name

    def _store(self, node: int, buffer: str, place: int) -> None:
        name = f"%s{node}.{buffer[1:]}{place}"
        value = self._value(node)
        self.lines.append(f"  {name} = getelementptr $VECTOR, ptr {buffer}, i64 {place}")
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
