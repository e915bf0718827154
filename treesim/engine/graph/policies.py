"""Policies: control laws as Python functions, run in the compiled code of rollouts (see `expressions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...validation.values import signature_of
from .expressions import Expression, is_number, name_of
from .user_functions import call_traced

WRENCH = 6
ARGUMENTS, WITH_CONTACT = "(t, q, v, p, u)", "(t, q, v, p, u, c)"


class Policy(Expression):
    """Traced function `policy(t, q, v, p, u)`, from time [s], q (nq), v (nv) and parameters p to u (nv).

    takes_contact: whether it is a `policy(t, q, v, p, u, c)`, whose inputs are also the control of the step before,
    which u contains at first, and the contact wrenches c (bodies, 6) in that step.
    """

    may_call = True

    def __init__(
        self, function: Callable[..., Any], nq: int, nv: int, parameters: int, bodies: int = 0,
        named: Callable[[np.ndarray], np.ndarray] = np.asarray,
    ) -> None:  # fmt: skip
        """Trace `function`.

        bodies: number of bodies with contact, including the base; 0 if nothing can touch. named: gives the contact
        wrenches (bodies, 6) the names of their rows. Raises UnsupportedError if it branches on the numbers,
        ArgumentError if it writes no number to u, or takes contact where there is none.
        """
        self.takes_contact = _takes_contact(function)
        if self.takes_contact and not bodies:
            raise ArgumentError(
                f"the policy {name_of(function)} takes wrenches of contact c, but nothing in this world can touch: "
                f"give World a ground, or take {ARGUMENTS}"
            )
        called = {f"the policy {name_of(function)}": function}
        before = (nv, WRENCH * bodies) if self.takes_contact else ()
        super().__init__(
            (1, nq, nv, parameters, *before), lambda *groups: _forces(function, nv, named, *groups), called
        )

    def __call__(self, t: Any, *groups: Any) -> list[Any]:  # type: ignore[override]
        """Return u of one state, on numbers of any type."""
        return super().__call__([t], *groups)

    def _result_name(self, k: int, called: str) -> str:
        return f"u[{k}] of {called}"


def _takes_contact(function: Callable[..., Any]) -> bool:
    """Return whether a policy takes contact wrenches; raises ArgumentError if it takes other arguments."""
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):
        raise ArgumentError(f"the policy {name_of(function)} has no signature: write def {ARGUMENTS}") from None
    try:
        signature.bind(*range(5))
    except TypeError as error:
        try:
            signature.bind(*range(6))
        except TypeError:
            raise ArgumentError(
                f"the policy {name_of(function)} must take {ARGUMENTS} or {WITH_CONTACT}: {error}"
            ) from None
        return True
    return False


def _forces(
    function: Callable[..., Any], nv: int, named: Callable[[np.ndarray], np.ndarray], t: np.ndarray, q: np.ndarray,
    v: np.ndarray, p: np.ndarray, *before: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return the numbers that a policy writes to u; before: control and contact wrenches of the step before."""
    u = before[0].copy() if before else np.full(nv, t[0].constant(0.0), dtype=object)
    given = t[0], q, v, p, u, *(named(c.reshape(-1, WRENCH)) for c in before[1:])
    returned = call_traced(
        f"the policy {name_of(function)}", function, *given, otherwise=", or give the controls as an array"
    )
    if returned is not None:
        raise ArgumentError(f"the policy {name_of(function)} must write to u and return nothing, got {returned!r}")
    for k, x in enumerate(u):
        if not is_number(x, t[0].graph):
            raise ArgumentError(f"the policy {name_of(function)} writes {x!r} to u[{k}]: a number is needed")
    return u
