"""Code generation for statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from ...errors import UnsupportedError
from ...kernels.algebra.numbers import vectorized
from . import arithmetic, arrays, masks
from .body import Loop
from .expressions import part_of, value_of
from .types import INTEGER, MASK, Array, Record, Value, described, integer, items_of

if TYPE_CHECKING:
    from .lowering import FunctionBody


def write(body: FunctionBody, statements: Sequence[ast.stmt]) -> None:
    """Generate statements in order; those after a `return` or `break` are unreachable."""
    for statement in statements:
        if body.ended:
            return
        handler = HANDLERS.get(type(statement))
        body.node = statement
        if handler is None:
            raise UnsupportedError(f"kernels have no {type(statement).__name__} statements")
        handler(body, statement)


def _expression(body: FunctionBody, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring
        value_of(body, node.value)


def _assign(body: FunctionBody, node: ast.Assign) -> None:
    value = value_of(body, node.value)
    for target in node.targets:
        _put(body, target, value)


def _put(body: FunctionBody, target: ast.expr, value: Value) -> None:
    """Assign a value to a name, an element or part of an array, or the items of a tuple to several of these."""
    if isinstance(target, ast.Name):
        body.assign(target.id, value)
    elif isinstance(target, ast.Subscript):
        arrays.put(body, part_of(body, value_of(body, target.value), target), value)
    elif isinstance(target, ast.Tuple):
        if not isinstance(value.type, Record) or len(value.type.items) != len(target.elts):
            raise UnsupportedError(f"{described(value.type)} is assigned to {len(target.elts)} names")
        for part, item in zip(target.elts, items_of(value), strict=True):
            _put(body, part, item)
    else:
        raise UnsupportedError(f"nothing can be assigned to {ast.unparse(target)!r} in kernels")


def _assign_in_place(body: FunctionBody, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        old = body.read(node.target.id)
        body.assign(node.target.id, arithmetic.arithmetic(body, type(node.op), old, value_of(body, node.value)))
        return
    if not isinstance(node.target, ast.Subscript):
        raise UnsupportedError(f"nothing can be assigned to {ast.unparse(node.target)!r} in kernels")
    part = part_of(body, value_of(body, node.target.value), node.target)
    if part.type.axes:
        raise UnsupportedError("elements of arrays are changed one by one: write a loop")
    right = value_of(body, node.value)
    arrays.put(body, part, arithmetic.arithmetic(body, type(node.op), arrays.element(body, part), right))


def _if(body: FunctionBody, node: ast.If) -> None:
    condition = arithmetic.truth(body, value_of(body, node.test))
    if condition.known is not None:
        write(body, node.body if condition.known else node.orelse)
        return
    if condition.type == MASK:
        for taken, statements in ((condition, node.body), (arithmetic.inverted(body, condition), node.orelse)):
            if statements:
                masks.where(body, taken.parts[0], lambda inner=statements: write(body, inner))  # type: ignore[misc]
        return
    yes, no, end = (body.new(label) for label in ("then", "else", "endif"))
    body.branch(condition.parts[0], yes, no)
    ended = []
    for label, statements in ((yes, node.body), (no, node.orelse)):
        body.begin(label)
        write(body, statements)
        ended.append(body.ended)
        body.jump(end)
    if all(ended):
        body.ended = True  # the following code is unreachable
    else:
        body.begin(end)


def _while(body: FunctionBody, node: ast.While) -> None:
    test, inside, end = (body.new(label) for label in ("while", "inside", "end"))
    outer, live = body.mask, masks.all_that_take_part(body)
    body.begin(test)
    condition = arithmetic.truth(body, value_of(body, node.test))
    if condition.type == MASK:
        condition = masks.going_on(body, live, condition)
    body.branch(condition.parts[0], inside, end)
    body.begin(inside)
    body.loops = (*body.loops, Loop(test, end))
    write(body, node.body)
    body.loops, body.mask = body.loops[:-1], outer
    body.jump(test)
    body.begin(end)


def _for(body: FunctionBody, node: ast.For) -> None:
    """Generate a loop over a range, or over the elements of an array with one axis."""
    if node.orelse or not isinstance(node.target, ast.Name):
        raise UnsupportedError("loops of kernels have one counter and no else")
    name = node.target.id

    def run(value: Value) -> None:
        body.assign(name, value)
        write(body, node.body)

    given = node.iter
    if _calls(given, vectorized.__name__):
        if any(isinstance(inner, (ast.For, ast.While)) for line in node.body for inner in ast.walk(line)):
            raise UnsupportedError("a vectorized loop has no loops inside")
        arrays.independent_loop(body, *_range_of(body, given.args[0]), run)
        return
    if _calls(given, "range"):
        arrays.loop(body, *_range_of(body, given), run)
        return
    values = value_of(body, node.iter)
    if not isinstance(values.type, Array) or values.type.axes != 1:
        raise UnsupportedError(f"loops of kernels go over a range or an array, not {described(values.type)}")
    count = arrays.lengths(values)[0]
    take = lambda k: run(arrays.element(body, arrays.indexed(body, values, [k])))  # noqa: E731
    arrays.loop(body, integer(0), count, integer(1), take)


def _calls(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    """Return whether an expression calls the function of a name."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _range_of(body: FunctionBody, node: ast.expr) -> tuple[Value, Value, Value]:
    """Return start, stop and step of a range."""
    if not _calls(node, "range"):
        raise UnsupportedError("loops that are vectorized go over a range")
    given = [value_of(body, x) for x in node.args]
    if any(x.type != INTEGER for x in given):
        raise UnsupportedError("range counts whole numbers")
    start, stop, step = {1: [integer(0), *given], 2: given}.get(len(given), given[:2]) + (given[2:] or [integer(1)])
    return start, stop, step


def _return(body: FunctionBody, node: ast.Return) -> None:
    body.give_back(None if node.value is None else value_of(body, node.value))


def _break(body: FunctionBody, node: ast.Break) -> None:
    body.jump(body.loops[-1].end)


def _continue(body: FunctionBody, node: ast.Continue) -> None:
    body.jump(body.loops[-1].following)


HANDLERS: dict[type[ast.stmt], Callable[[Any, Any], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AugAssign: _assign_in_place,
    ast.For: _for,
    ast.While: _while,
    ast.If: _if,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: lambda body, node: None,
}
