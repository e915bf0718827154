"""Derivatives of expressions, as expressions of their own, in forward and reverse mode.

Forward mode follows a direction from the inputs to the results. Reverse mode follows the gradient of a weighted sum of
the results back to the inputs. Both apply the rules of the operations to symbolic numbers, so they are exact to
rounding. Numbers that do not change, and results that do not count, have no operations.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd edition, SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress, repeat
from typing import Any

from ...kernels.algebra.numbers import cos, less, select, sin
from ..primitives import ADD, ATAN2, COS, DIV, EXP, INPUT, LESS, MAX, MIN, MUL, NEG, SELECT, SIN, SQRT, SUB
from .expressions import ON_NUMBERS, Expression
from .trace import Traced

Rule = Callable[..., Any]


def _same(t: Any, *_: Any) -> Any:
    return t


def _opposite(t: Any, *_: Any) -> Any:
    return -t


def _none(t: Any, *_: Any) -> Any:
    return 0.0 * t


def _of_larger(t: Any, one: Any, other: Any) -> Any:
    """Return t if one > other, half of it if they are equal, else 0."""
    return select(less(other, one), t, select(less(one, other), 0.0, 0.5 * t))


# for each operand: product of a number t with the partial derivative, from t, the result and the operands
RULES: dict[int, tuple[Rule, ...]] = {
    ADD: (_same, _same),
    SUB: (_same, _opposite),
    MUL: (lambda t, r, a, b: t * b, lambda t, r, a, b: t * a),
    DIV: (lambda t, r, a, b: t * (1.0 / b), lambda t, r, a, b: -(t * r * (1.0 / b))),
    NEG: (_opposite,),
    SQRT: (lambda t, r, a: t * (0.5 / r),),
    SIN: (lambda t, r, a: t * cos(a),),
    COS: (lambda t, r, a: -(t * sin(a)),),
    EXP: (lambda t, r, a: t * r,),
    MAX: (lambda t, r, a, b: _of_larger(t, a, b), lambda t, r, a, b: _of_larger(t, b, a)),
    MIN: (lambda t, r, a, b: _of_larger(t, b, a), lambda t, r, a, b: _of_larger(t, a, b)),
    LESS: (_none, _none),
    SELECT: (_none, lambda t, r, c, a, b: select(c, t, 0.0), lambda t, r, c, a, b: select(c, 0.0, t)),
    ATAN2: (lambda t, r, y, x: t * (x / (x * x + y * y)), lambda t, r, y, x: -(t * (y / (x * x + y * y)))),
}


class SteadyExpression(Expression):
    """Expression of a function which is known to do the same operations in all calls: it is traced once."""

    def __init__(self, sizes: Sequence[int], function: Callable[..., Iterable[Any]]) -> None:
        self.sizes, self._function = tuple(sizes), function
        self._trace()
        del self._function


def forward(primal: Expression, moving: Sequence[bool]) -> Expression:
    """Return the expression of the results and their tangents, from the inputs, and the tangents of moving groups.

    moving: for each group of inputs whether it has a tangent; the others are constant. Cost: at most 4 operations for
    each operation that depends on moving inputs. Raises TooLongError.
    """
    sizes = [*compress(primal.sizes, moving)]

    def differentiate(*groups: Any) -> list[Any]:
        inputs, given = groups[: len(moving)], iter(groups[len(moving) :])
        known = _numbers(primal, inputs)
        along = [t for size, moves in zip(primal.sizes, moving, strict=True)
                 for t in (next(given) if moves else [None] * size)]  # fmt: skip
        tangents = {node: along[k] for node, k in _inputs(primal) if along[k] is not None}
        for node, operands in _operations(primal):
            numbers = known[node], *(known[k] for k in operands)
            for rule, operand in zip(RULES[primal.graph.operation[node]], operands, strict=True):
                if operand in tangents:
                    _add(tangents, node, rule(tangents[operand], *numbers))
        return [*(known[node] for node in primal.results), *(tangents.get(node, 0.0) for node in primal.results)]

    return SteadyExpression((*primal.sizes, *sizes), differentiate)


def reverse(primal: Expression, moving: Sequence[bool] | None = None) -> Expression:
    """Return the expression of the results and the gradient of sum(weights * results), from the inputs and the weights.

    moving: for each group of inputs whether the gradient in it is a result; by default in all. Cost: at most 5
    operations for each operation that depends on moving inputs, for any number of inputs. Raises TooLongError.
    """
    return SteadyExpression((*primal.sizes, len(primal.results)), gradients_of(primal, moving))


def gradients_of(primal: Expression, moving: Sequence[bool] | None = None) -> Callable[..., list[Any]]:
    """Return the function of symbolic numbers whose expression `reverse` returns."""
    chosen = [move for size, move in zip(primal.sizes, moving or repeat(True), strict=False) for _ in range(size)]
    inputs = [node for node, k in _inputs(primal) if chosen[k]]
    moved = set(inputs)
    for node, operands in _operations(primal):
        if not moved.isdisjoint(operands):
            moved.add(node)

    def differentiate(*groups: Any) -> list[Any]:
        known, back = _numbers(primal, groups[:-1]), dict[int, Any]()
        for node, weight in zip(primal.results, groups[-1], strict=True):
            _add(back, node, weight)
        for node, operands in reversed(_operations(primal)):
            if node not in back:
                continue
            numbers = known[node], *(known[k] for k in operands)
            for rule, operand in zip(RULES[primal.graph.operation[node]], operands, strict=True):
                if operand in moved:
                    _add(back, operand, rule(back[node], *numbers))
        return [*(known[node] for node in primal.results), *(back.get(node, 0.0) for node in inputs)]

    return differentiate


def _numbers(primal: Expression, groups: Sequence[Any]) -> dict[int, Traced]:
    """Return the symbolic number of every node."""
    inputs = [x for group in groups for x in group]
    known = primal.numbers(inputs, ON_NUMBERS)
    return {node: x if isinstance(x, Traced) else inputs[0].constant(float(x)) for node, x in known.items()}


def _inputs(primal: Expression) -> list[tuple[int, int]]:
    """Return the nodes of the inputs, with their numbers, in order."""
    graph = primal.graph
    return [(node, graph.first[node]) for node, operation in enumerate(graph.operation) if operation == INPUT]


def _operations(primal: Expression) -> list[tuple[int, tuple[int, ...]]]:
    """Return the nodes of operations that the results depend on, in order, with their operands."""
    return [(node, primal.graph.operands(node)) for node in primal.order]


def _add(numbers: dict[int, Any], node: int, term: Traced) -> None:
    """Add a term to the number of a node, unless it is known to be 0."""
    if term.value != 0:
        numbers[node] = numbers[node] + term if node in numbers else term
