"""Syntax tree of a kernel, and analysis of its variables."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import UnsupportedError

Path = tuple[int, ...]


class Place(NamedTuple):
    """Place where a variable is read or assigned: enclosing blocks, outermost first, and position in the source."""

    blocks: Path
    order: int


def tree_of(function: Any) -> ast.FunctionDef:
    """Return the syntax tree of a function; raises UnsupportedError if its source is not available."""
    code = function.__code__
    found = _definitions(code.co_filename, "".join(linecache.getlines(code.co_filename)))
    tree = found.get((code.co_name, code.co_firstlineno))
    if tree is None:
        raise UnsupportedError(
            f"the text of kernel {function.__qualname__!r} is not in {code.co_filename!r}: define it in a file"
        )
    return tree


@lru_cache(maxsize=256)
def _definitions(filename: str, text: str) -> dict[tuple[str, int], ast.FunctionDef]:
    found = (node for node in statements(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {(x.name, min(x.lineno, *(y.lineno for y in x.decorator_list), x.lineno)): x for x in found}


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the direct child statements of a module, function or statement.

    Expressions are not traversed, which would take most of the time at the beginning of a compilation.
    """
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        found = getattr(node, block, ())
        yield from found if isinstance(found, list) else ()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a module, a function or a statement."""
    for statement in inside(node):
        yield statement
        yield from statements(statement)


def loops_deep(node: ast.AST) -> int:
    """Return the nesting depth of loops."""
    return isinstance(node, ast.For | ast.While) + max(map(loops_deep, inside(node)), default=0)


def branches(tree: ast.FunctionDef) -> bool:
    """Return whether a function has statements that run conditionally."""
    return any(isinstance(node, ast.If | ast.While) for node in statements(tree))


def registers(tree: ast.FunctionDef) -> set[str]:
    """Return the variables that need no memory.

    These are assigned at one place, before and around all uses; or never read; or loop counters that are not
    used outside. Others are in memory, which LLVM promotes to registers.
    """
    uses = _Uses()
    for argument in tree.args.args:
        uses.stored.setdefault(argument.arg, []).append(uses.here())
    uses.block(tree.body)
    return {name for name in uses.stored if name not in uses.loaded or uses.once(name) or uses.counts(name)}


class _Uses(ast.NodeVisitor):
    """Visitor that collects the places where every variable is read and assigned."""

    def __init__(self) -> None:
        self.stored: dict[str, list[Place]] = {}
        self.loaded: dict[str, list[Place]] = {}
        self.counters: dict[str, int] = {}  # how often a loop counts with it
        self.path: Path = ()
        self.order = self.blocks = 0

    def here(self) -> Place:
        self.order += 1
        return Place(self.path, self.order)

    def block(self, statements: list[ast.stmt]) -> None:
        """Visit statements that run together or not at all."""
        before, self.blocks = self.path, self.blocks + 1
        self.path = (*before, self.blocks)
        for statement in statements:
            self.visit(statement)
        self.path = before

    def once(self, name: str) -> bool:
        """Return whether a variable is assigned at one place, before and around all uses."""
        (stored, *others), loaded = self.stored[name], self.loaded.get(name, [])
        return not others and all(_inside(x, stored) and x.order > stored.order for x in loaded)

    def counts(self, name: str) -> bool:
        """Return whether a variable is assigned by loops only, not nested, and read in their bodies only."""
        stored = self.stored[name]
        apart = not any(_inside(x, y) for x in stored for y in stored if x is not y)
        return (
            apart
            and len(stored) == self.counters.get(name, 0)
            and all(any(_inside(x, place) for place in stored) for x in self.loaded.get(name, []))
        )

    def visit_Name(self, node: ast.Name) -> None:
        places = self.loaded if isinstance(node.ctx, ast.Load) else self.stored
        places.setdefault(node.id, []).append(self.here())

    def visit_Assign(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self.visit(node.target)
        if isinstance(node.target, ast.Name):
            self.loaded.setdefault(node.target.id, []).append(self.here())

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self.block(node.body)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        target: list[ast.stmt] = [ast.Expr(node.target)]
        if isinstance(node.target, ast.Name):
            self.counters[node.target.id] = self.counters.get(node.target.id, 0) + 1
        self.block(target + node.body)


def _inside(inner: Place, outer: Place) -> bool:
    return inner.blocks[: len(outer.blocks)] == outer.blocks
