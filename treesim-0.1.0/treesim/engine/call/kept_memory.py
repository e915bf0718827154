"""Memory that compiled kernels keep between their calls.

A kernel needs scratch memory, with contact some megabytes. The C library returns that much to the system at the end of
a call, and the next call would wait for the system to map and clear it again, page by page.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import lru_cache
from typing import Any

from ..frontend.arena import SLOTS


class KeptMemory:
    """Owner of the blocks that one kernel keeps, which are freed with it; address: of the kernel's pointer to them."""

    def __init__(self, address: int) -> None:
        slots = (ctypes.c_void_p * SLOTS)()
        ctypes.c_void_p.from_address(address).value = ctypes.addressof(slots)
        weakref.finalize(self, _free, slots).atexit = False  # the end of the process frees all


def _free(slots: ctypes.Array[ctypes.c_void_p]) -> None:
    for block in slots:
        if block is not None:
            _free_of_kernels()(block)


@lru_cache(maxsize=1)
def _free_of_kernels() -> Any:
    """Return the C library's `free` which kernels call."""
    from llvmlite import binding

    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(binding.address_of_symbol("free"))
