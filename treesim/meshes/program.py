"""Child process that reads mesh files within limits.

Imports of treesim only the modules next to it, and how files are opened.

`reader` runs it as a program with the arguments MEMORY (bytes of address space), IDLE (seconds without a
request after which it ends) and DESCRIPTOR (of its end of the socket). It sends READY once all is imported:
time limits do not include the start. A request is a Request. The answer
contains the parts and faults of a MeshContents as plain tuples, since the classes differ between the processes,
or the reason of a refusal.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing import connection
from typing import Any, NamedTuple

from .collada import Refused
from .contents import read_contents

READY = "ready"


class Request(NamedTuple):
    """Arguments of read_contents, and the time limit [s] of the process."""

    file: str
    colored: bool
    texture: str | None
    seconds: float


def _answer(request: Request) -> tuple[list[Any], list[str]] | str:
    try:
        parts, faults = read_contents(request.file, request.colored, request.texture, decode=True)
    except MemoryError:
        return "it takes more memory than a mesh may"
    except Refused as error:
        return str(error)
    except Exception as error:  # whatever readers of several formats raise
        return f"{type(error).__name__}: {error}"
    return [(*part[:4], part.image and tuple(part.image)) for part in parts], list(faults)


def _limit_memory(size: int) -> None:
    with suppress(ImportError, OSError, ValueError):  # not on Windows, and a lower limit may stand
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CORE, getrlimit, setrlimit

        setrlimit(RLIMIT_CORE, (0, 0))  # a crash leaves no file behind
        hard = getrlimit(RLIMIT_AS)[1]
        setrlimit(RLIMIT_AS, (size if hard == RLIM_INFINITY else min(size, hard), hard))


def _limit_time(seconds: float) -> None:
    """Let the process be killed after a time, 0 for never; SIGALRM kills in C code, too. Windows has no such signal."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def main(memory: str, idle: str, descriptor: str) -> None:
    """Answer requests until the parent closes its end, or is idle for too long; Ctrl-C is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(int(memory))
    end = getattr(connection, "PipeConnection", connection.Connection)(int(descriptor))  # on Windows, a named pipe's
    with end, suppress(EOFError, BrokenPipeError):
        end.send(READY)
        while end.poll(float(idle)):
            request = Request(*end.recv())
            _limit_time(request.seconds)
            answer = _answer(request)
            _limit_time(0)
            end.send(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
