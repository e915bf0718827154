"""Manifest of a sweep: one line with a checksum for each finished chunk, written after its columns.

Only the process that called `treesim.sweep` writes it. After a killed worker, a lost scheduler or machine,
or Ctrl-C, the next call computes whatever is not in it.

A line is a JSON object whose last entry is a digest of the line and of the store's identity. Lines that are
damaged, or belong to another store, are ignored. There are lines for chunks, for samples that are left out,
and for the store's program.
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

from ..errors import ArgumentError, SweepError, reason_of
from ..system.file_locks import lock_file
from ..system.files import DAMAGED, cannot_write
from ..system.input_files import LARGEST_RECORDING, open_input
from .store import ASIDE, Store

MANIFEST = f"{ASIDE}/manifest"
LINE = re.compile(rb'(\{.+), "digest": "([0-9a-f]{16})"\}')
CHECKSUM, PROGRAM = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{64}")
CHUNK = {"start", "failed", "left_out", "checksum", "seconds"}


class Manifest:
    """Contents of a store's manifest.

    finished: records of chunks by their first sample. left_out: reasons why samples are not computed, by
    number. programs: digests of the store's program. damaged: number of ignored lines.
    """

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
            elif content.endswith(b"\n"):  # else a process was killed while writing
                self.damaged += 1

    def _lines(self) -> Iterator[bytes]:
        try:
            with open_input(self.path, LARGEST_RECORDING) as stream:
                yield from stream
        except FileNotFoundError:
            return
        except OSError as error:
            raise ArgumentError(f"cannot read {self.path}: {reason_of(error)}") from None

    def _read(self, content: bytes) -> dict[str, Any] | None:
        """Return the object in a line; None if it is damaged or belongs to another store."""
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
        """Return whether a line has exactly the entries of one of the three kinds."""
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
        """Append a line: a finished chunk, a sample that is left out, or the store's program.

        Raises ArgumentError for a full disk, SweepError for a record that no task of this sweep produces.
        """
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
        """Terminate the last line, or remove it if a killed process or a full disk left it incomplete."""
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
        """Number of finished samples."""
        samples, chunk = self._store.samples, self._store.chunk
        return sum(min(start + chunk, samples) - start for start in self.finished)

    def loss(self) -> str | None:
        """Return a sentence on the consequences of damaged lines, None if there are none."""
        if not self.damaged or self.done == self._store.samples:
            return None
        return (
            f"{self.damaged} lines of {self.path} are damaged and were passed over; {self.done} of "
            f"{self._store.samples} samples count as finished: the same call of treesim.sweep computes the others"
        )


def _is_whole(value: Any, least: int, end: int) -> bool:
    """Return whether a value is an integer with least <= value < end."""
    return type(value) is int and least <= value < end


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a store against other calls of `treesim.sweep`; raises ArgumentError if it is locked.

    Has no effect on file systems without locks.
    """
    path = folder / MANIFEST
    try:
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from error
    with stream:
        if not lock_file(stream):
            raise ArgumentError(f"another sweep is writing {folder}: wait for it, or take another store")
        if not path.exists() or not os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            raise ArgumentError(f"{folder} was removed, or made again, by another process meanwhile: call again")
        yield
