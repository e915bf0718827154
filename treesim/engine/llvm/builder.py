"""Builder of LLVM IR, instruction by instruction: functions name their values, modules declare what is called.

Types and instructions have LLVM's names. Plain numbers are allowed where another operand, or the called
function, determines their type. Floating-point operations are strictly IEEE 754's. Memory has the natural
alignment of its type unless specified. Instructions are lines of text: for a trace's operations, objects of
llvmlite's `ir` take ten times as long to create, and LLVM three times as long to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .lanes import Lanes
from .values import (
    I1,
    I8,
    I32,
    I64,
    PTR,
    VOID,
    Operand,
    Value,
    as_many,
    common_type,
    constant,
    integers,
    operand_text,
    pair_of,
    typed,
)  # fmt: skip

DTYPES = {I8: np.uint8, I32: np.int32, "float": np.float32, "double": np.float64}


def _aligned(align: int | None) -> str:
    return f", align {align}" if align else ""


class Module:
    """Functions and constants, and declarations of called functions; `lanes` is the default vector type.

    prefetches: whether `Function.prefetch` appends anything. has_library: whether the C library may be called. fuses:
    whether products are fused with sums.
    helpers: functions called by `Function.helper`, with their lanes; the user of the module writes them
    (`elementary.write_helpers`).
    """

    def __init__(self, lanes: Lanes, prefetches: bool = True, has_library: bool = True, fuses: bool = True) -> None:
        self.lanes, self.prefetches, self.has_library = lanes, prefetches, has_library
        self.fuses = fuses and has_library
        self.functions: list[Function] = []
        self.helpers: dict[tuple[str, Lanes], None] = {}
        self._constants: list[str] = []
        self.declared: dict[str, str] = {}  # functions of LLVM's or the C library's

    def function(self, name: str, parameters: str, result: str = VOID, **kind: Any) -> Function:
        """Return a new function without instructions; see `Function`."""
        self.functions.append(Function(self, name, parameters, result, **kind))
        return self.functions[-1]

    def constant(self, name: str, kind: str, content: str, align: int | None = None) -> Value:
        """Return the address of a constant."""
        self._constants.append(f"@{name} = internal constant {kind} {content}{_aligned(align)}")
        return Value(f"@{name}", PTR)

    def array(self, name: str, numbers: Sequence[float] | np.ndarray, kind: str, align: int | None = None) -> Value:
        """Return the address of constant numbers of a type: i8, i32, float or double."""
        content = np.array(numbers, DTYPES[kind])
        text = 'c"\\' + content.tobytes().hex("\\") + '"' if content.size else "zeroinitializer"
        return self.constant(name, f"[{content.nbytes} x {I8}]", text, align or content.itemsize)

    def addresses(self, name: str, functions: Sequence[Function]) -> Value:
        """Return the address of a constant list of functions."""
        places = ", ".join(f"{PTR} @{f.name}" for f in functions)
        return self.constant(name, f"[{len(functions)} x {PTR}]", f"[{places}]")

    def text(self) -> str:
        """Return the module as LLVM IR."""
        functions = [function.text() for function in self.functions]
        return "\n".join(["!0 = !{i32 1}", *self.declared.values(), *self._constants, *functions])


class Loop:
    """Counted loop under construction.

    k: the counter. values: loop-carried values. The body replaces them by those for the next iteration; after
    the loop they are the last ones.
    """

    def __init__(self, k: Value, values: Sequence[Value]) -> None:
        self.k, self.values = k, [*values]


def _of_reals(word: str) -> Callable[..., Value]:
    def instruction(self: Function, x: Operand, y: Operand) -> Value:
        return self.arithmetic(word, x, y)

    return instruction


def _of_integers(word: str) -> Callable[..., Value]:
    def instruction(self: Function, x: Operand, y: Operand) -> Value:
        kind = common_type(x, y)
        return self.make(f"{word} {kind} {operand_text(x, kind)}, {operand_text(y, kind)}", kind)

    return instruction


class Function:
    """Function under construction: instructions are appended at the end, and return their values.

    parameters: types and names, as in "ptr noalias in, i64 count", which become `arguments`. lanes: default
    types `vector` and `number` of loads and of address steps. aligned_stack: aligns the stack, so that spilled
    vectors do not cross cache lines. exported: visible from outside by its name.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        parameters: str,
        result: str = VOID,
        lanes: Lanes | None = None,
        aligned_stack: bool = False,
        exported: bool = False,
    ) -> None:
        self.module, self.name, self.result = module, name, result
        self.lanes = lanes or module.lanes
        self._use(self.lanes)
        words = [parameter.rpartition(" ") for parameter in parameters.split(", ")]
        self.arguments = [Value(f"%{label}", kind.removesuffix(" noalias")) for kind, _, label in words]
        taken = ", ".join(f"{kind} %{label}" for kind, _, label in words)
        linkage, attributes = ("", "nounwind") if exported else ("internal ", "noinline nounwind")
        stack = " alignstack(64)" if aligned_stack else ""
        self._lines = [f"define {linkage}{result} @{name}({taken}) {attributes}{stack} {{", "entry:"]
        self._made = self._labels = 0
        self._block: str | None = "entry"  # current block, until it has ended

    def _use(self, lanes: Lanes) -> None:
        self.lanes, self.vector, self.number = lanes, lanes.vector, lanes.number
        self.condition = as_many(I1, self.vector)

    @contextmanager
    def on_lanes(self, lanes: Lanes) -> Iterator[None]:
        """Append instructions for other lanes within the block."""
        own = self.lanes
        self._use(lanes)
        yield
        self._use(own)

    def text(self) -> str:
        """Return the function as LLVM IR."""
        return "\n".join([*self._lines, "}"])

    def make(self, instruction: str, kind: str) -> Value:
        """Append an instruction given as text; kind: type of its value."""
        name = f"%{self._made}"
        self._made += 1
        self._lines.append(f"  {name} = {instruction}")
        return Value(name, kind)

    def do(self, instruction: str) -> None:
        """Append an instruction without a value, given as text."""
        self._lines.append(f"  {instruction}")

    # ---- arithmetic of two operands; bitwise and, or, exclusive or

    fadd, fsub, fmul, fdiv = map(_of_reals, ("fadd", "fsub", "fmul", "fdiv"))
    add, sub, mul, udiv, urem = map(_of_integers, ("add", "sub", "mul", "udiv", "urem"))
    both, either, xor, shl, ashr, lshr = map(_of_integers, ("and", "or", "xor", "shl", "ashr", "lshr"))

    def arithmetic(self, word: str, x: Operand, y: Operand) -> Value:
        """Append a floating-point operation by its name."""
        kind = common_type(x, y)
        return self.make(f"{word} {kind} {operand_text(x, kind)}, {operand_text(y, kind)}", kind)

    def icmp(self, relation: str, x: Operand, y: Operand, word: str = "icmp") -> Value:
        """Append a comparison of integers or addresses."""
        kind = common_type(x, y)
        return self.make(
            f"{word} {relation} {kind} {operand_text(x, kind)}, {operand_text(y, kind)}", as_many(I1, kind)
        )

    def fcmp(self, relation: str, x: Operand, y: Operand) -> Value:
        """Append a comparison of floating-point numbers."""
        return self.icmp(relation, x, y, "fcmp")

    def fneg(self, x: Value) -> Value:
        """Append -x."""
        return self.make(f"fneg {typed(x)}", x.type)

    def multiply_add(self, x: Operand, y: Operand, z: Operand) -> Value:
        """Append x y + z of vectors, rounded once; twice where the module does not fuse them, or no library can."""
        if self.module.fuses:
            return self.intrinsic("fma", x, y, z)
        return self.fadd(self.fmul(constant(x, self.vector), y), z)

    def maximum(self, x: Operand, y: Operand) -> Value:
        """Append the elementwise maximum of two vectors; the second where they are equal, or one is NaN."""
        return self.select(self.fcmp("ogt", constant(x, self.vector), y), x, y)

    def minimum(self, x: Operand, y: Operand) -> Value:
        """Append the elementwise minimum of two vectors; the second where they are equal, or one is NaN."""
        return self.select(self.fcmp("olt", constant(x, self.vector), y), x, y)

    def select(self, condition: Value, x: Operand, y: Operand) -> Value:
        """Append x where the condition holds, y elsewhere."""
        kind = common_type(x, y)
        return self.make(
            f"select {typed(condition)}, {kind} {operand_text(x, kind)}, {kind} {operand_text(y, kind)}", kind
        )

    def cast(self, word: str, x: Value, kind: str) -> Value:
        """Append a conversion to another type by its name."""
        return self.make(f"{word} {typed(x)} to {kind}", kind)

    # ---- memory

    def at(self, pointer: Value, index: Operand, kind: str | None = None) -> Value:
        """Append the address of an element of a contiguous array; kind: of its elements, by default vectors.

        A vector of indices yields a vector of addresses.
        """
        if index == 0:
            return pointer
        base = f"getelementptr {kind or self.vector}, {PTR} {pointer.name}"
        if isinstance(index, Value):
            return self.make(f"{base}, {typed(index)}", as_many(PTR, index.type))
        return self.make(f"{base}, {I64} {index}", PTR)

    def load(self, pointer: Value, kind: str | None = None, align: int | None = None) -> Value:
        """Append a load of a vector, or of a value of another type."""
        kind = kind or self.vector
        return self.make(f"load {kind}, {PTR} {pointer.name}{_aligned(align)}", kind)

    def store(self, x: Value, pointer: Value, align: int | None = None) -> None:
        """Append a store."""
        self.do(f"store {typed(x)}, {PTR} {pointer.name}{_aligned(align)}")

    def load_at(self, pointer: Value, index: Operand, kind: str | None = None) -> Value:
        """Append a load of an element of a contiguous array."""
        return self.load(self.at(pointer, index, kind), kind)

    def store_at(self, x: Value, pointer: Value, index: Operand) -> None:
        """Append a store to an element of a contiguous array."""
        self.store(x, self.at(pointer, index, x.type))

    def atomic(self, word: str, pointer: Value, x: Operand) -> Value:
        """Append an atomic read-modify-write of an integer; its value is the one before."""
        return self.make(f"atomicrmw {word} {PTR} {pointer.name}, {I64} {operand_text(x, I64)} monotonic", I64)

    def prefetch(self, pointer: Value, writes: bool) -> None:
        """Append a prefetch of a cache line, for reading or writing."""
        if self.module.prefetches:
            self.library("llvm.prefetch.p0", VOID, pointer, *(constant(k, I32) for k in (writes, 3, 1)))

    # ---- vectors

    def vector_of(self, numbers: Sequence[Value]) -> Value:
        """Append a vector of numbers; remaining lanes are undefined."""
        if self.lanes.width == 1:
            return numbers[0]
        vector = Value("undef", f"<{self.lanes.width} x {numbers[0].type}>")
        for lane, x in enumerate(numbers):
            vector = self.make(f"insertelement {typed(vector)}, {typed(x)}, {I32} {lane}", vector.type)
        return vector

    def shuffle(self, x: Value, y: Value, lanes: Sequence[int]) -> Value:
        """Append a vector of some lanes, at least two, of two vectors, numbered through both."""
        if self.lanes.width == 1:
            return (x, y)[lanes[0]]
        kind = Lanes(self.lanes.single, len(lanes)).vector
        return self.make(f"shufflevector {typed(x)}, {typed(y)}, {typed(integers(lanes))}", kind)

    def broadcast(self, x: Value) -> Value:
        """Append a vector with a number in all lanes."""
        vector = self.vector_of([x])
        if self.lanes.width == 1:
            return vector
        first = f"<{self.lanes.width} x {I32}> zeroinitializer"
        return self.make(f"shufflevector {typed(vector)}, {vector.type} undef, {first}", vector.type)

    def any(self, conditions: Value) -> Value:
        """Append whether the condition holds on any lane."""
        if self.lanes.width == 1:
            return conditions
        return self.library(f"llvm.vector.reduce.or.v{self.lanes.width}{I1}", I1, conditions)

    # ---- calls

    def call(self, function: Function, *arguments: Operand) -> Value:
        """Append the call of a function of this module."""
        given = zip(arguments, function.arguments, strict=True)
        return self._call(f"@{function.name}", function.result, [constant(x, own.type) for x, own in given])

    def library(self, name: str, result: str, *arguments: Value) -> Value:
        """Append the call of a function of LLVM's or the C library's; result: its type."""
        if name not in self.module.declared:
            types = ", ".join([x.type for x in arguments])
            self.module.declared[name] = f"declare {result} @{name}({types})"
        return self._call(f"@{name}", result, arguments)

    def intrinsic(self, word: str, *arguments: Operand) -> Value:
        """Append the call of an LLVM intrinsic on vectors."""
        given = [constant(x, self.vector) for x in arguments]
        return self.library(f"llvm.{word}.{self.lanes.suffix}", self.vector, *given)

    def helper(self, name: str, *arguments: Operand, result: str | None = None) -> Value:
        """Append the call of a helper function of vectors (`elementary`); result: its type, by default a vector."""
        self.module.helpers[name, self.lanes] = None
        given = [constant(x, self.vector) for x in arguments]
        return self._call(f"@{name}.{self.lanes.suffix}", result or self.vector, given)

    def helper_pair(self, name: str, *arguments: Operand) -> tuple[Value, Value]:
        """Append the call of a helper function that returns two values."""
        pair = typed(self.helper(name, *arguments, result=pair_of(self.vector)))
        return self.make(f"extractvalue {pair}, 0", self.vector), self.make(f"extractvalue {pair}, 1", self.vector)

    def sines_and_cosines(self, angles: Sequence[Value], wide: Lanes) -> list[tuple[Value, Value]]:
        """Append sine and cosine of each of several numbers, in one call with vectors of other lanes."""
        x = Value("undef", wide.vector)
        for lane in range(wide.width):  # the last number fills the vector
            number = angles[min(lane, len(angles) - 1)]
            x = self.make(f"insertelement {typed(x)}, {typed(number)}, {I32} {lane}", wide.vector)
        self.module.helpers["sine_and_cosine", wide] = None
        pair = typed(self._call(f"@sine_and_cosine.{wide.suffix}", pair_of(wide.vector), [x]))
        both = [self.make(f"extractvalue {pair}, {part}", wide.vector) for part in range(2)]
        return [(self.element(both[0], lane), self.element(both[1], lane)) for lane in range(len(angles))]

    def element(self, x: Value, lane: int) -> Value:
        """Append a number of a vector."""
        return self.make(f"extractelement {typed(x)}, {I32} {lane}", self.number)

    def call_at(self, pointer: Value, *arguments: Value, result: str = VOID) -> Value:
        """Append the call of a function by its address; result: type of its result."""
        return self._call(pointer.name, result, arguments)

    def _call(self, name: str, result: str, arguments: Sequence[Value]) -> Value:
        line = f"call {result} {name}({', '.join([typed(x) for x in arguments])})"
        if result != VOID:
            return self.make(line, result)
        self.do(line)
        return Value("", VOID)

    # ---- blocks

    def label(self) -> str:
        """Return a new name for a block."""
        self._labels += 1
        return f"b{self._labels}"

    def begin(self, label: str) -> None:
        """Begin a block; the code before continues there unless it has ended."""
        if self._block:
            self.do(f"br label %{label}")
        self._lines.append(f"{label}:")
        self._block = label

    def go_to(self, label: str) -> None:
        """End the block with a branch to another one."""
        self.do(f"br label %{label}")
        self._block = None

    def go_on_if(self, condition: Value, otherwise: str) -> None:
        """Append a conditional branch: continue if the condition holds, else go to another block."""
        label = self.label()
        self._branch(condition, label, otherwise)
        self.begin(label)

    def ret(self, x: Value | None = None) -> None:
        """Append a return."""
        self.do(f"ret {typed(x) if x else VOID}")
        self._block = None

    def ret_pair(self, x: Value, y: Value) -> None:
        """Append a return of two values."""
        kind = pair_of(x.type)
        first = self.make(f"insertvalue {kind} undef, {typed(x)}, 0", kind)
        self.ret(self.make(f"insertvalue {typed(first)}, {typed(y)}, 1", kind))

    def _branch(self, condition: Value, label: str, otherwise: str) -> None:
        self.do(f"br {typed(condition)}, label %{label}, label %{otherwise}")
        self._block = None

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Append code that runs only if a condition holds."""
        end = self.label()
        self.go_on_if(condition, end)
        yield
        self.begin(end)

    @contextmanager
    def forever(self) -> Iterator[str]:
        """Append an endless loop; yields the name of the block after it, for `go_on_if`."""
        first, end = self.label(), self.label()
        self.begin(first)
        yield end
        self.go_to(first)
        self.begin(end)

    @contextmanager
    def loop(
        self, start: Operand, stop: Operand, step: int = 1, carried: Sequence[Value] = (), begins: bool = False
    ) -> Iterator[Loop]:
        """Append a loop: for k in range(start, stop, step).

        carried: initial loop-carried values. begins: whether there is certainly a first iteration.
        """
        initial, label, end, before = [constant(start, I64), *carried], self.label(), self.label(), self._block
        begins = begins or (isinstance(start, int) and isinstance(stop, int) and start < stop)
        if not begins:
            self._branch(self.icmp("slt", start, stop), label, end)
        self.begin(label)
        top = len(self._lines)
        found = [self.make("", x.type) for x in initial]
        loop = Loop(found[0], found[1:])
        yield loop
        left, last = [self.add(loop.k, step), *loop.values], self._block
        self._branch(self.icmp("slt", left[0], stop), label, end)
        ways = [_phi((x, before), (y, last)) for x, y in zip(initial, left, strict=True)]
        self._lines[top : top + len(found)] = [f"  {x.name} = {phi}" for x, phi in zip(found, ways, strict=True)]
        self.begin(end)
        if not begins:
            loop.values = [self.make(phi, x.type) for x, phi in zip(carried, ways[1:], strict=True)]


def _phi(*ways: tuple[Value, str | None]) -> str:
    """Return a phi instruction: a value that depends on the block before."""
    return f"phi {ways[0][0].type} {', '.join(f'[ {x.name}, %{block} ]' for x, block in ways)}"
