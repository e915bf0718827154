"""A process that does tasks of a sweep: arguments CORES DESCRIPTOR, started by `workers`.

It does what comes over a socket until the other end is closed, as when the process that asked is gone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from ..subprocesses import serve
from .chunk import run_task
from .workers import Done, Failed, Outcome


def outcome_of(folder: str, digest: str, task: tuple, threads: int | None) -> Outcome:
    """Return what comes of a task; no error goes further."""
    from .chunk import Task

    try:
        return Done(run_task(folder, digest, Task(*task), threads))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", kills=False)


def main(cores: str, descriptor: str) -> None:
    """Do tasks until there are no more."""
    if hasattr(os, "sched_setaffinity") and cores:
        with suppress(OSError):
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    serve(descriptor, lambda job: outcome_of(*job))


if __name__ == "__main__":
    main(*sys.argv[1:])
