"""Translation of one kernel, for given argument types, to an LLVM function."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UnsupportedError
from . import arithmetic, arrays, masks
from .body import Body
from .expressions import static
from .fused_multiply_add import fused
from .statements import write
from .syntax import branches, registers, statements, tree_of
from .types import LAYOUTS, MASK, NONE, Array, Record, Scalar, Type, Value, items_of, parts_of, record, unified

if TYPE_CHECKING:
    from .module import Module

RESULT = "return"  # no name of a variable
PARAMETER = re.compile(r"%a\d+\.\d+")
# kernels whose loops are vectorized even in the longest modules: those over rows, and over all results
WIDE = {
    f"treesim.kernels.{name}"
    for name in (
        "algebra.elimination",
        "contact.admm",
        "contact.delassus",
        "contact.pgs",
        "contact.problem",
        "entries.status",
    )
}
OTHER_LOOP = ", !llvm.loop !6"
FEW = 8  # parts of a result, of which literals are returned as well
MOST_IN_REGISTERS = 40  # parts of a result
WORDS = {"ptr", "i64", "double", "i1"}  # LLVM's types that a word of memory holds
MASKED = "%mask"  # mask of the lanes to which a kernel may write
MOST_TRIES = 50  # types of variables that are found to be wider


@dataclass(frozen=True)
class Compiled:
    """Function of a module.

    symbol: its name. result: the value returned; literal parts are known to callers. takes: indices of the
    argument parts that it uses. leaves: whether its result refers to memory that the caller must release. passes:
    {part of the result: part of the arguments} of parts that are arguments, and known to callers, too.
    Results of many parts are returned through memory: LLVM's interprocedural constant propagation takes seconds
    for tuples of hundreds of parts.
    """

    symbol: str
    result: Value
    takes: list[int]
    leaves: bool
    passes: dict[int, int]

    def arguments(self, types: Sequence[Type], parts: Sequence[str]) -> str:
        """Return the argument list of a call, given the parts of all arguments."""
        kinds = [part for kind in types for part in parts_of(kind)]
        return ", ".join(["ptr %arena", *(f"{kinds[k]} {parts[k]}" for k in self.takes)])

    @cached_property
    def gives(self) -> list[int]:
        """Indices of the parts of the result that it returns."""
        return _returned(self.result, self.passes)

    @cached_property
    def kinds(self) -> list[str]:
        """LLVM's types of these parts."""
        kinds = parts_of(self.result.type)
        return [kinds[k] for k in self.gives]

    @cached_property
    def in_memory(self) -> bool:
        """True if the parts are returned through memory."""
        return len(self.gives) > MOST_IN_REGISTERS and WORDS.issuperset(self.kinds)


class Slot(NamedTuple):
    """Variable in memory: its type, and the addresses of its parts."""

    type: Type
    places: tuple[str, ...]


class Wider(Exception):
    """Exception for a variable that is assigned a value of a wider type; the translation restarts with that type."""

    def __init__(self, name: str, kind: Type) -> None:
        super().__init__(name)
        self.name, self.kind = name, kind


def compile_function(
    module: Module, function: FunctionType, types: Sequence[Type], symbol: str, masked: bool = False
) -> Compiled:
    """Add a kernel for given argument types to a module; masked: it receives the mask of lanes to which it may write.

    Raises UnsupportedError, naming the line, for unsupported syntax.
    """
    tree, wider = tree_of(function), {}  # type: ignore[var-annotated]
    returns_arrays = False
    for _ in range(MOST_TRIES):
        body = FunctionBody(module, function, tree, wider, returns_arrays, masked)
        try:
            result = body.run(types)
        except Wider as found:
            wider[found.name] = found.kind
            continue
        except UnsupportedError as error:
            if getattr(error, "placed", False):  # by a called kernel
                raise
            raise _placed(error, function, body.node) from error
        if _holds_arrays(result.type) == returns_arrays:
            passes = _passed(types, result)
            takes = body.takes(types, [result.parts[k] for k in _returned(result, passes)])
            compiled = Compiled(symbol, result, takes, body.allocates and returns_arrays, passes)
            module.functions.append(body.text(compiled, types))
            return compiled
        returns_arrays = not returns_arrays
    raise UnsupportedError(f"{function.__qualname__}: no types fit its variables")


def _placed(error: UnsupportedError, function: FunctionType, node: ast.AST) -> UnsupportedError:
    """Return the error with file and line of the kernel."""
    place = f"{function.__code__.co_filename}:{getattr(node, 'lineno', '?')}"
    placed = UnsupportedError(f"{place}: in kernel {function.__name__!r}: {error}")
    placed.placed = True  # type: ignore[attr-defined]
    return placed


