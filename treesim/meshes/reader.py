"""Mesh files, read by a child process with limits of time and memory.

Readers of mesh formats are large, and a few bytes of a file can cause any amount of work. Therefore the
name and the first bytes are checked here, and a child process (`program`) with a memory limit and a time
limit reads the file. Only binary STL, whose size is fixed by its length, is read in this process.
"""

from __future__ import annotations

import atexit
import os
import struct
import threading
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from ..errors import ModelError, listed, quoted, shortened
from ..system.input_files import UnsuitableFileError, open_input, size_of_input, size_of_stream
from ..system.subprocesses import PythonProcess, can_start_python, module_command
from .collada import Refused
from .contents import LARGEST, READY, MeshContents, MeshPart, Request, read_contents

FORMATS = (".stl", ".dae", ".obj", ".ply", ".off", ".gltf", ".glb")
MEMORY = 6 << 30  # bytes of address space of the child, including what libraries reserve
SECONDS, BYTES_PER_SECOND = 30.0, 1 << 20  # time limit of a file [s], plus 1 s per so many bytes
START_SECONDS = 300.0  # until the child has imported what it needs; its time limits begin after that
IDLE = 30.0  # seconds without a file after which the child ends
ARCHIVES = {b"PK": "ZIP", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"7z\xbc\xaf": "7-Zip"}
STL_HEADER, STL_TRIANGLE = 84, 50  # bytes


def read_parts(file: str) -> tuple[MeshPart, ...]:
    """Return the geometries of a mesh file (STL, COLLADA, OBJ, PLY, OFF, glTF) without colours.

    COLLADA's unit is applied, its up axis is not.

    Raises ModelError, naming the file, if it is missing, of another format, an archive, damaged, without
    triangles, has coordinates that are not finite, or exceeds the limits of time or memory.
    """
    return _read(file, False, None).parts


def read_triangles(file: str) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of all geometries of a mesh file; raises as `read_parts`."""
    parts = read_parts(file)
    starts = np.cumsum([0] + [len(part.vertices) for part in parts])
    triangles = [part.faces + start for part, start in zip(parts, starts[:-1], strict=True)]
    return np.concatenate([np.asarray(part.vertices, float) for part in parts]), np.concatenate(triangles)


def read_colored(file: str, texture: str | None = None) -> MeshContents:
    """Return the geometries of a mesh file as `read_parts` does, with colours and images.

    texture: image file for parts with texture coordinates and no image of their own. Images are PNG or JPEG,
    from the mesh file or from its folder or package; they are re-encoded. A missing or unusable image is not an
    error: the part has only its colour, and `faults` contains the reason. Raises as `read_parts`.
    """
    return _read(file, True, texture)


def _read(file: str, colored: bool, texture: str | None) -> MeshContents:
    try:
        _check_file(file)
        if can_start_python() and not is_binary_stl(file):
            seconds = SECONDS + os.path.getsize(file) / BYTES_PER_SECOND
            answer = _child.ask(Request(file, colored, texture, seconds))
        else:
            answer = read_contents(file, colored, texture)
        if isinstance(answer, str):
            raise Refused(answer)
        return MeshContents(_checked(answer.parts), answer.faults)
    except Exception as error:  # readers of formats raise anything for a bad file
        kind = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
        reason = getattr(error, "strerror", None) or f"{kind}{error}"
        raise ModelError(f"mesh {quoted(file)} cannot be read: {shortened(reason, 300)}") from None


def _check_file(file: str) -> None:
    """Raise Refused if a file is unsuitable for readers of meshes; OSError if it cannot be opened."""
    try:
        size_of_input(file, LARGEST)
    except UnsuitableFileError as error:
        raise Refused(error.strerror) from None
    if Path(file).suffix.lower() not in FORMATS:
        raise Refused(f"meshes are read from {listed(FORMATS)}, by the ending of the name")
    with open_input(file, LARGEST) as stream:
        first = stream.read(8)
        archive = next((name for mark, name in ARCHIVES.items() if first.startswith(mark)), None)
        if archive is None and not is_binary_stl(file) and zipfile.is_zipfile(stream):
            archive = "ZIP"
    if archive is not None:
        raise Refused(f"it is an archive ({archive}): unpack it, and name the mesh inside")


def is_binary_stl(file: str) -> bool:
    """Return whether a file is a binary STL with exactly the triangles that its header announces.

    Raises Refused if it is neither that nor text.
    """
    if not file.lower().endswith(".stl"):
        return False
    with open_input(file, LARGEST) as stream:
        header, size = stream.read(STL_HEADER), size_of_stream(stream)
    if len(header) < STL_HEADER:
        return False
    count = struct.unpack_from("<I", header, 80)[0]
    needed = STL_HEADER + STL_TRIANGLE * count
    if size != needed and not header.lstrip().startswith(b"solid"):
        raise Refused(f"its header announces {count:,} triangles in {needed:,} bytes, and it has {size:,}")
    return size == needed  # otherwise it is text


def _checked(parts: Sequence[MeshPart]) -> tuple[MeshPart, ...]:
    found = tuple(part for part in parts if len(part.faces))
    if not found:
        raise Refused("it has no triangles")
    for part in found:
        with np.errstate(over="ignore"):
            wrong = np.flatnonzero(~np.isfinite(part.vertices.astype(np.float32)).all(axis=1))  # viewers use float32
        if len(wrong):
            raise Refused(f"vertex {wrong[0]} is {part.vertices[wrong[0]].tolist()}, and must be finite")
        outside = part.faces[(part.faces < 0) | (part.faces >= len(part.vertices))]
        if len(outside):
            raise Refused(f"a triangle names vertex {outside[0]}, and there are vertices 0 to {len(part.vertices) - 1}")
    return found


class _Child:
    """Child process that reads meshes; started on demand, and again after it has ended."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        """Reset without closing the process: after a fork it belongs to the parent."""
        self._lock = threading.Lock()
        self._process: PythonProcess | None = None

    def ask(self, request: Request) -> MeshContents | str:
        """Return the child's answer; the reason if it ends while reading the file."""
        with self._lock:
            for _ in range(2):  # a second time if the child had ended because it was idle
                new = self._process is None
                process = self._process = self._process or self._started()
                try:
                    if new and not _is_ready(process):
                        self._close()
                        return f"the process that reads it was not ready after {START_SECONDS:.0f} s"
                    process.connection.send(request)
                    if not process.connection.poll(2 * request.seconds):  # a system without SIGALRM
                        self._close()
                        return f"it takes more than {request.seconds:.0f} s"
                    return process.connection.recv()  # type: ignore[no-any-return]
                except (EOFError, ConnectionError):
                    ended = process.ending()
                    self._close()
                    if ended.status:
                        break
            if ended.signal == "SIGALRM":
                return f"it takes more than {request.seconds:.0f} s"
            return f"reading it ended with {ended}"

    def _started(self) -> PythonProcess:
        command = module_command("treesim.meshes.program", str(MEMORY), str(IDLE))
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}  # each would reserve memory
        return PythonProcess(command, threads)

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None

    def close(self) -> None:
        """End the child; the next request starts another."""
        with self._lock:
            self._close()


def _is_ready(process: PythonProcess) -> bool:
    """Wait until a new child is ready; return False if it takes too long. Raises EOFError if it has ended."""
    return process.connection.poll(START_SECONDS) and process.connection.recv() == READY


_child = _Child()
atexit.register(lambda: _child.close())
with suppress(AttributeError):  # Windows has no fork
    os.register_at_fork(after_in_child=lambda: _child._forget())
