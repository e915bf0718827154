"""Worker process that runs tasks of a sweep; started by `workers` with arguments CORES DESCRIPTOR.

It runs tasks received over a socket until the other end is closed, for example because the calling process
ended.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from ..system.subprocesses import serve
from .workers import outcome_of


def main(cores: str, descriptor: str) -> None:
    """Run tasks until the connection is closed."""
    if hasattr(os, "sched_setaffinity") and cores:
        with suppress(OSError):
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    serve(descriptor, lambda order: outcome_of(*order))


if __name__ == "__main__":
    main(*sys.argv[1:])
