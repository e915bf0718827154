"""Atomic writing of result files; errors name the file and the disk space that it needs."""

from __future__ import annotations

import csv
import ctypes
import errno
import hashlib
import io
import json
import os
import platform
import re
import secrets
import shutil
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from ..errors import ArgumentError, quoted, reason_of, shortened
from .file_locks import lock_file
from .input_files import open_input

LONGEST_NAME = 500  # characters of a file's name in a message
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_RESERVING = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)  # of a file system
PART = re.compile(r"\.treesim\.([0-9a-f]{8})\.(\d{1,18})\.[0-9a-f]{8}\.part")  # a name of `part_name`
_searched: set[Path] = set()  # folders without parts of processes that have ended
ZEROS = bytes(1 << 20)
DIGITS = 32  # hexadecimal ones of SHA-256: they find damage, and prove nothing against who computes them anew
# errors of readers of damaged archives, arrays, texts and tables, in addition to OSError
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, MemoryError, RuntimeError,
    SyntaxError, csv.Error, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def digest_of(values: Any) -> str:
    """Return the digest of plain values, as parsed from JSON, independent of the order of names."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:DIGITS]


def part_name() -> str:
    """Return a unique name for a temporary file or folder next to the one that is written."""
    return f".treesim.{_machine()}.{os.getpid()}.{secrets.token_hex(4)}.part"


def _machine() -> str:
    """Return a short digest of this machine's name: process numbers of another one mean nothing here."""
    return hashlib.sha256(platform.node().encode(errors="replace")).hexdigest()[:8]


def _remove_parts_of_the_dead(folder: Path) -> None:
    """Remove temporary files that processes of this machine have left in a folder, which ended while they wrote.

    A file that another process has locked stays: it writes in a container, where processes have other numbers. A folder
    is searched once in this process.
    """
    if folder in _searched or os.name == "nt":  # where `os.kill` ends a process
        return
    _searched.add(folder)
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            match = PART.fullmatch(entry.name)
            if match and match[1] == _machine() and not _is_alive(int(match[2])):
                with suppress(OSError), open_input(entry.path, sys.maxsize) as stream:
                    if isinstance(stream, io.BytesIO) or lock_file(stream):
                        os.unlink(entry.path)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to disk, so that a renamed file has its new name after a power failure.

    Does nothing on systems and file systems that cannot.
    """
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_whole(path: Path, write: Callable[[IO[bytes]], object], needed: int | None = None) -> Path:
    """Write a file atomically: `write` fills a temporary file, which is synced to disk and renamed to `path`.

    Returns `path`. Readers of `path` see the old or the complete new file. needed: size in bytes, if known. Raises
    ArgumentError naming `path` and, on a full disk, the required and the free bytes.
    """
    target = _regular(path)
    temporary = target.with_name(part_name())
    if target.exists() and not target.is_file():  # a device or a pipe: nothing may take its place
        temporary = target
    try:
        if temporary is not target:
            _remove_parts_of_the_dead(target.parent)
        with cleared_up(path, temporary, needed), temporary.open("wb") as stream:
            if temporary is not target:
                lock_file(stream)
            write(stream)
            stream.flush()
            if temporary is not target:
                os.fsync(stream.fileno())
        if temporary is not target:
            with cleared_up(path, temporary, needed):
                os.replace(temporary, target)
            sync_folder(target.parent)
    finally:
        if temporary is not target:
            temporary.unlink(missing_ok=True)
    return path


def rename_new(source: Path, target: Path) -> None:
    """Rename a non-empty folder to a name that does not exist yet; raises FileExistsError if it exists.

    If two processes do so at the same time, exactly one succeeds.
    """
    if not _renamed_exclusively(os.fsencode(source), os.fsencode(target)):
        _rename_checked(source, target)
    sync_folder(target.parent)


def _renamed_exclusively(source: bytes, target: bytes) -> bool:
    """Rename by the system call that fails if the target exists; return whether it was possible.

    False if there is no such call, or if it fails for another reason, such as a file system that does not support it.
    """
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
    """Rename after a check that the target does not exist, where no system call is exclusive.

    What another process creates after the check is not lost, except for an empty folder, which POSIX replaces.
    """
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
    """Return the target of a symbolic link, or `path` itself."""
    return path.resolve() if path.is_symlink() and path.is_file() else path


@contextmanager
def cleared_up(path: Path, part: Path, needed: int | None) -> Iterator[None]:
    """Convert an OSError during writing of `part` of `path` to an ArgumentError; context manager."""
    try:
        yield
    except OSError as error:
        written = 0
        if part.is_file():
            written = part.stat().st_size
            part.unlink()
        raise cannot_write(path, error, needed, written) from error


def cannot_write(path: Path, error: OSError, needed: int | None = None, written: int = 0) -> ArgumentError:
    """Return the error for a file that cannot be written.

    needed: size in bytes, if known. written: bytes written so far.
    """
    reason = f"cannot write {name_in_message(path)}: {reason_of(error)}"
    if error.errno not in NO_ROOM:
        return ArgumentError(reason)
    wants = f"more than {written:,} bytes" if needed is None else f"{needed:,} bytes"
    return ArgumentError(f"{reason}: it needs {wants}, and {_room(path, error)}")


def _room(path: Path, error: OSError) -> str:
    limit = _largest_file() if error.errno == errno.EFBIG else None
    if limit is not None:
        return f"this process may write files of {limit:,} bytes at most (ulimit -f)"
    free = free_bytes(path)
    return "its disk is full" if free is None else f"{free:,} are free"


def _largest_file() -> int | None:
    """Return the limit on the size of files of this process, None without a limit."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit
    except ImportError:  # Windows
        return None
    soft = getrlimit(RLIMIT_FSIZE)[0]
    return None if soft == RLIM_INFINITY else soft


