"""Entries of the generic engine as plain functions call them: with next to no overhead on single states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..frontend.fastcall import BAD_LAYOUT, has_fast_entry
from .generic import compiled, runs_compiled


class FastEntry:
    """A declared entry (`kernels.entries.entry`) with its fast call, which is compiled when it is first needed.

    call(ints, reals, *tables, *arrays): the fast built-in function. It returns the entry's status, or BAD_LAYOUT for
    arguments it does not take; tables must be those that treesim makes. Where kernels run as plain Python, or numpy's
    layout is not the known one, every call is a BAD_LAYOUT.
    """

    __slots__ = ("call", "entry")

    def __init__(self, kernel_entry: Callable[..., int]) -> None:
        self.entry = kernel_entry
        self.call: Callable[..., int] = self._first_call

    def _first_call(self, *arguments: Any) -> int:
        """Find the fast call at the first one on a state, and stay out of the way from then on. A batch is turned down:
        it may run on lanes, and would wait for code that it never uses."""
        if self._is_batch(arguments):
            return BAD_LAYOUT
        self.call = fast_call(self.entry)
        return self.call(*arguments)

    def _is_batch(self, arguments: tuple[Any, ...]) -> bool:
        """Whether the first array has more axes than that of one state."""
        signature = getattr(self.entry, "signature", None)
        if signature is None:
            return False
        first = arguments[2 + len(signature.tables) :][:1]
        return any(isinstance(x, np.ndarray) and x.ndim > len(signature.arrays[0].shape) for x in first)


def fast_call(kernel_entry: Any) -> Callable[..., int]:
    """Return the fast built-in function of an entry, compiled: `FastEntry.call`. One without declaration has none."""
    if not (runs_compiled() and has_fast_entry(kernel_entry)):
        return lambda *arguments: BAD_LAYOUT
    found: Callable[..., int] = compiled(kernel_entry).fast
    return found
