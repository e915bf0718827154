"""Arrays and functions at memory addresses, for kernels that read Python objects; available in compiled code only."""

from typing import Any


def words_at(address, count):  # type: ignore[no-untyped-def]
    """Return `count` words at an address as an array of int64."""
    raise NotImplementedError


def reals_at(address: Any, count: Any) -> Any:
    """Return `count` numbers at an address as an array of float64."""
    raise NotImplementedError


def call_at(address, words):  # type: ignore[no-untyped-def]
    """Call the function at an address with the address of an array of int64; return its int64."""
    raise NotImplementedError


def unchanged(array):  # type: ignore[no-untyped-def]
    """Return the array marked as constant while the kernel runs."""
    return array
