"""Which chunks of a sweep are finished: one line each, with a checksum, written when its columns are.

The process that asked for the sweep alone writes it, so it is the same after a worker that was killed, a scheduler or
a machine that was lost, and Ctrl-C: what is not in it is computed by the next call.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..files import cannot_write
from .store import ASIDE

MANIFEST = f"{ASIDE}/manifest"


class Manifest:
    """The lines of a store's manifest: records of finished chunks by their first sample, and left_out: why samples are
    not computed, by number."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / MANIFEST
        self.finished: dict[int, dict[str, Any]] = {}
        self.left_out: dict[int, str] = {}
        for line in self._lines():
            self._take(line)

    def _lines(self) -> Iterator[dict[str, Any]]:
        """What can be read: the last line of a process that was killed may be cut short."""
        with suppress(FileNotFoundError):
            for text in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError):
                    line = json.loads(text)
                    if isinstance(line, dict):
                        yield line

    def _take(self, line: dict[str, Any]) -> None:
        if "sample" in line:
            self.left_out[int(line["sample"])] = str(line["reason"])
        elif "checksum" in line:
            self.finished[int(line["start"])] = line

    def add(self, line: dict[str, Any]) -> None:
        """Write down a finished chunk, or a sample that is left out; raises ArgumentError where there is no room."""
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write("\n" * self._is_cut() + json.dumps(line) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._take(line)

    def _is_cut(self) -> bool:
        """Whether the last line has no end."""
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 1))
            return size > 0 and stream.read(1) != b"\n"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a store from being written by another call of `treesim.sweep` meanwhile; raises ArgumentError where one
    does. Where the file system knows no locks, nothing is kept."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with (folder / MANIFEST).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArgumentError(f"another sweep is writing {folder}: wait for it, or take another store") from None
        except OSError:
            pass
        yield
