"""Compiled code of expressions for many states: policies and measures that run between steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...kernels.entries.status import FINE
from ..frontend.fastcall import BAD_LAYOUT
from ..graph.calls import in_stages
from ..graph.expressions import Expression
from .evaluate import lanes_for
from .specialized import single_code

Columns = Callable[..., np.ndarray]


def expression_states(expression: Expression, *arrays: np.ndarray) -> int:
    """Write an expression's results of one state to the last arrays, for traces; empty groups have no array."""
    left = iter(arrays)
    groups: list[Any] = [next(left) if size else () for size in expression.sizes]
    found = iter(Expression.__call__(expression, *groups))
    for result in left:
        for k in range(len(result)):
            result[k] = next(found)
    return FINE


def columns_of(expression: Expression, engine: str) -> Columns:
    """Return a function as `Expression.columns`, by SIMD code if the engine allows it.

    A state's result does not depend on the number of states.
    """
    if engine == "generic":
        return expression.columns
    if expression.stages:
        return in_stages(expression.stages, [columns_of(stage.part, engine) for stage in expression.stages])
    sizes, results = [size for size in expression.sizes if size], len(expression.results)
    code = lanes_for(expression_states, (expression,), sizes, [results], np.dtype(float), engine)
    if code is None:
        return expression.columns

    def columns(*groups: Any) -> np.ndarray:
        count = max(len(group) for group in groups if np.ndim(group))
        result = np.empty((count, results))
        given = (_rows(*each, count) for each in zip(groups, expression.sizes, strict=True) if each[1])
        code.run([*given, result], count)
        return result

    return columns


def states_of(expression: Expression) -> Columns:
    """Return a function as `columns_of` for arrays of float64, with straight-line code for one state.

    Either code is compiled when it is first called. Results may be NaN or infinite.
    """
    sizes = [(size,) for size in expression.sizes if size]
    many = cache(partial(columns_of, expression, "auto"))

    @cache
    def one() -> Callable[..., int] | None:
        try:
            return single_code(expression_states, (expression,), sizes, [(len(expression.results),)], np.float64)
        except UnsupportedError:
            return None

    def states(*groups: np.ndarray) -> np.ndarray:
        code = one() if len(groups[0]) == 1 else None
        if code is not None:
            result = np.empty((1, len(expression.results)))
            if code(*[np.array(group[0]) for group in groups if group.size], result[0]) != BAD_LAYOUT:
                return result
        with np.errstate(all="ignore"):
            return many()(*groups) if len(groups[0]) else np.empty((0, len(expression.results)))

    return states


def _rows(group: Any, size: int, count: int) -> np.ndarray:
    """Return a group of `Expression.columns` as an array (count, size)."""
    if np.ndim(group) == 2:
        return np.asarray(group, float)
    return np.broadcast_to(np.asarray(group, float).reshape(-1, size), (count, size))
