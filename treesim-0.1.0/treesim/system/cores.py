"""Number of processor cores that this process may use, by its affinity and its container's quota."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")
PERFORMANCE = b"hw.perflevel0.logicalcpu"  # the number of cores of the fastest kind


def usable_cores() -> int:
    """Return the smaller of the processor affinity and the quota of the control groups, rounded up; at least 1.

    On macOS, the number of performance cores: a batch on all cores would wait for the efficiency cores.
    """
    allowed = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else _performance_cores() or os.cpu_count()
    )
    quota = cpu_quota()
    return allowed or 1 if quota is None else max(1, min(allowed or 1, math.ceil(quota)))


def _performance_cores() -> int | None:
    """Return the number of performance cores that macOS reports; None elsewhere, and for processors of one kind."""
    if sys.platform != "darwin":
        return None
    count, size = ctypes.c_int32(), ctypes.c_size_t(4)
    failed = ctypes.CDLL(None).sysctlbyname(
        PERFORMANCE, ctypes.byref(count), ctypes.byref(size), None, ctypes.c_size_t()
    )
    return None if failed else count.value


def cpu_quota(groups: Path = GROUPS, mounted: Path = MOUNTED) -> float | None:
    """Return the number of cores that the quotas of this process's control groups allow; None without a limit.

    The groups include all enclosing ones. groups: file that lists the process's groups, of version 1 or 2. mounted:
    folder in which groups are mounted.
    """
    quotas = [_quota(folder) for folder in _folders(groups, mounted)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folders(groups: Path, mounted: Path) -> Iterator[Path]:
    """Yield the folders of the groups that limit processors, from the process's own to the outermost."""
    try:
        lines = groups.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = mounted / controllers  # of version 2, whose groups have all controllers, `mounted` itself
        inner = PurePosixPath(path.lstrip("/"))
        yield from (root / part for part in (inner, *inner.parents))


def _quota(folder: Path) -> float | None:
    """Return quota over period of a group, from the file of version 2, or else the two files of version 1."""
    try:
        numbers = (folder / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        try:
            files = (folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")
            numbers = [file.read_text(encoding="ascii").strip() for file in files]
        except (OSError, ValueError):
            return None
    return _ratio(numbers)


def _ratio(numbers: list[str]) -> float | None:
    """Return quota over period; None, for no limit, if the numbers are "max", -1 or not a pair."""
    try:
        quota, period = map(int, numbers)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None
