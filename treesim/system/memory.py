"""Free memory, and an error before the computation of a result that does not fit in it."""

from __future__ import annotations

from pathlib import Path

from ..errors import ArgumentError

GIB = 1 << 30
SMALL = 1 << 26  # bytes that are not worth asking for how much is free, which takes 0.1 ms


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise ArgumentError if `needed` bytes for `what` exceed the free memory; remedy: a suggestion for the user."""
    free = free_memory() if needed > SMALL else None
    if free is not None and needed > free:
        raise ArgumentError(f"{what} would take {gib(needed)} of memory, and {gib(free)} are free: {remedy}")


def gib(size: int) -> str:
    """Return a number of bytes as text in GiB."""
    return f"{size / GIB:,.3g} GiB" if size < 1 << 60 else f"{size / GIB:.1e} GiB"


def free_memory() -> int | None:
    """Return the number of bytes that this process can still allocate, swap included; None if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        details = {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines}
        free = details["MemAvailable"] + details.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        return None
    within = _free_in_group()
    return free if within is None else min(free, within)


def _free_in_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the free memory of the process's container, None without one; cached file pages count as free."""
    try:
        limit, used = ((folder / name).read_text() for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, int(limit) - int(used) + int(kept["inactive_file"]) + int(kept["active_file"]))
    except (OSError, ValueError, KeyError):
        return None
