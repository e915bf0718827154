"""Pool of memory blocks for large results.

The system clears new memory page by page at its first use, which takes several times as long as computing
the results. Allocators return large blocks to the system at once, and smaller ones when several are freed together,
so every call would pay this again. The pool retains a block whose result is no longer used, for the next result of
about its size.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, out_of_memory, quoted
from ..threads import LONGEST

VARIABLE = "TREESIM_KEEP_MIB"
KEPT = 512  # MiB: largest size of the pool
LEAST = 1 << 17  # bytes of a result: allocators keep smaller blocks
MOST = 32  # blocks, among which each call searches
ROOM = 1.25  # largest ratio of a block's size to its result's

_blocks: list[np.ndarray] = []  # least recently used first
_lock = threading.Lock()
_alone = [np.empty(0)]
_REFERENCES = sys.getrefcount(_alone[0])  # to an object in a list only


def empty(shape: tuple[int, ...], number: Any) -> np.ndarray:
    """Return an uninitialized array; a large one reuses the memory of an unused earlier result of about its size.

    $TREESIM_KEEP_MIB limits the memory of the pool. Raises ArgumentError if it is not a number, or if there is not that
    much memory. While a call uses the pool, those of other threads do without, and so do those that interrupt it.
    """
    size = math.prod(shape) * np.dtype(number).itemsize
    try:
        if size >= LEAST and _lock.acquire(blocking=False):
            try:
                return np.ndarray(shape, number, _block(size))
            finally:
                _lock.release()
        return np.empty(shape, number)
    except MemoryError:
        raise out_of_memory(f"a result of shape {shape}", size) from None


def is_unused(items: Sequence[Any], k: int) -> bool:
    """Return whether nothing but a sequence refers to its item k."""
    return sys.getrefcount(items[k]) == _REFERENCES


def limit() -> int:
    """Return the largest size of the pool [bytes]: $TREESIM_KEEP_MIB, else 512 MiB."""
    details = os.environ.get(VARIABLE) or str(KEPT)
    if not (details.isascii() and details.isdecimal() and len(details) <= LONGEST):
        raise ArgumentError(f"{VARIABLE} is {quoted(details)}, but must be a whole number of MiB, 0 to keep nothing")
    return int(details) << 20


def _block(size: int) -> np.ndarray | None:
    """Return an unused block, or a new one, for which the oldest blocks are dropped; None beyond the pool's limit."""
    for k in range(len(_blocks)):
        if size <= _blocks[k].nbytes <= ROOM * size and is_unused(_blocks, k):
            _blocks.append(_blocks.pop(k))
            return _blocks[-1]
    most = limit() - size
    if most < 0:
        return None  # numpy allocates memory for an array without a buffer
    while _blocks and (len(_blocks) >= MOST or sum(block.nbytes for block in _blocks) > most):
        _blocks.pop(0)  # a block in use stays with its users
    _blocks.append(np.empty(size, np.uint8))
    return _blocks[-1]