@lru_cache(maxsize=4096)
def _names(k: int, kind: Type) -> tuple[str, ...]:
    """Return the registers of the parts of argument k."""
    return tuple(f"%a{k}.{j}" for j in range(len(parts_of(kind))))


def _parameters(types: Sequence[Type]) -> list[str]:
    """Return the registers of the parts of all arguments."""
    return [name for k, kind in enumerate(types) for name in _names(k, kind)]


def _passed(types: Sequence[Type], result: Value) -> dict[int, int]:
    """Return {part of the result: part of the arguments} of those parts of a long result that are arguments."""
    if len(result.parts) <= FEW:
        return {}
    places = {name: k for k, name in enumerate(_parameters(types))}
    return {k: places[part] for k, part in enumerate(result.parts) if part in places}


def _returned(result: Value, passes: dict[int, int]) -> list[int]:
    """Return the indices of the parts of a result that a function returns."""
    few = len(result.parts) <= FEW
    return [k for k, part in enumerate(result.parts) if few or (part.startswith("%") and k not in passes)]


def _holds_arrays(kind: Type) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Record) and any(map(_holds_arrays, kind.items)))


class FunctionBody(Body):
    """Kernel under translation: its variables and instructions."""

    def __init__(
        self,
        module: Module,
        function: FunctionType,
        tree: ast.FunctionDef,
        wider: dict[str, Type],
        arrays: bool,
        masked: bool = False,
    ) -> None:
        super().__init__(module.flags(function))
        self.masked, self.mask = masked, MASKED if masked else None
        self.module, self.function, self.tree, self.wider = module, function, tree, wider
        self.loop_kind = "" if function.__module__ in WIDE else OTHER_LOOP
        self.returns_arrays = arrays
        self.registers = registers(tree)
        self.names: dict[str, Value | Slot] = {}
        self.node: ast.AST = tree
        returns = [node for node in statements(tree) if isinstance(node, ast.Return)]
        self.ends_once = len(returns) == 1 and tree.body[-1] is returns[0]
        self.exit = "exit"

    def run(self, types: Sequence[Type]) -> Value:
        """Translate the whole function; return its result."""
        names = self._arguments(types)
        for k, (name, kind) in enumerate(zip(names, types, strict=True)):
            self.assign(name, Value(kind, _names(k, kind)))
        write(self, self.tree.body)
        if self.ends_once:
            return self.names.get(RESULT, NONE)  # type: ignore[return-value]
        if RESULT not in self.names:
            return NONE
        if not self.ended:
            self.give_back(None)  # as Python does at the end of a function
        self.begin(self.exit)
        return self.read(RESULT)

    def _arguments(self, types: Sequence[Type]) -> list[str]:
        given = self.tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or len(given.args) != len(types):
            raise UnsupportedError(f"{self.function.__name__!r} does not take {len(types)} arguments")
        return [argument.arg for argument in given.args]

    def takes(self, types: Sequence[Type], returned: Sequence[str]) -> list[int]:
        """Return the indices of argument parts that are used; of large tuples that are passed on, these are few."""
        read = {name for line in (*self.lines, *returned) for name in PARAMETER.findall(line)}
        return [k for k, name in enumerate(_parameters(types)) if name in read]

    def text(self, compiled: Compiled, types: Sequence[Type]) -> str:
        """Return the function as LLVM IR."""
        kept = self.allocates and not self.returns_arrays
        if kept:
            self.do("call void @release(ptr %arena, ptr %before)")
        self._return(compiled)
        parameters = compiled.arguments(types, _parameters(types))
        if self.masked:
            parameters += f", {MASK.llvm} {MASKED}"
        if compiled.in_memory:
            parameters += ", ptr %out"
        return "\n".join([
            f"define internal {self.structure(compiled)} @{compiled.symbol}({parameters}) "
            f"{self.module.attributes(self.function)} {{",
            "entry:",
            *self.memory,
            *(["  %before = load ptr, ptr %arena"] if kept else []),
            *(fused(self.lines) if self.module.fuses else self.lines),
            "}",
        ])  # fmt: skip

    def _return(self, compiled: Compiled) -> None:
        parts = [compiled.result.parts[k] for k in compiled.gives]
        whole, structure = "undef", self.structure(compiled)
        for k, (kind, part) in enumerate(zip(compiled.kinds, parts, strict=True)):
            if compiled.in_memory:
                self.do(f"store {kind} {part}, ptr {self.word('%out', k)}")
            else:
                whole = self.get(f"insertvalue {structure} {whole}, {kind} {part}, {k}")
        self.do("ret void" if structure == "void" else f"ret {structure} {whole}")

    def assign(self, name: str, value: Value) -> None:
        """Assign a value to a variable; raises Wider if its type is too narrow."""
        if name in self.registers or (name == RESULT and self.ends_once):
            self.names[name] = value
            return
        slot = self.names.get(name)
        if self.mask is not None:
            value = fitted(self, value, masks.on_lanes(value.type))
            if isinstance(slot, Slot) and unified(slot.type, value.type) == slot.type:
                value = masks.merged(self, self.mask, value, self.read(name))
        if not isinstance(slot, Slot):
            kind = unified(self.wider.get(name, value.type), value.type)
            slot = self.names[name] = Slot(kind, tuple(self.reserve(part) for part in parts_of(kind)))
        wide = unified(slot.type, value.type)
        if wide != slot.type:
            raise Wider(name, wide)
        self.store(parts_of(wide), fitted(self, value, wide).parts, slot.places)

    def read(self, name: str) -> Value:
        """Return the value of a variable, or of a name outside the kernel."""
        found = self.names.get(name)
        if isinstance(found, Value):
            return found
        if isinstance(found, Slot):
            return Value(found.type, self.load(parts_of(found.type), found.places))
        if name in self.function.__code__.co_varnames:
            raise UnsupportedError(f"{name!r} is read further up in the text than it is assigned")
        return static(self.module.thing(self.function, name))

    def give_back(self, value: Value | None) -> None:
        """Generate a return statement."""
        self.assign(RESULT, NONE if value is None else value)
        if self.mask != (MASKED if self.masked else None):
            raise UnsupportedError("lanes cannot return one before the other")
        if not self.ends_once:
            self.jump(self.exit)

    def call(self, function: FunctionType, given: Sequence[Value]) -> Value:
        """Generate the call of another kernel; return its result."""
        missing = function.__code__.co_argcount - len(given)
        defaults = list(function.__defaults__ or ())
        if missing > 0:
            given = [*given, *(static(default) for default in defaults[len(defaults) - missing :])]
        types = tuple(value.type for value in given)
        masked = self.mask is not None and (any(map(masks.may_be_written, types)) or branches(tree_of(function)))
        callee = self.module.compiled(function, types, masked)
        self.allocates |= callee.leaves
        known = [part for value in given for part in value.parts]
        arguments = callee.arguments(types, known)
        if masked:
            arguments += f", {MASK.llvm} {self.mask}"
        result = callee.result
        parts = [*result.parts]
        for k, place in callee.passes.items():
            parts[k] = known[place]
        for k, part in zip(callee.gives, self._found(callee, arguments), strict=True):
            if parts[k].startswith("%"):
                parts[k] = part
        return Value(result.type, tuple(parts))

    def _found(self, callee: Compiled, arguments: str) -> list[str]:
        """Generate a call; return the registers of the parts that it returns."""
        structure = self.structure(callee)
        if callee.in_memory:
            out = self.reserve(f"[{len(callee.kinds)} x i64]")
            self.do(f"call void @{callee.symbol}({arguments}, ptr {out})")
            return [self.get(f"load {kind}, ptr {self.word(out, k)}") for k, kind in enumerate(callee.kinds)]
        call = f"call {structure} @{callee.symbol}({arguments})"
        if structure == "void":
            self.do(call)
            return []
        whole = self.get(call)
        return [self.get(f"extractvalue {structure} {whole}, {k}") for k in range(len(callee.kinds))]

    def structure(self, function: Compiled) -> str:
        """Return LLVM's return type of a function."""
        return "void" if function.in_memory else self.module.structure(function.kinds)

    def word(self, address: str, k: int) -> str:
        """Return the address of the k-th word in memory."""
        return self.get(f"getelementptr inbounds i64, ptr {address}, i64 {k}") if k else address


def fitted(body: Body, value: Value, kind: Type) -> Value:
    """Convert a value to a wider type."""
    if value.type == kind:
        return value
    if isinstance(kind, Scalar):
        return arithmetic.converted(body, value, kind)
    if isinstance(kind, Record):
        return record([fitted(body, *pair) for pair in zip(items_of(value), kind.items, strict=True)], kind.maker)
    if isinstance(kind, Array) and LAYOUTS.index(kind.layout) > LAYOUTS.index(value.type.layout):
        found = [x.parts[0] for x in arrays.strides(body, value)]
        return Value(kind, (*value.parts[: 1 + kind.axes], *found[: kind.strides]))
    return Value(kind, value.parts)
