"""Policies: control laws as plain functions of numbers, written down once and run in the compiled code of rollouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError
from .functions import TracedFunction, is_number, name_of, traced_call
from .trace import Traced


class Policy(TracedFunction):
    """What a function `policy(t, q, v, p, u)` does: operations that lead from time [s], q (nq), v (nv) and parameters p
    to u (nv). Policies that do the same are equal, and print alike in every process."""

    def __init__(self, function: Callable[..., Any], nq: int, nv: int, parameters: int) -> None:
        """Write down what `function` does.

        Raises UnsupportedError where its course depends on the numbers, ArgumentError where it writes no number to u.
        """

        def run(inputs: list[np.ndarray], zero: Traced) -> np.ndarray:
            (t,), *others = inputs
            u = np.full(nv, zero, dtype=object)
            given = (t, *others, u)
            returned = traced_call("the policy", function, given, "t, q, v, p, u", "give the controls as an array")
            if returned is not None:
                raise ArgumentError(
                    f"the policy {name_of(function)} must write to u and return nothing, got {returned!r}"
                )
            for k, x in enumerate(u):
                if not is_number(x, zero.graph):
                    raise ArgumentError(f"the policy {name_of(function)} writes {x!r} to u[{k}]: a number is needed")
            return u

        super().__init__((1, nq, nv, parameters), run)

    def __call__(self, t: Any, q: Any, v: Any, p: Any) -> list[Any]:
        """Return u of one state, on numbers of any type."""
        return super().__call__([t], q, v, p)

    def columns(self, t: float, *rows: np.ndarray) -> np.ndarray:  # type: ignore[override]
        """Return u (count, nv) of many states at the same time; rows: q, v and p (count, n)."""
        return self._columns(len(rows[0]), [t, *(column for x in rows for column in x.T)])
