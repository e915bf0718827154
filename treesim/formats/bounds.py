"""How much a file may unpack to: memory is not taken before it is known that a file of that size can hold as much."""

from __future__ import annotations

ALWAYS = 1 << 27  # bytes that any file may unpack to
STORED, COMPRESSED = (
    4,
    1000,
)  # times a file's size: of formats that are written plain, and of numbers that hardly change


def check_unpacked(needed: int, size: int, times: int) -> None:
    """Raise ValueError where a file of `size` bytes would take `needed` bytes, which is more than `times` as many."""
    if needed > max(ALWAYS, times * size):
        raise ValueError(
            f"its {size:,} bytes announce {needed:,} bytes of numbers, more than treesim writes into as many"
        )
