"""Syntax tree of a kernel, and analysis of its variables."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import UnsupportedError

Path = tuple[int, ...]


class Place(NamedTuple):
    """Place where a variable is read or assigned: enclosing blocks, outermost first, and position in the source."""

    blocks: Path
    order: int


@lru_cache(maxsize=4096)
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
    for block in _blocks(node._fields):
        found = getattr(node, block)
        yield from found if isinstance(found, list) else ()


@lru_cache(maxsize=256)
def _blocks(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of a node's fields that may contain statements."""
    return tuple(x for x in ("body", "orelse", "handlers", "finalbody", "cases") if x in fields)


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a module, a function or a statement."""
    for statement in inside(node):
        yield statement
        yield from statements(statement)


@lru_cache(maxsize=4096)
def loops_deep(node: ast.AST) -> int:
    """Return the nesting depth of loops."""
    return isinstance(node, ast.For | ast.While) + max(map(loops_deep, inside(node)), default=0)


@lru_cache(maxsize=4096)
def branches(tree: ast.FunctionDef) -> bool:
    """Return whether a function has statements that run conditionally."""
    return any(isinstance(node, ast.If | ast.While) for node in statements(tree))


@lru_cache(maxsize=4096)
def registers(tree: ast.FunctionDef) -> frozenset[str]:
    """Return the variables that need no memory.

    These are assigned at one place, before and around all uses; or never read; or loop counters that are not
    used outside. Others are in memory, which LLVM promotes to registers.
    """
    uses = _Uses()
    for argument in tree.args.args:
        uses.stored.setdefault(argument.arg, []).append(uses.here())
    uses.block(tree.body)
    names = uses.stored
    return frozenset(name for name in names if name not in uses.loaded or uses.once(name) or uses.counts(name))


class _Uses:
    """Places where every variable of a function is read and assigned.

    Expressions are most of a syntax tree, so they are traversed without `ast.NodeVisitor`, which takes twice as long.
    """

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

    def visit(self, node: ast.AST) -> None:
        """Visit a statement or an expression, and all inside."""
        if isinstance(node, ast.Name):
            places = self.loaded if isinstance(node.ctx, ast.Load) else self.stored
            places.setdefault(node.id, []).append(self.here())
        elif type(node) in STATEMENTS:
            STATEMENTS[type(node)](self, node)
        else:
            for field in node._fields:
                inner = getattr(node, field, None)
                for x in inner if isinstance(inner, list) else (inner,):
                    if isinstance(x, INNER):
                        self.visit(x)

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

    def assignment(self, node: ast.Assign) -> None:
        for part in (node.value, *node.targets):
            self.visit(part)

    def assignment_in_place(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self.visit(node.target)
        if isinstance(node.target, ast.Name):
            self.loaded.setdefault(node.target.id, []).append(self.here())

    def branch(self, node: ast.If) -> None:
        self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def while_loop(self, node: ast.While) -> None:
        self.visit(node.test)
        self.block(node.body)

    def for_loop(self, node: ast.For) -> None:
        self.visit(node.iter)
        target: list[ast.stmt] = [ast.Expr(node.target)]
        if isinstance(node.target, ast.Name):
            self.counters[node.target.id] = self.counters.get(node.target.id, 0) + 1
        self.block(target + node.body)


INNER = ast.stmt, ast.expr, ast.keyword  # nodes with names inside
STATEMENTS: dict[type[ast.AST], Callable[[_Uses, Any], None]] = {  # whose parts run in another order than they are read
    ast.Assign: _Uses.assignment,
    ast.AugAssign: _Uses.assignment_in_place,
    ast.If: _Uses.branch,
    ast.While: _Uses.while_loop,
    ast.For: _Uses.for_loop,
}


def _inside(inner: Place, outer: Place) -> bool:
    return inner.blocks[: len(outer.blocks)] == outer.blocks
