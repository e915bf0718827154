"""Files of results: what is there stays until the new file is whole, and errors name the file and the room it needs."""

from __future__ import annotations

import csv
import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..errors import ArgumentError, quoted

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_RESERVING = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)  # of a file system
ZEROS = bytes(1 << 20)
DIGITS = 32  # hexadecimal ones of SHA-256: they find damage, and prove nothing against who computes them anew
# what readers of damaged archives, arrays, texts and tables raise, besides OSError
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, MemoryError, RuntimeError,
    SyntaxError, csv.Error, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def digest_of(values: Any) -> str:
    """Return the digest of plain values, as JSON has parsed them, whatever the order of names."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:DIGITS]


def part_name() -> str:
    """Return a name for what is being written beside a file or folder; no other call has it."""
    return f".treesim.{os.getpid()}.{secrets.token_hex(4)}.part"


def write_whole(path: Path, write: Callable[[IO[bytes]], object], needed: int | None = None) -> Path:
    """Let `write` fill a file beside `path`, see it on the disk, then rename it; return `path`.

    Whoever reads `path` sees the old file or the whole new one. needed: bytes, where they are known.
    Raises ArgumentError naming `path`, and, on a full disk, the bytes that it takes and those that are free.
    """
    target = _regular(path)
    beside = target.with_name(part_name())
    if target.exists() and not target.is_file():  # a device or a pipe: nothing may take its place
        beside = target
    try:
        with cleared_up(path, beside, needed), beside.open("wb") as stream:
            write(stream)
            stream.flush()
            if beside is not target:
                os.fsync(stream.fileno())
        if beside is not target:
            with cleared_up(path, beside, needed):
                os.replace(beside, target)
    finally:
        if beside is not target:
            beside.unlink(missing_ok=True)
    return path


def rename_new(source: Path, target: Path) -> None:
    """Rename a folder that is not empty to a name that nothing has; raises FileExistsError where something has it.

    Of two processes that do so at the same time, one gets the name.
    """
    if not _renamed_exclusively(os.fsencode(source), os.fsencode(target)):
        _rename_checked(source, target)


def _renamed_exclusively(source: bytes, target: bytes) -> bool:
    """Rename by the system call that fails where the target exists; False where there is none, or where it fails for
    another reason, such as a file system that does not support it."""
    known = {"linux": ("renameat2", (-100, source, -100, target, 1)), "darwin": ("renamex_np", (source, target, 4))}
    name, arguments = known.get(sys.platform, ("", ()))
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    if ctypes.get_errno() == errno.EEXIST:
        raise _exists(os.fsdecode(target))
    return False  # whatever is wrong, the ordinary call raises it


def _rename_checked(source: Path, target: Path) -> None:
    """Rename where no system call is exclusive. What another process puts there after the check is kept unless it is
    an empty folder, which POSIX replaces."""
    if os.path.lexists(target):
        raise _exists(str(target))
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise _exists(str(target)) from None


def _exists(path: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


def _regular(path: Path) -> Path:
    """The file that a link leads to, else `path`."""
    return path.resolve() if path.is_symlink() and path.is_file() else path


@contextmanager
def cleared_up(path: Path, part: Path, needed: int | None) -> Iterator[None]:
    """Turn an OSError while `part` of `path` is written into an ArgumentError that says what is missing."""
    try:
        yield
    except OSError as error:
        written = 0
        if part.is_file():
            written = part.stat().st_size
            part.unlink()
        raise cannot_write(path, error, needed, written) from error


def cannot_write(path: Path, error: OSError, needed: int | None = None, written: int = 0) -> ArgumentError:
    """Return the error for a file that cannot be written; needed, written: bytes that it takes, and that it got."""
    reason = f"cannot write {path}: {error.strerror or error}"
    if error.errno not in NO_ROOM:
        return ArgumentError(reason)
    wants = f"more than {written:,} bytes" if needed is None else f"{needed:,} bytes"
    return ArgumentError(f"{reason}: it needs {wants}, and {_room(path, error)}")


def _room(path: Path, error: OSError) -> str:
    limit = _largest_file() if error.errno == errno.EFBIG else None
    if limit is not None:
        return f"this process may write files of {limit:,} bytes at most (ulimit -f)"
    free = free_bytes(path)
    return "its disk has no room" if free is None else f"{free:,} are free"


def _largest_file() -> int | None:
    """The limit on the size of files of this process, None if there is none."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit
    except ImportError:  # Windows
        return None
    soft = getrlimit(RLIMIT_FSIZE)[0]
    return None if soft == RLIM_INFINITY else soft


def free_bytes(path: Path) -> int | None:
    """Return how many bytes are free where `path` lies, None where the system does not tell."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return None


def reserve(descriptor: int, size: int) -> None:
    """Make sure of a file's first `size` bytes on its disk, zeros: written through a map of memory, a file that lacks
    them would end the process. Raises OSError where there is no room."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, size)
            return
        except OSError as error:
            if error.errno not in NO_RESERVING:
                raise
    os.lseek(descriptor, 0, os.SEEK_SET)
    while size > 0:
        size -= os.write(descriptor, ZEROS[: min(size, len(ZEROS))])


def path_of(name: Any, what: str = "a file's name") -> Path:
    """Return a path by its name; raises ArgumentError, naming `what` it is, for anything but a text or a path."""
    try:
        return Path(name)
    except TypeError:
        raise ArgumentError(f"{what} must be a text or a path, got {quoted(name)}") from None


def checked_output(path: str | os.PathLike[str], suffixes: Iterable[str]) -> Path:
    """Return `path` if a file with one of `suffixes` can be written there; raises ArgumentError saying why not.

    Called before a long computation, so that its result is not lost for want of a folder.
    """
    path = path_of(path)
    check_suffix(path, suffixes)
    try:
        fault = _unwritable(path)
    except OSError as error:
        fault = error.strerror or str(error)
    if fault is not None:
        raise ArgumentError(f"cannot write {path}: {fault}")
    return path


def _unwritable(path: Path) -> str | None:
    """Why no file can be written there, None if one can."""
    if "\0" in str(path):
        return "names of files hold no NUL"
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return "permission denied"
    return None


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Raise ArgumentError unless the path has one of these suffixes."""
    known = tuple(suffixes)
    if path.suffix.lower() not in known:
        ending = f"it ends in {path.suffix!r}" if path.suffix else "it has no suffix"
        raise ArgumentError(
            f"cannot tell the format of {str(path)!r}: {ending}, but one of {', '.join(known)} is needed"
        )
