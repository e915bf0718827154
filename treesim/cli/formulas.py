"""Formulas of t, q and v for `--measure`: parsed as Python syntax, evaluated here, never by Python."""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import ArgumentError, quoted, unknown_name
from ..kernels.algebra import numbers

if TYPE_CHECKING:
    from ..model.tree import Tree

LONGEST, DEEPEST = 4000, 200  # characters of a formula, and operations inside one another
MOST_POWER = 64
QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
BRACKETS, NUMBER = re.compile(r"""[]['"]"""), re.compile(r"\s*[-+]?\s*\d+\s*")
ARITHMETIC: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
COMPARISONS: dict[type, Callable[..., Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge
}  # fmt: skip
LOGIC: dict[type, Callable[..., Any]] = {
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.Invert: operator.invert
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": numbers.sin, "cos": numbers.cos, "sqrt": numbers.sqrt, "exp": numbers.exp, "tanh": numbers.tanh,
    "abs": numbers.absolute,
}  # fmt: skip
CONDITIONS = frozenset((*COMPARISONS.values(), *LOGIC.values()))
JOIN = "join conditions by &, | and ~, each comparison in parentheses, such as (q[0] < 1) & (v[0] > 2)"
HOLDS = f"it holds numbers, t, q[...], v[...], + - * / **, < <= > >=, &, |, ~, and {', '.join(FUNCTIONS)}"


@dataclass(frozen=True)
class Number:
    """Constant `value`, or coordinate: the entry `index` of the variable t, q or v."""

    value: float = 0.0
    variable: str = ""
    index: int | None = None


@dataclass(frozen=True)
class Operation:
    """Function and its operands."""

    function: Callable[..., Any]
    operands: tuple[Node, ...]


Node = Number | Operation


@dataclass(frozen=True)
class Formula:
    """Parsed formula of t, q and v; created by `formula`, which checks the text."""

    text: str
    root: Node

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the value of the formula."""
        return _value(self.root, {"t": t, "q": q, "v": v})


def _value(node: Node, variables: dict[str, Any]) -> Any:
    if isinstance(node, Operation):
        return node.function(*(_value(one, variables) for one in node.operands))
    if not node.variable:
        return node.value
    found = variables[node.variable]
    return found if node.index is None else found[node.index]


def formula(text: str, robot: Tree) -> Formula:
    """Parse a formula; q[name] and v[name] are coordinates by the names of joints.

    Raises ArgumentError for an invalid formula, UnknownNameError for unknown names.
    """
    if len(text) > LONGEST:
        raise ArgumentError(f"{quoted(text)} has {len(text):,} characters: a formula has {LONGEST:,} at most")
    source = _with_quoted_names(text.strip(), robot)
    try:
        with warnings.catch_warnings(action="ignore"):  # of Python's parser; invalid formulas are rejected here
            tree = ast.parse(source, mode="eval")
    except SyntaxError as error:
        raise ArgumentError(f"{quoted(text)} is no formula of t, q and v: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = "it is nested too deeply" if not isinstance(error, ValueError) else str(error)
        raise ArgumentError(f"{quoted(text)} is no formula of t, q and v: {reason}") from None
    return Formula(text, _Reader(source, robot).read(tree.body))


def _with_quoted_names(text: str, robot: Tree) -> str:
    """Return a formula with joint names in quotes, q["left/shoulder"] for q[left/shoulder].

    Names that contain brackets or quotes must be given in quotes; numbers remain indices of coordinates.
    """
    names = sorted({*robot.q_index, *robot.v_index}, key=len, reverse=True)
    plain = "|".join(re.escape(name) for name in names if not (BRACKETS.search(name) or NUMBER.fullmatch(name)))
    if not plain:
        return text
    pattern = re.compile(rf"""({QUOTED})|\b([qv])\s*\[\s*({plain})\s*\]""", re.DOTALL)
    return pattern.sub(lambda found: found[1] or f"{found[2]}[{found[3]!r}]", text)


class _Reader:
    """Converts Python's syntax tree to nodes; constant parts are evaluated once, as floats."""

    def __init__(self, text: str, robot: Tree) -> None:
        self.text, self.robot, self.depth = text, robot, 0
        self.tables = {"q": robot.q_index, "v": robot.v_index}
        self.sizes = {"q": robot.nq, "v": robot.nv}

    def read(self, node: ast.AST) -> Node:
        """Return the node of a part of the formula."""
        name = type(node).__name__
        reader = getattr(self, f"_{name.lower()}", None)
        if reader is None:
            raise self._wrong(f"a formula cannot hold {name}: {HOLDS}; {JOIN}")
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"more than {DEEPEST} operations are inside one another")
        found: Node = reader(node)
        self.depth -= 1
        return found

    def _wrong(self, message: str) -> ArgumentError:
        return ArgumentError(f"{quoted(self.text)}: {message}")

    def _part(self, node: ast.AST) -> str:
        return quoted(ast.get_source_segment(self.text, node) or "")

    def _constant(self, node: ast.Constant) -> Node:
        if type(node.value) not in (int, float):
            raise self._wrong(f"{self._part(node)} is no number: {HOLDS}")
        return self._known(node, float, (node.value,))

    def _known(self, node: ast.AST, function: Callable[..., Any], operands: tuple[Any, ...]) -> Number:
        """Evaluate an operation on constants; raises ArgumentError if the value is not finite."""
        try:
            value = function(*operands)
        except ZeroDivisionError:
            raise self._wrong(f"{self._part(node)} divides by zero") from None
        except (ValueError, OverflowError):
            value = math.nan
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise self._wrong(f"{self._part(node)} is no finite number (1.8e308 is the largest)")
        return Number(float(value))

    def _name(self, node: ast.Name) -> Node:
        if node.id == "t":
            return Number(variable="t")
        if node.id in self.tables:
            raise self._wrong(
                f"{node.id} has {self.sizes[node.id]} numbers: take one, such as {node.id}[0], or of a joint"
            )
        if node.id in FUNCTIONS:
            raise self._wrong(f"{node.id} is a function of one number: {node.id}(...)")
        raise unknown_name(f"name in {quoted(self.text)}:", node.id, ["t", "q", "v", *FUNCTIONS])

    def _subscript(self, node: ast.Subscript) -> Node:
        if not (isinstance(node.value, ast.Name) and node.value.id in self.tables):
            raise self._wrong(f"only q and v have coordinates, not {self._part(node.value)}")
        variable = node.value.id
        return Number(variable=variable, index=self._index(variable, node.slice))

    def _index(self, variable: str, node: ast.AST) -> int:
        """Return the index of a coordinate given by its index, or by its joint's name, with or without quotes."""
        name = node.id if isinstance(node, ast.Name) else node.value if isinstance(node, ast.Constant) else None
        if isinstance(name, str):
            where = self.tables[variable][name]
            if where.stop - where.start != 1:
                raise ArgumentError(
                    f"joint {quoted(name)} has {where.stop - where.start} coordinates in {variable}, from "
                    f"number {where.start} on: give the number of one"
                )
            return where.start
        index, size = self._whole(node), self.sizes[variable]
        if index is None:
            raise self._wrong(
                f"{variable}[{ast.unparse(node)}]: a number or a joint's name is needed, in quotes where it is no "
                f'word, such as {variable}["left-knee"]'
            )
        if not -size <= index < size:
            raise self._wrong(f"{variable}[{index}]: {variable} has {size} numbers, from {variable}[0] on")
        return index % size

    @staticmethod
    def _whole(node: ast.AST) -> int | None:
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, node = -1, node.operand
        return sign * node.value if isinstance(node, ast.Constant) and type(node.value) is int else None

    def _call(self, node: ast.Call) -> Node:
        if not isinstance(node.func, ast.Name):
            raise self._wrong(f"{self._part(node.func)} is no function: {', '.join(FUNCTIONS)} are")
        name = node.func.id
        if name not in FUNCTIONS:
            raise unknown_name(f"name in {quoted(self.text)}:", name, ["t", "q", "v", *FUNCTIONS])
        if len(node.args) != 1 or node.keywords or isinstance(node.args[0], ast.Starred):
            raise self._wrong(f"{name} takes one number: {name}(...)")
        return self._made(node, FUNCTIONS[name], self.read(node.args[0]))

    def _unaryop(self, node: ast.UnaryOp) -> Node:
        operand = self.read(node.operand)
        if isinstance(node.op, ast.Invert):
            return self._joined(node, operator.invert, operand)
        if type(node.op) not in ARITHMETIC:
            raise self._wrong(f"a formula cannot hold {type(node.op).__name__}: {JOIN}")
        return self._made(node, ARITHMETIC[type(node.op)], operand)

    def _boolop(self, node: ast.BoolOp) -> Node:
        raise self._wrong(f"a formula cannot hold {type(node.op).__name__}: {JOIN}")

    def _binop(self, node: ast.BinOp) -> Node:
        kind = type(node.op)
        left, right = self.read(node.left), self.read(node.right)
        if kind in LOGIC:
            return self._joined(node, LOGIC[kind], left, right)
        if kind is ast.Pow:
            return self._power(node, left, right)
        if kind not in ARITHMETIC:
            hint = "; a power is **" if kind is ast.BitXor else ""
            raise self._wrong(f"a formula cannot hold {kind.__name__}: {HOLDS}{hint}")
        if kind is ast.Div and right == Number(0.0):
            raise self._wrong(f"{self._part(node)} divides by zero")
        return self._made(node, ARITHMETIC[kind], left, right)

    def _power(self, node: ast.BinOp, base: Node, exponent: Node) -> Node:
        if _is_known(base) and _is_known(exponent):
            return self._made(node, math.pow, base, exponent)
        if _is_known(exponent):
            number = exponent.value
            if number == 0.5:
                return Operation(numbers.sqrt, (base,))
            if number != int(number) or abs(number) > MOST_POWER:
                raise self._wrong(
                    f"{self._part(node)}: exponents are whole numbers from -{MOST_POWER} to {MOST_POWER}, or 0.5"
                )
            power = Operation(_whole_power, (base, Number(abs(number))))
            return power if number >= 0 else Operation(operator.truediv, (Number(1.0), power))
        if _is_known(base) and base.value > 0:
            scaled = Operation(operator.mul, (exponent, Number(math.log(base.value))))
            return Operation(numbers.exp, (scaled,))
        raise self._wrong(
            f"{self._part(node)}: of a power, the exponent or the base must be a number, the base one above 0"
        )

    def _compare(self, node: ast.Compare) -> Node:
        kind = type(node.ops[0])
        if len(node.ops) > 1 or any(map(_joins, (node.left, *node.comparators))):
            raise self._wrong(
                f"{self._part(node)} compares more than two numbers, as & and | bind tighter than <: put each "
                f"comparison in parentheses, such as (a < b) & (b < c)"
            )
        if kind not in COMPARISONS:
            raise self._wrong(
                f"a formula cannot hold {kind.__name__}: compare by <, <=, >, >=, as in abs(q[0] - 1) < 1e-3"
            )
        left, right = self.read(node.left), self.read(node.comparators[0])
        if _is_known(left) and _is_known(right):
            raise self._wrong(f"{self._part(node)} compares two constants")
        return Operation(COMPARISONS[kind], (left, right))

    def _joined(self, node: ast.AST, function: Callable[..., Any], *operands: Node) -> Node:
        if not all(isinstance(one, Operation) and one.function in CONDITIONS for one in operands):
            raise self._wrong(f"{self._part(node)} joins what is no condition: {JOIN}")
        return Operation(function, operands)

    def _made(self, node: ast.AST, function: Callable[..., Any], *operands: Node) -> Node:
        """Return an operation, or its value if the operands are constants."""
        if all(map(_is_known, operands)):
            return self._known(node, function, tuple(one.value for one in operands if isinstance(one, Number)))
        return Operation(function, operands)


def _is_known(node: Node) -> TypeGuard[Number]:
    return isinstance(node, Number) and not node.variable


def _joins(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and type(node.op) in LOGIC


def _whole_power(base: Any, exponent: float) -> Any:
    return base ** int(exponent)