def free_bytes(path: Path) -> int | None:
    """Return the number of free bytes on the disk of `path`, None if unknown."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return None


def reserve(descriptor: int, size: int) -> None:
    """Allocate a file's first `size` bytes on disk, filled with zeros; raises OSError on a full disk.

    Without allocated blocks, writing through a memory map would end the process.
    """
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
    """Return a path from a str or path; raises ArgumentError, naming `what` it is, for other values."""
    try:
        return Path(name)
    except TypeError:
        raise ArgumentError(f"{what} must be a text or a path, got {quoted(name)}") from None


def checked_output(path: str | os.PathLike[str], suffixes: Iterable[str]) -> Path:
    """Return `path` if a file with one of `suffixes` can be written there; raises ArgumentError otherwise.

    Called before a long computation, so that its result is not lost because of an invalid path.
    """
    path = path_of(path)
    check_suffix(path, suffixes)
    return writable(path)


def writable(path: Path) -> Path:
    """Return `path` if a file can be written there; raises ArgumentError otherwise."""
    try:
        fault = _unwritable(path)
    except (OSError, ValueError) as error:  # ValueError: a name that the system cannot have
        fault = reason_of(error)
    if fault is not None:
        raise ArgumentError(f"cannot write {name_in_message(path)}: {fault}")
    return path


def name_in_message(path: Path) -> str:
    """Return a file's name for a message: long names shortened, unprintable ones escaped."""
    name = str(path)
    return shortened(name if name.isprintable() else repr(name), LONGEST_NAME)


def _unwritable(path: Path) -> str | None:
    """Return the reason why no file can be written at `path`, None if one can."""
    if "\0" in str(path):
        return "names of files hold no NUL"
    with suppress(FileNotFoundError, NotADirectoryError):
        path.stat()  # since Python 3.14, is_dir() and exists() hide a name that is too long
    if path.is_dir():
        return "it is a folder"
    if not path.parent.is_dir():
        return f"there is no folder {name_in_message(path.parent)}"
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        return "permission denied"
    return None


def check_suffix(path: Path, suffixes: Iterable[str]) -> None:
    """Raise ArgumentError unless the path has one of these suffixes."""
    known = tuple(suffixes)
    if path.suffix.lower() not in known:
        ending = f"it ends in {path.suffix!r}" if path.suffix else "it has no suffix"
        raise ArgumentError(f"unknown format of {quoted(str(path))}: {ending}, but one of {', '.join(known)} is needed")
