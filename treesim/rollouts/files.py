"""Result files of rollouts, with temporary names and a progress record until they are complete.

While rollouts run, "<out>_q.npy.part" and "<out>_v.npy.part" contain the states, and "<out>_work.npy.part"
the work if it is integrated; "<out>_sensor_0.npy.part" and so on contain the readings of sensors in the world's order.
"<out>_unfinished.json" records the progress: `complete` rollouts, and
`records` records of each of the next `partial` ones. At the end the files are renamed and the record is
removed. `treesim.rollouts.read_unfinished` reads the files of a killed process, and so does
np.load("<out>_q.npy.part", mmap_mode="r")[:complete]. The next run of that name replaces them. (After a
power failure, files contain what the system had written to the disk.)
"""

from __future__ import annotations

import errno
import io
import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, quoted, reason_of
from ..states.arguments import positive_number, whole_number
from ..system.file_locks import lock_file
from ..system.files import (
    DAMAGED,
    cannot_write,
    cleared_up,
    digest_of,
    free_bytes,
    name_in_message,
    reserve,
    sync_folder,
)
from ..system.input_files import LARGEST_DETAILS, read_input
from .time_slices import Progress

RECORD_BYTES = 1024  # of a record, or a multiple: a constant size, so that it is overwritten at once
LONGER = 64  # bytes: room for a record to grow by its numbers
LABELS = ("q", "v", "work")


