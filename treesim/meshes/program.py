"""Child process that reads mesh files within limits.

`reader` runs it with the arguments MEMORY (bytes of address space), IDLE (seconds without a request after which it
ends) and DESCRIPTOR (of its end of the socket). It sends READY once all is imported: time limits do not include the
start. A request is a Request, and the answer the MeshContents, or the reason of a refusal.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

from ..system.subprocesses import serve
from .collada import Refused
from .contents import READY, MeshContents, Request, read_contents


def _answer(request: Request) -> MeshContents | str:
    _limit_time(request.seconds)
    try:
        return read_contents(request.file, request.colored, request.texture, decode=True)
    except MemoryError:
        return "it takes more memory than a mesh may"
    except Refused as error:
        return str(error)
    except Exception as error:  # whatever readers of several formats raise
        return f"{type(error).__name__}: {error}"
    finally:
        _limit_time(0)


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


if __name__ == "__main__":
    memory, idle, descriptor = sys.argv[1:]
    _limit_memory(int(memory))
    serve(descriptor, _answer, READY, float(idle))
