"""Suppression of Bullet's native output on the standard channels."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def suppress_output() -> Iterator[None]:
    """Context that discards a library's native output on the standard channels, which may contain JSON."""
    kept = {channel: os.dup(channel) for channel in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for channel in kept:
            os.dup2(nowhere, channel)
        yield
    finally:
        with suppress(OSError, TypeError):  # Windows has no such library: what is not flushed yet is printed later
            ctypes.CDLL(None).fflush(None)
        for channel, copy in kept.items():
            os.dup2(copy, channel)
            os.close(copy)
        os.close(nowhere)
