"""Background compilation in a second process.

LLVM takes most of the time of a compilation. llvmlite serializes the threads of a process, so compiling on
two cores takes two processes. The second one needs 0.06 s to start: it imports llvmlite only.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence

from ...system.cores import usable_cores
from ...system.subprocesses import can_start_python, file_command, safe_environment
from ..threads import lock_across_forks
from . import object_code
from .object_code import CompileRequest

TIME_LIMIT = 300.0  # seconds after which a process is killed

_at_work: set[threading.Thread] = set()
_counting = lock_across_forks()


def possible() -> bool:
    """Return whether a second process can be started, and has a core besides the busy ones."""
    return can_start_python() and usable_cores() > 1 + len(_at_work)


class Compilation:
    """Compilation request that a second process works on, started at once."""

    def __init__(self, order: CompileRequest) -> None:
        self.order = order
        self._made: bytes | None = None
        self._process = _started(order)
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        with _counting:
            _at_work.add(self._waiting)
            self._waiting.start()

    def result(self) -> bytes:
        """Return the object file, compiled here if the second process failed."""
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
    """Compilation request that a second process starts when a core is free, unless the result is needed before."""

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
        """Return the object file, compiled here if no second process has started."""
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
    """Start a process with its request in a file; None if it cannot be started.

    A pipe buffers only 64 KiB. A thread would have to write to it piece by piece, and wait before each for
    another thread that generates code.
    """
    text, *values = order
    facts = json.dumps(dict(zip(CompileRequest._fields[1:], values, strict=True)))
    command = file_command(object_code.__file__)
    try:
        with tempfile.TemporaryFile() as given:
            given.write(f"{facts}\n{text}".encode())
            given.seek(0)
            return subprocess.Popen(
                command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, **safe_environment()},
            )  # fmt: skip
    except OSError:
        return None


def _answer(process: subprocess.Popen[bytes]) -> bytes | None:
    """Return the object file of a process, None if it fails or exceeds the time limit."""
    try:
        output, _ = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return None if process.returncode else object_code.unframed(output)
