"""A process that does tasks of a sweep: arguments CORES DESCRIPTOR, started by `workers`.

It does what comes over a socket until the other end is closed, as when the process that asked is gone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from ..system.subprocesses import serve
from .workers import outcome_of


def main(cores: str, descriptor: str) -> None:
    """Do tasks until there are no more."""
    if hasattr(os, "sched_setaffinity") and cores:
        with suppress(OSError):
            os.sched_setaffinity(0, [int(core) for core in cores.split(",")])
    serve(descriptor, lambda order: outcome_of(*order))


if __name__ == "__main__":
    main(*sys.argv[1:])
