"""How many cores this process may use: those that it may run on, and those that a container's quota pays for."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Return the smaller of the processor affinity and the quota of the control groups, rounded up; at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def cpu_quota(groups: Path = GROUPS, mounted: Path = MOUNTED) -> float | None:
    """Return the cores' worth of time that this process's control groups, or those around them, grant; None without
    a limit. groups: the file that names the process's groups, of version 1 or 2. mounted: where groups are found."""
    quotas = [_quota(folder) for folder in _folders(groups, mounted)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folders(groups: Path, mounted: Path) -> Iterator[Path]:
    """The folders of the groups that limit processors, from the process's own to the outermost."""
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
    """Time granted over the period for which it is granted, by version 2's file, else by version 1's two."""
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
    """Quota over period; None for "max", -1 and what is no pair of numbers: there is no limit then."""
    try:
        quota, period = map(int, numbers)
    except ValueError:
        return None
    return quota / period if quota > 0 and period > 0 else None
