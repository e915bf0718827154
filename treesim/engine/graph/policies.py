"""Policies: control laws as Python functions, run in the compiled code of rollouts (see `expressions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...validation.values import signature_of
from ..primitives import INPUT
from .expressions import Expression, is_number, name_of
from .user_functions import call_traced

WRENCH = 6
# forms of policies, by their number of arguments
FORMS = {5: "(t, q, v, p, u)", 6: "(t, q, v, p, u, c)", 7: "(t, q, v, p, u, c, m)"}


class Policy(Expression):
    """Traced function `policy(t, q, v, p, u)`, from time [s], q (nq), v (nv) and parameters p to u (nv).

    takes_contact: whether its inputs are also the control of the step before, which u contains at first, and the
    contact wrenches c (bodies, 6) in that step, as of `policy(t, q, v, p, u, c)`. memory: number of elements of its
    memory, which `policy(t, q, v, p, u, c, m)` overwrites; its results follow u.
    """

    may_call = True

    def __init__(
        self, function: Callable[..., Any], nq: int, nv: int, parameters: int, bodies: int = 0,
        named: Callable[[np.ndarray], np.ndarray] = np.asarray, memory: int | None = None,
    ) -> None:  # fmt: skip
        """Trace `function`.

        bodies: number of bodies with contact, including the base; 0 if nothing can touch. named: gives the contact
        wrenches (bodies, 6) the names of their rows. memory: size of the memory, None without. Raises UnsupportedError
        if it branches on the numbers, ArgumentError if it writes no number to u or m, takes contact where there is
        none, or takes memory and has none.
        """
        count, name = _arguments_of(function), name_of(function)
        if count == 6 and not bodies:
            raise ArgumentError(
                f"the policy {name} takes wrenches of contact c, but nothing in this world can touch: give World a "
                f"ground, or take {FORMS[5]}"
            )
        if (count == 7) != (memory is not None):
            wrong = "takes memory m: give policy_memory" if count == 7 else f"has memory: it must take {FORMS[7]}"
            raise ArgumentError(f"the policy {name} {wrong}")
        self.memory, self._nv = memory or 0, nv
        parts = (nv, WRENCH * bodies, self.memory)[: count - 4 if count > 5 else 0]
        sizes = (1, nq, nv, parameters, *parts)
        super().__init__(sizes, lambda *groups: _forces(function, nv, named, *groups), {f"the policy {name}": function})
        first = sum(sizes[:5])
        self.takes_contact = count == 6 or (count == 7 and self._reads(range(first, first + WRENCH * bodies)))
        self.takes_control = count > 5

    def _reads(self, inputs: range) -> bool:
        """Return whether results depend on one of some inputs."""
        graph, calls = self.graph, self.graph.calls
        ends = [*self.results, *(x for call in (calls.made if calls else []) for x in call.operands)]
        return any(graph.operation[node] == INPUT and graph.first[node] in inputs for node in graph.needed(ends))

    def __call__(self, t: Any, *groups: Any) -> list[Any]:  # type: ignore[override]
        """Return u of one state, on numbers of any type."""
        return super().__call__([t], *groups)

    def _result_name(self, k: int, called: str) -> str:
        return f"u[{k}] of {called}" if k < self._nv else f"m[{k - self._nv}] of {called}"


def _arguments_of(function: Callable[..., Any]) -> int:
    """Return the number of arguments of a policy, 5, 6 or 7; raises ArgumentError if it takes others."""
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        raise ArgumentError(f"the policy {name_of(function)} has no signature: write def {FORMS[5]}") from None
    errors = []
    for count in FORMS:
        try:
            signature.bind(*range(count))
        except TypeError as error:
            errors.append(error)
        else:
            return count
    forms = " or ".join(FORMS.values())
    raise ArgumentError(f"the policy {name_of(function)} must take {forms}: {errors[0]}")


def _forces(
    function: Callable[..., Any], nv: int, named: Callable[[np.ndarray], np.ndarray], t: np.ndarray, q: np.ndarray,
    v: np.ndarray, p: np.ndarray, *before: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the numbers that a policy writes to u and its memory.

    before: control and contact wrenches of the step before, and memory.
    """
    u = before[0].copy() if before else np.full(nv, t[0].constant(0.0), dtype=object)
    m = before[2].copy() if len(before) > 2 else np.empty(0, dtype=object)
    wrenches = [named(c.reshape(-1, WRENCH)) if c.size else np.empty((0, WRENCH), dtype=object) for c in before[1:2]]
    given = t[0], q, v, p, u, *wrenches, *([m] if len(before) > 2 else [])
    returned = call_traced(
        f"the policy {name_of(function)}", function, *given, otherwise=", or give the controls as an array"
    )
    if returned is not None:
        raise ArgumentError(f"the policy {name_of(function)} must write to u and return nothing, got {returned!r}")
    for label, array in (("u", u), ("m", m)):
        for k, x in enumerate(array):
            if not is_number(x, t[0].graph):
                raise ArgumentError(f"the policy {name_of(function)} writes {x!r} to {label}[{k}]: a number is needed")
    return np.concatenate([u, m])
