"""Files that a user or another file names: regular files within a size limit, opened once.

A pipe, a device or an endless file could hold up a program for ever. Each file is therefore opened here without
waiting, and checked after it is open, so that nothing can take its place between the check and the reading. A file
whose size is zero is not read: files of /proc have this size, and some of them never end. Imports nothing of treesim:
runs in the child process that reads meshes, too.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from typing import IO

# a pipe must not wait for a writer, and a terminal must not become this process's
FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISREG, "a file"))
LARGEST_RECORDING = 1 << 36  # bytes
LARGEST_DETAILS = 1 << 30  # bytes of a description or a program in a store
LARGEST_ARRAYS = 1 << 26  # bytes of a file with one state, or with a network


class UnsuitableFileError(OSError):
    """Raised if a file is not read because of its kind or its size; `strerror` gives the reason."""


def size_of_input(path: str | os.PathLike[str], largest: int) -> int:
    """Return the size of a file that can be opened by `open_input`; raises as it does, and opens nothing."""
    return _size(os.stat(path), path, largest)


def open_input(path: str | os.PathLike[str], largest: int) -> IO[bytes]:
    """Open a file to read its bytes.

    Raises OSError, of which `strerror` gives the reason, if the file cannot be opened, is no regular file, or has more
    than `largest` bytes; ValueError for a name with NUL.
    """
    size_of_input(path, largest)  # opening some devices already acts on them
    descriptor = os.open(path, FLAGS)
    try:
        size = _size(os.fstat(descriptor), path, largest)
        if size:
            return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return io.BytesIO()


def read_input(path: str | os.PathLike[str], largest: int) -> bytes:
    """Return the bytes of a file, as many as it had when it was opened; raises as `open_input`."""
    with open_input(path, largest) as stream:
        return stream.read(size_of_stream(stream))


def size_of_stream(stream: IO[bytes]) -> int:
    """Return the size in bytes of what `open_input` returned."""
    return len(stream.getbuffer()) if isinstance(stream, io.BytesIO) else os.fstat(stream.fileno()).st_size


def _size(found: os.stat_result, path: str | os.PathLike[str], largest: int) -> int:
    kind = next((name for is_kind, name in KINDS if is_kind(found.st_mode)), "a pipe, socket or device")
    if kind != "a file":
        code = errno.EISDIR if kind == "a folder" else errno.EINVAL
        raise UnsuitableFileError(code, f"this is {kind}, not a file", os.fspath(path))
    if found.st_size > largest:
        reason = f"it has {found.st_size:,} bytes, and {largest:,} are read at most"
        raise UnsuitableFileError(errno.EFBIG, reason, os.fspath(path))
    return found.st_size
