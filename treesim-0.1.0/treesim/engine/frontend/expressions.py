"""Code generation for expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedError
from . import arithmetic as numbers
from . import arrays, masks
from .arrays import Range
from .calls import call
from .types import MASK, Array, Record, Static, Value, boolean, described, item_of, items_of, record

if TYPE_CHECKING:
    from .lowering import FunctionBody


def value_of(body: FunctionBody, node: ast.expr) -> Value:
    """Generate an expression and return its value; raises UnsupportedError for unsupported syntax."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        raise UnsupportedError(f"kernels cannot hold {ast.unparse(node)!r}, which is a {type(node).__name__}")
    body.node = node
    return handler(body, node)


def static(thing: Any) -> Value:
    """Return the value of a compile-time object: a number, a tuple of numbers, or a function, class or module."""
    if isinstance(thing, (bool, int, float)):
        return numbers.known(thing)
    if isinstance(thing, tuple):
        return record([static(item) for item in thing], type(thing) if hasattr(thing, "_fields") else None)
    return Value(Static(thing), ())


def _attribute(body: FunctionBody, node: ast.Attribute) -> Value:
    value, name = value_of(body, node.value), node.attr
    if isinstance(value.type, Static):
        return static(getattr(value.type.thing, name))
    if isinstance(value.type, Record) and value.type.maker is not None:
        return item_of(value, value.type.maker._fields.index(name))
    if isinstance(value.type, Array) and name in OF_ARRAYS:
        return OF_ARRAYS[name](body, value)
    raise UnsupportedError(f"{described(value.type)} has no {name!r} in kernels")


OF_ARRAYS: dict[str, Callable[[Any, Value], Value]] = {
    "size": arrays.size,
    "shape": lambda body, array: record(arrays.lengths(array)),
    "dtype": lambda body, array: Value(Static(array.type.element), ()),
    "T": arrays.transposed,
}


def _binary(body: FunctionBody, node: ast.BinOp) -> Value:
    return numbers.arithmetic(body, type(node.op), value_of(body, node.left), value_of(body, node.right))


def _unary(body: FunctionBody, node: ast.UnaryOp) -> Value:
    value = value_of(body, node.operand)
    if isinstance(node.op, ast.Not):
        return numbers.inverted(body, value)
    if isinstance(node.op, ast.USub):
        return numbers.negative(body, value)
    raise UnsupportedError(f"there is no {type(node.op).__name__} in kernels")


def _either(body: FunctionBody, node: ast.IfExp) -> Value:
    condition = numbers.truth(body, value_of(body, node.test))
    return chosen(
        body, _temporary(node), condition, lambda: value_of(body, node.body), lambda: value_of(body, node.orelse)
    )


def _temporary(node: ast.expr, part: int = 0) -> str:
    """Return the name of a variable for a part of an expression; no source can contain such a name."""
    return f"<{node.lineno}:{node.col_offset}:{part}>"


def chosen(body: FunctionBody, name: str, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
    """Generate a choice of two values, of which only the selected one is computed, by a variable `name`."""
    if condition.known is not None:
        return yes() if condition.known else no()
    if condition.type == MASK:
        return masks.merged(body, condition.parts[0], yes(), no())  # both are computed
    labels = [body.new(label) for label in ("yes", "no", "either")]
    body.branch(condition.parts[0], *labels[:2])
    for label, compute in zip(labels, (yes, no), strict=False):
        body.begin(label)
        body.assign(name, compute())
        body.jump(labels[2])
    body.begin(labels[2])
    return body.read(name)


def _logical(body: FunctionBody, node: ast.BoolOp) -> Value:
    """Generate `and` and `or`; the right side is computed only if needed."""
    decided = isinstance(node.op, ast.Or)

    def rest(k: int) -> Value:
        value = numbers.truth(body, value_of(body, node.values[k]))
        if k == len(node.values) - 1:
            return value
        going_on = numbers.inverted(body, value) if decided else value
        return chosen(body, _temporary(node, k), going_on, lambda: rest(k + 1), lambda: boolean(decided))

    return rest(0)


def _comparison(body: FunctionBody, node: ast.Compare) -> Value:
    """Generate one or several chained comparisons of numbers, or `in` a tuple."""
    result, left = boolean(True), value_of(body, node.left)
    for operation, operand in zip(node.ops, node.comparators, strict=True):
        right = value_of(body, operand)
        result = numbers.arithmetic(body, ast.BitAnd, result, _compared(body, type(operation), left, right))
        left = right
    return result


def _compared(body: FunctionBody, operation: type[ast.cmpop], left: Value, right: Value) -> Value:
    if operation not in (ast.In, ast.NotIn):
        return numbers.compare(body, operation, left, right)
    if not isinstance(right.type, Record):
        raise UnsupportedError("`in` looks through tuples only")
    found = boolean(False)
    for item in items_of(right):
        found = numbers.arithmetic(body, ast.BitOr, found, numbers.compare(body, ast.Eq, left, item))
    return numbers.inverted(body, found) if operation is ast.NotIn else found


def _tuple(body: FunctionBody, node: ast.Tuple) -> Value:
    return record([value_of(body, item) for item in node.elts])


def _subscript(body: FunctionBody, node: ast.Subscript) -> Value:
    value = value_of(body, node.value)
    if isinstance(value.type, Record):
        place = value_of(body, node.slice)
        if not isinstance(place.known, int):
            raise UnsupportedError("which item of a tuple is taken must be written out")
        return item_of(value, range(len(value.type.items))[place.known])
    part = part_of(body, value, node)
    return part if part.type.axes else arrays.element(body, part)


def part_of(body: FunctionBody, array: Value, node: ast.Subscript) -> Value:
    """Generate the part of an array that a subscript selects."""
    if not isinstance(array.type, Array):
        raise UnsupportedError(f"{described(array.type)} has no elements")
    nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    indices: list[Value | Range] = []
    for index in nodes:
        found = _range(body, index) if isinstance(index, ast.Slice) else value_of(body, index)
        indices += items_of(found) if isinstance(found, Value) and isinstance(found.type, Record) else [found]
    return arrays.indexed(body, array, indices)


def _range(body: FunctionBody, node: ast.Slice) -> Range:
    if node.step is not None:
        raise UnsupportedError("slices with steps are not among what kernels can hold")
    return Range(*(None if end is None else value_of(body, end) for end in (node.lower, node.upper)))


HANDLERS: dict[type[ast.expr], Callable[[Any, Any], Value]] = {
    ast.Constant: lambda body, node: static(node.value),
    ast.Name: lambda body, node: body.read(node.id),
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logical,
    ast.Compare: _comparison,
    ast.IfExp: _either,
    ast.Tuple: _tuple,
    ast.Subscript: _subscript,
    ast.Call: call,
}
