"""A process that does tasks of a sweep: `python -m treesim.sweeps.worker DESCRIPTOR CORES`, started by `workers`.

It does what comes over a socket until the other end is closed, as when the process that asked is gone.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from .chunk import run_task
from .workers import Done, Failed, Outcome


def outcome_of(folder: str, digest: str, task: tuple, threads: int | None) -> Outcome:
    """Return what comes of a task; no error goes further."""
    from .chunk import Task

    try:
        return Done(run_task(folder, digest, Task(*task), threads))
    except Exception as error:
        return Failed(f"{type(error).__name__}: {error}", kills=False)


def main(descriptor: str, cores: str) -> None:
    """Do tasks until there are no more; Ctrl-C is for the process that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "sched_setaffinity") and cores:
        with suppress(OSError):
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    with Connection(int(descriptor)) as connection:
        while True:
            try:
                job = connection.recv()
            except EOFError:
                return
            connection.send(outcome_of(*job))


if __name__ == "__main__":
    main(*sys.argv[1:])
