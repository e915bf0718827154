"""Machine code that a second process makes, while this one goes on with other code.

LLVM takes most of the time of a compilation. llvmlite lets one thread of a process at it at a time, so what is to be
compiled on two cores at once takes two processes. The second one needs 0.06 s to start: it imports llvmlite alone.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Sequence

from ...system.cores import usable_cores
from ...system.subprocesses import can_start_python, file_command
from ..threads import lock_across_forks
from . import object_code
from .object_code import CompileRequest

TIME_LIMIT = 300.0  # seconds after which a process is given up: it hangs

_at_work: set[threading.Thread] = set()
_counting = lock_across_forks()


def possible() -> bool:
    """Return whether a second process can be had, and a core for it, beside those that are at work."""
    return can_start_python() and usable_cores() > 1 + len(_at_work)


class Compilation:
    """An order that a second process is at work on, from now on."""

    def __init__(self, order: CompileRequest) -> None:
        self.order = order
        self._made: bytes | None = None
        self._process = _started(order)
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        with _counting:
            _at_work.add(self._waiting)
            self._waiting.start()

    def result(self) -> bytes:
        """Return the object file, made here if the second process could not."""
        self._waiting.join()
        if self._made is None:
            self._made = object_code.object_code(self.order)
        return self._made

    def _wait(self) -> None:
        try:
            self._made = _answer(self._process) if self._process else None
        finally:
            _at_work.discard(threading.current_thread())


class QueuedCompilation:
    """An order that a second process is to work on as soon as there is a core for it, unless it is asked for before."""

    def __init__(self, order: CompileRequest) -> None:
        self.order = order
        self._compilation: Compilation | None = None
        self._asked, self._beginning = False, threading.Lock()
        with _counting:
            before = [*_at_work]
        self._thread = threading.Thread(target=self._begin_after, args=(before,), daemon=True)
        if before:
            self._thread.start()
        else:
            self._begin()

    def result(self) -> bytes:
        """Return the object file, made here if no second process has begun it."""
        with self._beginning:
            self._asked = True
        return self._compilation.result() if self._compilation else object_code.object_code(self.order)

    def _begin_after(self, others: Sequence[threading.Thread]) -> None:
        for other in others:
            other.join()
        self._begin()

    def _begin(self) -> None:
        with self._beginning:
            if not self._asked and possible():
                self._compilation = Compilation(self.order)


def _started(order: CompileRequest) -> subprocess.Popen[bytes] | None:
    """A process that has its order in a file, None where none can be had. Through a pipe, which holds 64 KiB, a thread
    would hand it over piece by piece, and wait before each until another one, which writes more code, lets it run."""
    text, *values = order
    facts = json.dumps(dict(zip(CompileRequest._fields[1:], values, strict=True)))
    command = file_command(object_code.__file__)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(f"{facts}\n{text}".encode())
            given.seek(0)
            return subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None


def _answer(process: subprocess.Popen[bytes]) -> bytes | None:
    """The object file that a process gives, None if it fails, or hangs."""
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return None if process.returncode else object_code.unframed(output)
