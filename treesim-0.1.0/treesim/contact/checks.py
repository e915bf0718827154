"""Checks of the contact of many states over all their steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class ContactChecks(NamedTuple):
    """Diagnostics of the contact of B states over all their steps.

    residual (B,): largest complementarity residual [m/s, rad/s]. growth (B,): largest growth of an overlap in a step
    [m]. step, body (B,): number of that step, and index of the body.
    """

    residual: np.ndarray
    growth: np.ndarray
    step: np.ndarray
    body: np.ndarray

    def of(self, rows: Any) -> ContactChecks:
        """Return those of some states."""
        return ContactChecks(*(x[rows] for x in self))

    def reset(self, rows: Any) -> None:
        """Set those of some states to those before the first step."""
        for x in self:
            x[rows] = 0


def begin_checks(count: int) -> ContactChecks:
    """Return the diagnostics of `count` states before their first step."""
    return ContactChecks(np.zeros(count), np.zeros(count), *np.zeros((2, count), int))