class ResultFiles:
    """Files of a run, locked against other runs."""

    def __init__(
        self, out: str | os.PathLike[str], shapes: Sequence[tuple[int, ...]], number: Any, facts: Mapping[str, Any]
    ) -> None:
        """Create files for q, v, the work if it is integrated, and readings.

        shapes: of these arrays. facts: plain values for the record. Raises ArgumentError naming a file that cannot
        be written, with the bytes needed and free, or that another run is writing.
        """
        sensors = len(facts.get("sensors", ()))
        every = result_paths(out, sensors)
        labels = len(shapes) - sensors
        self.paths, self._others = [*every[:labels], *every[len(LABELS) :]], every[labels : len(LABELS)]
        for path in every:
            _refuse_folder(path)
        self._parts = [_part(path) for path in self.paths]
        self._repr_fields = {**facts, "dtype": np.dtype(number).name, "shapes": [list(shape) for shape in shapes]}
        self._record_bytes = RECORD_BYTES * -(-(len(self._text(Progress())) + LONGER) // RECORD_BYTES)
        self._record = _locked(record_path(out))
        self._others += _stale_readings(out, sensors)
        try:
            self.arrays = self._new_arrays(shapes, number)
        except BaseException:
            self.remove()
            raise

    def _new_arrays(self, shapes: Sequence[tuple[int, ...]], number: Any) -> list[np.ndarray]:
        self._record.truncate(0)  # it belongs to files that are removed
        for part in (*self._parts, *map(_part, self._others)):
            _removed(part)
        self.save_progress(Progress())  # its disk space, too, is allocated before the computation
        for path, part, shape in zip(self.paths, self._parts, shapes, strict=True):
            _reserved(path, part, shape, np.dtype(number))
        return [_mapped(part, "r+") for part in self._parts]

    def save_progress(self, done: Progress) -> None:
        """Record the progress, after the results are in the files."""
        text = self._text(done).ljust(self._record_bytes - 1) + "\n"
        try:
            self._record.seek(0)
            self._record.write(text.encode())
        except OSError as error:
            raise cannot_write(Path(self._record.name), error, self._record_bytes) from error

    def _text(self, done: Progress) -> str:
        record = {**self._repr_fields, **done._asdict()}
        return json.dumps({**record, "digest": digest_of(record)})

    def finish(self) -> list[np.ndarray]:
        """Rename the files to their final names and return them, memory-mapped; never mixes files of two runs."""
        self.arrays = []  # some systems cannot rename a mapped file
        try:
            for path in (*self.paths[1:], *self._others):
                _removed(path)
            for part, path in zip(self._parts, self.paths, strict=True):
                os.replace(part, path)
            sync_folder(self.paths[0].parent)
        except OSError as error:
            raise cannot_write(self.paths[0], error) from error
        self._forget_record()
        return [_mapped(path, "r+") for path in self.paths]

    def leave(self) -> str:
        """Close the unfinished files; return a sentence on where they are and how to read them."""
        self._record.close()
        return (
            f"the results so far are in {' and '.join(map(str, self._parts))}, their progress in {self._record.name}: "
            f"treesim.rollouts.read_unfinished reads them"
        )

    def remove(self) -> None:
        """Remove the unfinished files."""
        self.arrays = []
        for part in self._parts:
            _removed(part)
        self._forget_record()

    def _forget_record(self) -> None:
        if os.name == "nt":  # which cannot remove an open file
            self._record.close()
        _removed(Path(self._record.name))
        self._record.close()


def result_paths(out: str | os.PathLike[str], sensors: int = 0) -> list[Path]:
    """Return the final paths of q, v, work, which need not exist, and the readings of so many sensors."""
    labels = *LABELS, *(f"sensor_{k}" for k in range(sensors))
    return [Path(f"{os.fspath(out)}_{label}.npy") for label in labels]


def _stale_readings(out: str | os.PathLike[str], sensors: int) -> list[Path]:
    """Return the paths of another run's readings, of more than so many sensors."""
    found: list[Path] = []
    for k in itertools.count(sensors):
        path = result_paths(out, k + 1)[-1]
        if not (path.exists() or _part(path).exists()):
            return found
        found.append(path)
    return found


def record_path(out: str | os.PathLike[str]) -> Path:
    """Return the path of the progress record."""
    return Path(f"{os.fspath(out)}_unfinished.json")


def read_record(out: str | os.PathLike[str]) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the progress record of an unfinished run, and its arrays, memory-mapped read-only.

    Raises ArgumentError if there are none, or none that treesim wrote.
    """
    path = record_path(out)
    try:
        record = json.loads(read_input(path, LARGEST_DETAILS))
        shapes = [tuple(shape) for shape in record["shapes"]]
        sensors = len(record.get("sensors", {}))
        paths = result_paths(out, sensors)
        paths = [*paths[: len(shapes) - sensors], *paths[len(LABELS) :]]
        arrays = [_mapped(_part(path), "r") for path in paths]
        _check_record(record, shapes, arrays)
    except OSError as error:
        raise ArgumentError(f"no unfinished rollouts of {quoted(os.fspath(out))}: {_reason(error)}") from None
    except DAMAGED as error:
        raise ArgumentError(f"{path} is not the record of rollouts that treesim wrote: {reason_of(error)}") from None
    return record, arrays


def _check_record(record: dict[str, Any], shapes: list[tuple[int, ...]], arrays: list[np.ndarray]) -> None:
    """Raise ValueError or KeyError if a record does not fit the arrays or its digest."""
    digest = record.pop("digest", None)  # older versions wrote none
    if digest is not None and digest != digest_of(record):
        raise ValueError("its digest is that of another record: it is damaged")
    count, records = shapes[0][:2]
    fits = [x.shape for x in arrays] == shapes and all(x.ndim == 3 and x.dtype.kind == "f" for x in arrays)
    if not fits or {shape[:2] for shape in shapes} != {(count, records)} or len(shapes) < 2:
        raise ValueError("it does not fit the files next to it")
    positive_number("dt", record["dt"])
    whole_number("every", record["every"], 1)
    complete = whole_number("complete", record["complete"], 0, count)
    whole_number("partial", record["partial"], 0, count - complete)
    whole_number("records", record["records"], 0, records)


def _reason(error: OSError) -> str:
    return f"{error.strerror or error}: {error.filename}"


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _refuse_folder(path: Path) -> None:
    try:
        folder = path.is_dir()
    except OSError as error:
        raise cannot_write(path, error) from error
    if folder:
        raise ArgumentError(f"cannot write {name_in_message(path)}: it is a folder")


def _removed(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _mapped(path: Path, mode: Any) -> np.ndarray:
    return np.lib.format.open_memmap(path, mode=mode)


def _reserved(path: Path, part: Path, shape: tuple[int, ...], number: np.dtype[Any]) -> None:
    """Write an array file of zeros, with all its disk space allocated."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": np.lib.format.dtype_to_descr(number), "fortran_order": False, "shape": shape}
    )
    size = len(header.getvalue()) + number.itemsize * math.prod(shape)
    with cleared_up(path, part, size):
        free = free_bytes(part)
        if free is not None and size > free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with part.open("xb") as stream:
            reserve(stream.fileno(), size)
            stream.seek(0)
            stream.write(header.getvalue())


def _locked(path: Path) -> Any:
    """Return the open record file, locked against other runs until it is closed or the process ends."""
    while True:
        try:
            stream = path.open("r+b" if path.exists() else "w+b", buffering=0)
        except FileNotFoundError as error:
            if path.parent.is_dir():
                continue  # another run has just removed it
            raise ArgumentError(
                f"cannot write {name_in_message(path)}: there is no folder {name_in_message(path.parent)}"
            ) from error
        except OSError as error:
            raise cannot_write(path, error) from error
        except ValueError as error:
            raise ArgumentError(f"out is no name of a file: {reason_of(error)}") from error
        if lock_file(stream):
            if _same(stream, path):
                return stream
            stream.close()  # the run that locked it has ended meanwhile, and removed it
        else:
            stream.close()
            raise ArgumentError(
                f"cannot write {name_in_message(path)}: another run is writing files of this name: take another for out"
            )


def _same(stream: Any, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
