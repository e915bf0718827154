"""Policies: control laws as Python functions, run in the compiled code of rollouts (see `expressions`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from .expressions import HELP, Expression, is_number, name_of


class Policy(Expression):
    """Traced function `policy(t, q, v, p, u)`, from time [s], q (nq), v (nv) and parameters p to u (nv)."""

    def __init__(self, function: Callable[..., Any], nq: int, nv: int, parameters: int) -> None:
        """Trace `function`.

        Raises UnsupportedError if it branches on the numbers, ArgumentError if it writes no number to u.
        """
        super().__init__((1, nq, nv, parameters), lambda *groups: _forces(function, nv, *groups))

    def __call__(self, t: Any, *groups: Any) -> list[Any]:  # type: ignore[override]
        """Return u of one state, on numbers of any type."""
        return super().__call__([t], *groups)


def _forces(function: Callable[..., Any], nv: int, t: np.ndarray, *groups: np.ndarray) -> np.ndarray:
    """Return the numbers that a policy writes to u."""
    u = np.full(nv, t[0].constant(0.0), dtype=object)
    try:
        inspect.signature(function).bind(t, *groups, u)
    except TypeError as error:
        raise ArgumentError(f"the policy {name_of(function)} must take (t, q, v, p, u): {error}") from None
    try:
        returned = function(t[0], *groups, u)
    except UnsupportedError as error:
        details = (
            f"the policy {name_of(function)} cannot be compiled: {error}; {HELP}, or give the controls as an array"
        )
        raise UnsupportedError(details) from error
    if returned is not None:
        raise ArgumentError(f"the policy {name_of(function)} must write to u and return nothing, got {returned!r}")
    for k, x in enumerate(u):
        if not is_number(x, t[0].graph):
            raise ArgumentError(f"the policy {name_of(function)} writes {x!r} to u[{k}]: a number is needed")
    return u
