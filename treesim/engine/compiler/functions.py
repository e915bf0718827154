"""One kernel, for given types of its arguments, as an LLVM function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UnsupportedError
from . import arithmetic, arrays, masks
from .body import Body
from .expressions import static
from .source import branches, registers, statements, tree_of
from .statements import write
from .types import (
    LAYOUTS,
    MASK,
    NONE,
    Array,
    Record,
    Scalar,
    Type,
    Value,
    items_of,
    parts_of,
    record,
    unified,
)

if TYPE_CHECKING:
    from .module import Module

RESULT = "return"  # no name of a variable
MASKED = "%mask"  # where the lanes are that a kernel may write on
MOST_TRIES = 50  # types of variables that are found to be wider


class Compiled(NamedTuple):
    """A function of a module: its name there, the type of its result, and whether it leaves memory to its caller."""

    symbol: str
    result: Type
    leaves: bool


class Slot(NamedTuple):
    """A variable in memory: its type, and where its parts are."""

    type: Type
    places: tuple[str, ...]


class Wider(Exception):
    """A variable was given a value that its type does not contain: begin again with a wider one."""

    def __init__(self, name: str, kind: Type) -> None:
        super().__init__(name)
        self.name, self.kind = name, kind


def compile_function(
    module: Module, function: FunctionType, types: Sequence[Type], symbol: str, masked: bool = False
) -> Compiled:
    """Add a kernel to a module, for such arguments; masked: it is told on which lanes it may write. Raises
    UnsupportedError, telling the line, for what kernels cannot hold."""
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
            raise _placed(error, function, body.node) from error
        if _holds_arrays(result.type) == returns_arrays:
            module.functions.append(body.text(symbol, types, result))
            return Compiled(symbol, result.type, body.allocates and returns_arrays)
        returns_arrays = not returns_arrays
    raise UnsupportedError(f"{function.__qualname__}: no types fit its variables")


def _placed(error: UnsupportedError, function: FunctionType, node: ast.AST) -> UnsupportedError:
    """The error with the place in the kernel's text, unless it has one from what that calls."""
    if getattr(error, "placed", False):
        return error
    place = f"{function.__code__.co_filename}:{getattr(node, 'lineno', '?')}"
    placed = UnsupportedError(f"{place}: in kernel {function.__name__!r}: {error}")
    placed.placed = True  # type: ignore[attr-defined]
    return placed


def _holds_arrays(kind: Type) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Record) and any(map(_holds_arrays, kind.items)))


class FunctionBody(Body):
    """A kernel's variables, and its text while it is written."""

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
        self.returns_arrays = arrays
        self.registers = registers(tree)
        self.names: dict[str, Value | Slot] = {}
        self.node: ast.AST = tree
        returns = [node for node in statements(tree) if isinstance(node, ast.Return)]
        self.ends_once = len(returns) == 1 and tree.body[-1] is returns[0]
        self.exit = "exit"

    def run(self, types: Sequence[Type]) -> Value:
        """Write the whole function; return its result."""
        names = self._arguments(types)
        for k, (name, kind) in enumerate(zip(names, types, strict=True)):
            self.assign(name, Value(kind, tuple(f"%a{k}.{j}" for j in range(len(parts_of(kind))))))
        write(self, self.tree.body)
        if self.ends_once:
            return self.names.get(RESULT, NONE)  # type: ignore[return-value]
        if RESULT not in self.names:
            return NONE
        if not self.ended:
            self.give_back(None)  # as Python does where a text ends
        self.begin(self.exit)
        return self.read(RESULT)

    def _arguments(self, types: Sequence[Type]) -> list[str]:
        given = self.tree.args
        if given.vararg or given.kwarg or given.kwonlyargs or len(given.args) != len(types):
            raise UnsupportedError(f"{self.function.__name__!r} does not take {len(types)} arguments")
        return [argument.arg for argument in given.args]

    def text(self, symbol: str, types: Sequence[Type], result: Value) -> str:
        """The function in LLVM's words."""
        parameters = [f"{part} %a{k}.{j}" for k, kind in enumerate(types) for j, part in enumerate(parts_of(kind))]
        parameters += [f"{MASK.llvm} {MASKED}"] * self.masked
        kinds = parts_of(result.type)
        kept = self.allocates and not self.returns_arrays
        if kept:
            self.do("call void @release(ptr %arena, ptr %before)")
        self._return(kinds, result.parts)
        return "\n".join([
            f"define internal {structure(kinds)} @{symbol}({', '.join(['ptr %arena', *parameters])}) "
            f"{self.module.attributes(self.function)} {{",
            "entry:",
            *self.memory,
            *(["  %before = load ptr, ptr %arena"] if kept else []),
            *self.lines,
            "}",
        ])  # fmt: skip

    def _return(self, kinds: Sequence[str], parts: Sequence[str]) -> None:
        if not kinds:
            self.do("ret void")
            return
        whole = "undef"
        for k, (kind, part) in enumerate(zip(kinds, parts, strict=True)):
            whole = self.get(f"insertvalue {structure(kinds)} {whole}, {kind} {part}, {k}")
        self.do(f"ret {structure(kinds)} {whole}")

    def assign(self, name: str, value: Value) -> None:
        """Give a variable a value. Raises Wider if its type does not contain it."""
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
        """The value of a variable, or of a name outside the kernel."""
        found = self.names.get(name)
        if isinstance(found, Value):
            return found
        if isinstance(found, Slot):
            return Value(found.type, self.load(parts_of(found.type), found.places))
        if name in self.function.__code__.co_varnames:
            raise UnsupportedError(f"{name!r} is read further up in the text than it is assigned")
        return static(self.module.thing(self.function, name))

    def give_back(self, value: Value | None) -> None:
        """End the function with a result."""
        self.assign(RESULT, NONE if value is None else value)
        if self.mask != (MASKED if self.masked else None):
            raise UnsupportedError("lanes cannot return one before the other")
        if not self.ends_once:
            self.jump(self.exit)

    def call(self, function: FunctionType, given: Sequence[Value]) -> Value:
        """The result of another kernel."""
        missing = function.__code__.co_argcount - len(given)
        defaults = list(function.__defaults__ or ())
        if missing > 0:
            given = [*given, *(static(default) for default in defaults[len(defaults) - missing :])]
        types = tuple(value.type for value in given)
        masked = self.mask is not None and (any(map(masks.may_be_written, types)) or branches(tree_of(function)))
        callee = self.module.compiled(function, types, masked)
        self.allocates |= callee.leaves
        arguments = [f"{part} {x}" for v in given for part, x in zip(parts_of(v.type), v.parts, strict=True)]
        arguments += [f"{MASK.llvm} {self.mask}"] * masked
        kinds = parts_of(callee.result)
        call = f"call {structure(kinds)} @{callee.symbol}({', '.join(['ptr %arena', *arguments])})"
        if not kinds:
            self.do(call)
            return Value(callee.result, ())
        whole = self.get(call)
        return Value(callee.result, tuple(
            self.get(f"extractvalue {structure(kinds)} {whole}, {k}") for k in range(len(kinds))
        ))  # fmt: skip


def structure(kinds: Sequence[str]) -> str:
    """LLVM's type of several parts together."""
    return f"{{ {', '.join(kinds)} }}" if kinds else "void"


def fitted(body: Body, value: Value, kind: Type) -> Value:
    """A value as one of a type that contains its own."""
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
