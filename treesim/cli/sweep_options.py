"""What is varied and measured, as `treesim sweep` spells it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, quoted, unknown_name

if TYPE_CHECKING:
    from ..measures import Measure
    from ..model.tree import Tree

CALL = re.compile(r"(\w+)\((.*)\)", re.DOTALL)
VARY = (
    "NAME=DISTRIBUTION: normal(mean,sd), uniform(a,b), loguniform(a,b), a,b,c or, for q0, around(sd); scale(...) makes "
    "factors"
)
KINDS = ("any_", "all_", "first_time", "minimum", "maximum", "mean", "last", "stop")
KNOWN_NODES = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript, ast.Name, ast.Load, ast.Constant,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd, ast.Invert, ast.BitAnd, ast.BitOr,
    ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip


def vary_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the entries of `vary` that --vary spells; raises ArgumentError naming the one that is wrong."""
    found = {}
    for text in texts:
        name, given = _pair("--vary", text)
        if name in found:
            raise ArgumentError(f"--vary {name} is given twice")
        found[name] = _distribution(text, given)
    return found


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name and value):
        raise ArgumentError(f"{option} takes NAME=..., got {quoted(text)}")
    return name, value


def _distribution(text: str, given: str) -> Any:
    """text: of the whole option, for errors."""
    from .. import sweeps

    makers: Mapping[str, Callable[..., Any]] = {
        "normal": sweeps.Normal, "uniform": sweeps.Uniform, "loguniform": sweeps.LogUniform,
        "around": lambda sd: sweeps.around(sd=sd),
    }  # fmt: skip
    match = CALL.fullmatch(given)
    if match is None:
        return [_number(text, part) for part in given.split(",")]
    kind, inside = match[1], match[2]
    if kind == "scale":
        return sweeps.scale(_distribution(text, inside.strip()))
    if kind not in makers:
        raise unknown_name(f"distribution in --vary {text}:", kind, [*makers, "scale"])
    numbers = [_number(text, part) for part in inside.split(",")]
    try:
        return makers[kind](*numbers)
    except TypeError:
        raise ArgumentError(f"--vary {text}: {kind} does not take {len(numbers)} numbers: {VARY}") from None


def _number(text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ArgumentError(f"--vary {text}: {quoted(part.strip())} is no number: {VARY}") from None


@dataclass(frozen=True)
class Formula:
    """A function of t, q and v that a text spells: numbers, + - * / **, comparisons joined by & and |, sin, cos, sqrt,
    exp, tanh, abs, q[...] and v[...]; it is made by `formula`, which looks at the text."""

    text: str

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return its value."""
        return eval(self.text, {"__builtins__": {}}, {"t": t, "q": q, "v": v, **_functions()})


def _functions() -> dict[str, Callable[..., Any]]:
    import numpy as np

    from ..kernels.numbers import absolute

    return {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "exp": np.exp, "tanh": np.tanh, "abs": absolute}


def formula(text: str, robot: Tree) -> Formula:
    """Return the function that a text spells; q[name] and v[name] are coordinates by the names of joints. Raises
    ArgumentError for what is no formula, UnknownNameError for names that are not known."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ArgumentError(f"{quoted(text)} is no formula of t, q and v: {error.msg}") from None
    tree = ast.fix_missing_locations(_Numbered(robot).visit(tree))
    for node in ast.walk(tree):
        if not isinstance(node, KNOWN_NODES):
            raise ArgumentError(f"{quoted(text)}: a formula cannot hold {type(node).__name__}; join conditions by &, |")
        if isinstance(node, ast.Name) and node.id not in {"t", "q", "v", *_functions()}:
            raise unknown_name(f"name in {quoted(text)}:", node.id, ["t", "q", "v", *_functions()])
    return Formula(ast.unparse(tree))


class _Numbered(ast.NodeTransformer):
    """Puts indices in the place of joints' names in brackets."""

    def __init__(self, robot: Tree) -> None:
        self.tables = {"q": robot.q_index, "v": robot.v_index}

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """One coordinate of q or v."""
        if isinstance(node.value, ast.Name) and node.value.id in self.tables and isinstance(node.slice, ast.Name):
            where = self.tables[node.value.id][node.slice.id]
            if where.stop - where.start != 1:
                raise ArgumentError(
                    f"joint {node.slice.id!r} has {where.stop - where.start} coordinates in {node.value.id}, from "
                    f"number {where.start} on: give the number of one"
                )
            node.slice = ast.Constant(where.start)
        return self.generic_visit(node)


def measure_options(texts: Sequence[str], robot: Tree) -> dict[str, Measure]:
    """Return the measures that --measure spells; raises ArgumentError naming the one that is wrong."""
    from .. import measures

    found = {}
    for text in texts:
        name, given = _pair("--measure", text)
        match = CALL.fullmatch(given)
        if match is None:
            raise ArgumentError(f"--measure {text}: NAME=KIND(FORMULA) is needed, such as fell=any(q[2] < 0.4)")
        kind = match[1] + "_" * (match[1] in ("any", "all"))
        if kind not in KINDS:
            raise unknown_name("kind of measure", match[1], [one.rstrip("_") for one in KINDS])
        found[name] = getattr(measures, kind)(formula(match[2], robot))
    return found
