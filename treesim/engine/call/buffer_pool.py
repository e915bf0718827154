"""A pool of buffers: memory of large results, kept for the next ones.

Memory that is new to a process is cleared page by page when it is first written to, which takes several times as long
as computing what is written there. Allocators give large blocks back at once, so every call would pay anew. Here a
block stays with the process when its result is no longer used, and serves the next result of about its size.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import numpy as np

from ...errors import ArgumentError, quoted
from ..llvm.memory_techniques import POOL, used
from ..threads import LONGEST, lock_across_forks

VARIABLE = "TREESIM_KEEP_MIB"
KEPT = 512  # MiB that are kept at most
LEAST = 1 << 24  # bytes of a result: smaller blocks are kept by allocators
ROOM = 1.25  # times a result that its block may be

_blocks: list[np.ndarray] = []  # from the one whose last use is oldest on
_lock = lock_across_forks()
_alone = [np.empty(0)]
_REFERENCES = sys.getrefcount(_alone[0])  # to what only a list refers to


def empty(shape: tuple[int, ...], number: Any) -> np.ndarray:
    """Return an array for results, contents of no meaning: large ones in memory of earlier results that nothing refers
    to any more, if there is some of about this size.

    $TREESIM_KEEP_MIB bounds how much memory is kept. Raises ArgumentError if that is no number.
    """
    size = math.prod(shape) * np.dtype(number).itemsize
    if size < LEAST or size > limit() or not used(POOL):
        return np.empty(shape, number)
    with _lock:
        block = _block(size)
    return block[:size].view(number).reshape(shape)


def limit() -> int:
    """Return how many bytes are kept at most: $TREESIM_KEEP_MIB, else 512 MiB."""
    details = os.environ.get(VARIABLE) or str(KEPT)
    if not (details.isascii() and details.isdecimal() and len(details) <= LONGEST):
        raise ArgumentError(f"{VARIABLE} is {quoted(details)}, but must be a whole number of MiB, 0 to keep nothing")
    return int(details) << 20


def _block(size: int) -> np.ndarray:
    """A block that nobody uses, or a new one, in place of the oldest that would be too much with it."""
    for k in range(len(_blocks)):
        if size <= _blocks[k].nbytes <= ROOM * size and sys.getrefcount(_blocks[k]) == _REFERENCES:
            _blocks.append(_blocks.pop(k))
            return _blocks[-1]
    while _blocks and sum(block.nbytes for block in _blocks) + size > limit():
        _blocks.pop(0)  # one in use stays with its users
    _blocks.append(np.empty(size, np.uint8))
    return _blocks[-1]
