"""Fast calls of the generic engine's entries on single states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..frontend.fastcall import BAD_LAYOUT, STATES, has_fast_entry
from .generic import compiled, runs_compiled

OBJECT = np.dtype(object)


class FastEntry:
    """Declared entry (`kernels.entries.entry`) with its fast call, compiled on first use.

    call(ints, reals, *tables, *arrays): the built-in function. It returns the entry's status, or BAD_LAYOUT for
    arguments that it does not accept; tables must be those that treesim creates. If kernels run as plain
    Python, or numpy's memory layout is unknown, every call returns BAD_LAYOUT.
    """

    __slots__ = ("call", "entry")

    def __init__(self, kernel_entry: Callable[..., int]) -> None:
        self.entry = kernel_entry
        self.call: Callable[..., int] = self._first_call

    def _first_call(self, *arguments: Any) -> int:
        """Look up the fast call at the first call on a single state, and replace `call` by it.

        A large batch gets BAD_LAYOUT: it may run by SIMD code, and would wait for code that it never uses. So do
        arrays of objects, such as the numbers of traces.
        """
        if self._is_large(arguments) or any(getattr(x, "dtype", None) == OBJECT for x in arguments):
            return BAD_LAYOUT
        self.call = fast_call(self.entry)
        return self.call(*arguments)

    def _is_large(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether the first array has more axes than that of one state, and is one of many states."""
        signature = getattr(self.entry, "signature", None)
        if signature is None or len(arguments) <= 2 + len(signature.tables):
            return False
        first = arguments[2 + len(signature.tables)]
        return isinstance(first, np.ndarray) and first.ndim > len(signature.arrays[0].shape) and len(first) >= STATES


def fast_call(kernel_entry: Any) -> Callable[..., int]:
    """Return the compiled built-in function of an entry, see `FastEntry.call`.

    For an entry without declaration it always returns BAD_LAYOUT.
    """
    if not (runs_compiled() and has_fast_entry(kernel_entry)):
        return lambda *arguments: BAD_LAYOUT
    found: Callable[..., int] = compiled(kernel_entry).fast
    return found
