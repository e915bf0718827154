"""Limits on the unpacked size of a file, checked before memory is allocated."""

from __future__ import annotations

ALWAYS = 1 << 27  # bytes that any file may unpack to
STORED, COMPRESSED = (
    4,
    1000,
)  # times a file's size: of formats that are written plain, and of numbers that hardly change


def check_unpacked(needed: int, size: int, times: int) -> None:
    """Raise ValueError if a file of `size` bytes would unpack to more than `times` its size.

    needed: unpacked size in bytes.
    """
    if needed > max(ALWAYS, times * size):
        raise ValueError(
            f"its {size:,} bytes announce {needed:,} bytes of numbers, more than treesim writes into as many"
        )
