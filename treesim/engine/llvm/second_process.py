"""Machine code that a second process makes, while this one goes on with other code.

LLVM takes most of the time of a compilation. llvmlite lets one thread of a process at it at a time, so what is to be
compiled on two cores at once takes two processes. The second one needs 0.06 s to start: it imports llvmlite alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading

from ...cores import usable_cores
from . import object_code
from .object_code import Order

TIME_LIMIT = 300.0  # seconds after which a process is given up: it hangs

_at_work: set[threading.Thread] = set()


def possible() -> bool:
    """Return whether a second process can be had, and a core for it, beside those that are at work."""
    python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return python and usable_cores() > 1 + len(_at_work)


class Compilation:
    """An order that a second process is at work on, from now on."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self._made: bytes | None = None
        self._waiting = threading.Thread(target=self._ask, daemon=True)
        _at_work.add(self._waiting)
        self._waiting.start()

    def result(self) -> bytes:
        """Return the object file, made here if the second process could not."""
        self._waiting.join()
        if self._made is None:
            self._made = object_code.object_code(self.order)
        return self._made

    def _ask(self) -> None:
        text, *values = self.order
        facts = json.dumps(dict(zip(Order._fields[1:], values, strict=True)))
        # -I: what a user's environment and folder say of Python is not for a compiler
        command = [sys.executable, "-I", object_code.__file__, json.dumps(sys.path)]
        given = f"{facts}\n{text}".encode()
        try:
            done = subprocess.run(command, input=given, capture_output=True, check=True, timeout=TIME_LIMIT)
        except (OSError, subprocess.SubprocessError):
            return
        finally:
            _at_work.discard(threading.current_thread())
        self._made = object_code.unframed(done.stdout)
