"""Entries of the generic engine as plain functions call them: with next to no overhead on single states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fastcall import MISFIT, has_door
from .generic import compiled, runs_compiled


class FastEntry:
    """A declared entry (`kernels.entry`) with its door, which is compiled at the first call.

    call(ints, reals, *tables, *arrays): the fast built-in function. It returns the entry's status, or MISFIT for
    arguments it does not take; tables must be those that treesim makes. Where kernels run as plain Python, or numpy's
    layout is not the known one, every call is a MISFIT.
    """

    __slots__ = ("call", "entry")

    def __init__(self, kernel_entry: Callable[..., int]) -> None:
        self.entry = kernel_entry
        self.call: Callable[..., int] = self._first_call

    def _first_call(self, *arguments: Any) -> int:
        """Open the door, and stay out of the way from then on."""
        self.call = door(self.entry)
        return self.call(*arguments)


def door(kernel_entry: Any) -> Callable[..., int]:
    """Return the fast built-in function of an entry, compiled: `FastEntry.call`. One without declaration has none."""
    if not (runs_compiled() and has_door(kernel_entry)):
        return lambda *arguments: MISFIT
    found: Callable[..., int] = compiled(kernel_entry).door
    return found
