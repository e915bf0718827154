"""Pool of memory blocks for large results.

The system clears new memory page by page at its first use, which takes several times as long as computing
the results. Allocators return large blocks to the system at once, so every call would pay this again. The
pool retains a block whose result is no longer used, for the next result of about its size.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, out_of_memory, quoted
from ..threads import LONGEST, lock_across_forks

VARIABLE = "TREESIM_KEEP_MIB"
KEPT = 512  # MiB: largest size of the pool
LEAST = 1 << 24  # bytes of a result: allocators reuse smaller blocks
ROOM = 1.25  # largest ratio of a block's size to its result's

_blocks: list[np.ndarray] = []  # least recently used first
_lock = lock_across_forks()
_alone = [np.empty(0)]
_REFERENCES = sys.getrefcount(_alone[0])  # to an object in a list only


def empty(shape: tuple[int, ...], number: Any) -> np.ndarray:
    """Return an uninitialized array; a large one reuses the memory of an unused earlier result of about its size.

    $TREESIM_KEEP_MIB limits the memory of the pool. Raises ArgumentError if it is not a number,
    or if there is not that much memory.
    """
    size = math.prod(shape) * np.dtype(number).itemsize
    if size < LEAST or size > limit():
        try:
            return np.empty(shape, number)
        except MemoryError:
            raise out_of_memory(f"a result of shape {shape}", size) from None
    with _lock:
        block = _block(size)
    return block[:size].view(number).reshape(shape)


def is_unused(items: Sequence[Any], k: int) -> bool:
    """Return whether nothing but a sequence refers to its item k."""
    return sys.getrefcount(items[k]) == _REFERENCES


def limit() -> int:
    """Return the largest size of the pool [bytes]: $TREESIM_KEEP_MIB, else 512 MiB."""
    details = os.environ.get(VARIABLE) or str(KEPT)
    if not (details.isascii() and details.isdecimal() and len(details) <= LONGEST):
        raise ArgumentError(f"{VARIABLE} is {quoted(details)}, but must be a whole number of MiB, 0 to keep nothing")
    return int(details) << 20


def _block(size: int) -> np.ndarray:
    """Return an unused block, or a new one; the oldest blocks are dropped if the pool would exceed its limit."""
    for k in range(len(_blocks)):
        if size <= _blocks[k].nbytes <= ROOM * size and is_unused(_blocks, k):
            _blocks.append(_blocks.pop(k))
            return _blocks[-1]
    while _blocks and sum(block.nbytes for block in _blocks) + size > limit():
        _blocks.pop(0)  # a block in use stays with its users
    _blocks.append(np.empty(size, np.uint8))
    return _blocks[-1]
