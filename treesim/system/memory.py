"""Free and peak memory, and an error before the computation of a result that does not fit in it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ArgumentError

GIB = 1 << 30
SMALL = 1 << 26  # bytes that are not worth asking for how much is free, which takes 0.1 ms


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Raise ArgumentError if `needed` bytes for `what` exceed the free memory; remedy: a suggestion for the user."""
    free = free_memory() if needed > SMALL else None
    if free is not None and needed > free:
        raise ArgumentError(f"{what} would take {gib(needed)} of memory, and {gib(free)} are free: {remedy}")


@contextmanager
def without_collection() -> Iterator[None]:
    """Disable Python's garbage collector: it would take a third of the time for the many small objects of a trace."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


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
    limits = _free_in_group(), _free_in_process()
    return min([free, *(limit for limit in limits if limit is not None)])


def peak_memory(children: bool = False) -> int | None:
    """Return the largest memory that this process has used [bytes]; None if the system does not report it.

    children: instead of the one of its ended children that used most.
    """
    if not children:
        try:  # what `getrusage` reports includes the process that started this one
            lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        except (OSError, ValueError, IndexError, StopIteration):
            pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # macOS reports bytes


def _free_in_process() -> int | None:
    """Return the free address space of a process whose address space is limited (`ulimit -v`), None without a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return max(0, limit - pages * resource.getpagesize())


def _free_in_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the free memory of the process's container, None without one; cached file pages count as free."""
    try:
        limit, used = ((folder / name).read_text(encoding="ascii") for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
        return max(0, int(limit) - int(used) + int(kept["inactive_file"]) + int(kept["active_file"]))
    except (OSError, ValueError, KeyError):
        return None
