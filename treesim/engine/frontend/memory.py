"""What kernels that read objects of Python know of memory: arrays at an address, which only compiled code can see."""

from __future__ import annotations


def words_at(address, count):  # type: ignore[no-untyped-def]
    """Memory as an array of int64."""
    raise NotImplementedError


def reals_at(address, count):  # type: ignore[no-untyped-def]
    """Memory as an array of float64."""
    raise NotImplementedError


def unchanged(array):  # type: ignore[no-untyped-def]
    """An array that nobody writes to while the kernel runs."""
    return array
