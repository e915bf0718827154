"""Which chunks of a sweep are finished: one line each, with a checksum, written when its columns are.

The process that asked for the sweep alone writes it, so it is the same after a worker that was killed, a scheduler or
a machine that was lost, and Ctrl-C: what is not in it is computed by the next call.

A line is a JSON object whose last entry is a digest of the line and of the store's identity: a line that is damaged, or
another store's, is passed over. There are lines of chunks, of samples that are left out, and of the store's program.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ..errors import ArgumentError, SweepError
from ..system.files import DAMAGED, cannot_write
from .store import ASIDE, Store

MANIFEST = f"{ASIDE}/manifest"
LINE = re.compile(rb'(\{.+), "digest": "([0-9a-f]{16})"\}')
CHECKSUM, PROGRAM = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{64}")
CHUNK = {"start", "failed", "left_out", "checksum", "seconds"}


class Manifest:
    """The lines of a store's manifest: records of finished chunks by their first sample; left_out: why samples are
    not computed, by number; programs: digests of the store's program. damaged: how many lines were passed over."""

    def __init__(self, store: Store) -> None:
        self.path, self._store = store.folder / MANIFEST, store
        self.finished: dict[int, dict[str, Any]] = {}
        self.left_out: dict[int, str] = {}
        self.programs: set[str] = set()
        self.damaged = 0
        for content in self._lines():
            line = self._read(content)
            if line is not None:
                self._take(line)
            elif content.endswith(b"\n"):  # else a process was killed while it wrote
                self.damaged += 1

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as stream:
                yield from stream
        except FileNotFoundError:
            return
        except OSError as error:
            raise ArgumentError(f"cannot read {self.path}: {error.strerror or error}") from None

    def _read(self, content: bytes) -> dict[str, Any] | None:
        """What a line holds, None where it is damaged or another store's."""
        match = LINE.fullmatch(content.rstrip(b"\n"))
        if match is None or self._digest(match[1] + b"}") != match[2].decode():
            return None
        with suppress(*DAMAGED):
            line = json.loads(match[1] + b"}")
            if self._is_sound(line):
                return dict(line)
        return None

    def _digest(self, content: bytes) -> str:
        return hashlib.sha256(self._store.identity.encode() + content).hexdigest()[:16]

    def _is_sound(self, line: dict[str, Any]) -> bool:
        """Whether a line holds what one of the three kinds holds, and nothing else."""
        if line.keys() == {"program"}:
            return isinstance(line["program"], str) and PROGRAM.fullmatch(line["program"]) is not None
        if line.keys() == {"sample", "reason"}:
            return _is_whole(line["sample"], 0, self._store.samples) and isinstance(line["reason"], str)
        return line.keys() == CHUNK and self._is_chunk(**line)

    def _is_chunk(self, start: Any, failed: Any, left_out: Any, checksum: Any, seconds: Any) -> bool:
        samples, chunk = self._store.samples, self._store.chunk
        if not _is_whole(start, 0, samples) or start % chunk:
            return False
        stop = min(start + chunk, samples)
        return (
            _is_whole(failed, 0, chunk + 1)
            and isinstance(left_out, list)
            and all(_is_whole(sample, start, stop) for sample in left_out)
            and isinstance(checksum, str)
            and CHECKSUM.fullmatch(checksum) is not None
            and type(seconds) in (int, float)
            and 0 <= seconds < math.inf
        )

    def _take(self, line: dict[str, Any]) -> None:
        if "sample" in line:
            self.left_out[line["sample"]] = line["reason"]
        elif "program" in line:
            self.programs.add(line["program"])
        else:
            self.finished[line["start"]] = line
            for sample in line["left_out"]:
                self.left_out.setdefault(sample, "the reason was in a line of the manifest that is damaged")

    def add(self, line: dict[str, Any]) -> None:
        """Write down a finished chunk, a sample that is left out, or the store's program; raises ArgumentError where
        there is no room, SweepError for a record that no task of this sweep gives."""
        if not self._is_sound(line):
            raise SweepError(f"a worker sent a record that is none of this sweep: {line!r:.200}")
        content = json.dumps(line).encode()
        try:
            with self.path.open("a+b") as stream:
                self._end_line(stream)
                stream.write(content[:-1] + f', "digest": "{self._digest(content)}"}}\n'.encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._take(line)

    def _end_line(self, stream: IO[bytes]) -> None:
        """End the last line, or take it away where a process was killed, or had no room, while it wrote."""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 1))
        if size == 0 or stream.read(1) == b"\n":
            return
        stream.seek(0)
        content = stream.read()
        begin = content.rfind(b"\n") + 1
        if self._read(content[begin:]) is None:
            stream.truncate(begin)
        else:
            stream.write(b"\n")

    @property
    def done(self) -> int:
        """How many samples are finished."""
        samples, chunk = self._store.samples, self._store.chunk
        return sum(min(start + chunk, samples) - start for start in self.finished)

    def loss(self) -> str | None:
        """Return in words what lines that are damaged cost, None where all is known without them."""
        if not self.damaged or self.done == self._store.samples:
            return None
        return (
            f"{self.damaged} lines of {self.path} are damaged and were passed over; {self.done} of "
            f"{self._store.samples} samples count as finished: the same call of treesim.sweep computes the others"
        )


def _is_whole(value: Any, least: int, end: int) -> bool:
    """Whether a value is a whole number from least on, below end."""
    return type(value) is int and least <= value < end


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a store from being written by another call of `treesim.sweep` meanwhile; raises ArgumentError where one
    does. Where the file system knows no locks, nothing is kept."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = folder / MANIFEST
    try:
        stream = path.open("a")
    except OSError as error:
        raise cannot_write(path, error) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArgumentError(f"another sweep is writing {folder}: wait for it, or take another store") from None
        except OSError:
            pass
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            raise ArgumentError(f"{folder} was removed, or made again, by another process meanwhile: call again")
        yield
