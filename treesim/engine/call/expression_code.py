"""Compiled code of expressions for many states: policies and measures that run between steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.entries.status import FINE
from ..graph.expressions import Expression
from .evaluate import lanes_for

LONG = 200  # operations; NumPy runs shorter expressions in less time than it takes to compile them

Columns = Callable[..., np.ndarray]


def expression_states(expression: Expression, *arrays: np.ndarray) -> int:
    """Write an expression's results of one state to the last array, for traces; empty groups have no array."""
    *given, result = arrays
    left = iter(given)
    groups: list[Any] = [next(left) if size else () for size in expression.sizes]
    for k, x in enumerate(Expression.__call__(expression, *groups)):
        result[k] = x
    return FINE


def columns_of(expression: Expression, engine: str) -> Columns:
    """Return a function as `Expression.columns`, by SIMD code if the expression is long and the engine allows it.

    The choice does not depend on the number of states, nor does a state's result.
    """
    if engine == "generic" or len(expression.order) < LONG:
        return expression.columns
    sizes, results = [size for size in expression.sizes if size], len(expression.results)
    code = lanes_for(expression_states, (expression,), sizes, [results], np.dtype(float), engine)
    if code is None:
        return expression.columns

    def columns(*groups: Any) -> np.ndarray:
        count = max(len(group) for group in groups if np.ndim(group))
        arrays = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(group, float).reshape(-1, size), (count, size)))
            for group, size in zip(groups, expression.sizes, strict=True)
            if size
        ]
        result = np.empty((count, results))
        code.run([*arrays, result], count)
        return result

    return columns
