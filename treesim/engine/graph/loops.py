"""Copies of kernels that report the iterations of their loops.

`marked` copies a kernel and the kernels that it calls, except those of one block (`one_block`); the originals do not
change. In the copies every loop calls `mark(site)` at the start of each iteration and `mark(~site)` after its end.
"""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CellType, FunctionType
from typing import Any

from ...kernels.algebra import numbers
from ...kernels.algebra.numbers import is_one_block
from ..argument_checks import is_kernel

NUMBERS = numbers.__name__  # no loops in there
MARK = "_mark_of_loop"


class _Listener(threading.local):
    """Receiver of the marks in this thread."""

    callback: Callable[[int], None] | None = None


_marks = _Listener()
_sites: dict[tuple[str, int], int] = {}


def mark(site: int) -> None:
    """Report that an iteration of the loop `site` starts, or, for ~site, that the loop has ended."""
    if _marks.callback is not None:
        _marks.callback(site)


@contextmanager
def with_callback(callback: Callable[[int], None]) -> Iterator[None]:
    """Call `callback` with every mark of this thread, within the block."""
    before, _marks.callback = _marks.callback, callback
    try:
        yield
    finally:
        _marks.callback = before


@cache
def marked(function: Any) -> Any:
    """Return a copy of a kernel that marks its loops, as do all kernels that it calls. Cost: 1 ms a kernel, once."""
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    known = dict(zip(function.__code__.co_freevars, cells, strict=True))
    namespace = {**function.__globals__, **known, MARK: mark}
    loaded = {x.argval for x in dis.get_instructions(function) if x.opname == "LOAD_GLOBAL"}  # co_names has fields, too
    for label in (*sorted(loaded), *known):
        value = namespace.get(label)
        if is_kernel(value, function) and value.__module__ != NUMBERS and not is_one_block(value):
            namespace[label] = marked(value)
    definition = ast.parse(textwrap.dedent(inspect.getsource(function)))
    marker = _Marker(function.__code__)
    marked_text = ast.fix_missing_locations(marker.visit(definition))
    if not marker.loops:
        closure = tuple(CellType(namespace[label]) for label in known) or None
        return FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, closure)
    ast.increment_lineno(marked_text, function.__code__.co_firstlineno - 1)
    exec(compile(marked_text, function.__code__.co_filename, "exec"), namespace)  # with this file's __future__
    return namespace[function.__code__.co_name]


class _Marker(ast.NodeTransformer):
    """Transformer that inserts marks into loops; a loop's site is its number in order of visit."""

    def __init__(self, code: Any) -> None:
        self.place, self.line = code.co_filename, code.co_firstlineno
        self.loops = 0

    def _loop(self, node: Any) -> list[ast.stmt]:
        self.generic_visit(node)
        self.loops += 1
        site = _sites.setdefault((self.place, self.line + node.lineno), len(_sites))
        node.body.insert(0, _call(site))
        return [node, _call(~site)]

    visit_For = visit_While = _loop


def _call(site: int) -> ast.stmt:
    """Return the statement `mark(site)`."""
    return ast.Expr(ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(site)], []))
