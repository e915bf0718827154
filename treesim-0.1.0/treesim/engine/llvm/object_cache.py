"""Disk cache of machine code between processes; damaged or untrusted files are ignored.

A file's name is a digest of everything that determines its contents, and it begins with a digest of name
and contents. Files that are damaged, truncated or renamed are not used, and replaced by a new compilation.
Since machine code is executed, files that another user than root owns or may write to are not used either.

A file is written under a temporary name and then renamed, so any number of processes may read and write at
once, or be killed. A folder that cannot be written to costs only time; one message reports it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ... import engine, kernels
from ...system import user_cache

MAGIC = b"treesim machine code 2\n"
DIGITS = 64  # of a digest
OURS_ALONE = 0o644  # permissions of a file, limited by the umask: only the user may write
BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not block
UNFINISHED, SUFFIX = "unfinished", ".part"
LEFT_OVER = 86400.0  # seconds after which an unfinished file counts as left by a killed process

_warned: set[str] = set()


@lru_cache(maxsize=1)
def kernel_hash() -> str:
    """Return a hash of all sources that determine machine code, empty if the sources are not available."""
    digested, files = hashlib.sha256(), sources()
    for path in files:
        digested.update(path.read_bytes())
    return digested.hexdigest()[:16] if files else ""


def sources() -> list[Path]:
    """Return the files that determine machine code: all kernels, and the whole engine."""
    folders = (package.__path__[0] for package in (kernels, engine))
    return [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]


def cache_directory() -> Path | None:
    """Return the folder to which this user's machine code is written: in the user's cache, by hash of the sources.

    None if there is no such folder: a user without a home, or a program without its sources.
    """
    folder = user_cache.cache_folder()
    return folder / kernel_hash() if folder and kernel_hash() else None


def digest(*parts: bytes) -> str:
    """Return the hexadecimal digest of several byte strings; it depends on their boundaries."""
    digested = hashlib.sha256()
    for part in parts:
        digested.update(len(part).to_bytes(8, "little") + part)
    return digested.hexdigest()


def read(name: str) -> bytes | None:
    """Return the contents stored under a name, "folder/digest"; None if missing, damaged or not trusted."""
    own = cache_directory()
    if own is None:
        return None
    others = [folder / kernel_hash() for folder in user_cache.readable_folders()[1:]]
    contents = (_content(directory, name) for directory in (own, *others))
    return next((content for content in contents if content is not None), None)


def _content(directory: Path, name: str) -> bytes | None:
    try:
        with open(directory / name, "rb", opener=_trusted) as file:
            found = file.read()
    except (OSError, ValueError):  # ValueError: an invalid path
        return None
    start = len(MAGIC) + DIGITS
    return found[start:] if found[:start] == _head(name, found[start:]) else None


def write(name: str, content: bytes) -> None:
    """Store contents under a name, replacing any before; a failure is logged."""
    directory = cache_directory()
    if directory is None:
        missing = "home directory" if kernel_hash() else "source of the kernels"
        _warn_once(f"treesim stores no machine code: there is no {missing}")
        return
    try:
        user_cache.make_cache_folder()
        _place(directory, name, _head(name, content) + content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        asked = f"${user_cache.VARIABLE}" if os.environ.get(user_cache.VARIABLE) else "the user's cache"
        _warn_once(f"treesim cannot store machine code in {str(directory)!r}, of {asked} ({reason})")


def _head(name: str, content: bytes) -> bytes:
    """Return the header of a file with this name and contents."""
    return MAGIC + digest(name.encode(), content).encode()


def _trusted(path: str, flags: int) -> int:
    """Open a regular file that only this user or root can have written."""
    descriptor = os.open(path, flags | NO_WAITING)
    found = os.fstat(descriptor)
    ours = os.name != "posix" or (found.st_uid in (0, os.geteuid()) and not found.st_mode & BY_OTHERS)
    if ours and stat.S_ISREG(found.st_mode):
        return descriptor
    os.close(descriptor)
    if not ours:
        _warn_once(f"treesim does not use machine code in {os.path.dirname(path)!r}, which others own or may write to")
    raise PermissionError(path)


def _place(directory: Path, name: str, content: bytes) -> None:
    path, unfinished = directory / name, directory / UNFINISHED
    for folder in (path.parent, unfinished):
        folder.mkdir(parents=True, exist_ok=True)
    _remove_left_over(unfinished)
    part = unfinished / f"{secrets.token_hex(16)}{SUFFIX}"
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, OURS_ALONE)) as file:
            file.write(content)
        _rename(part, path)
    except BaseException:  # a full disk, Ctrl-C
        with suppress(OSError):
            part.unlink()
        raise


def _rename(part: Path, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()  # an empty folder that a container has created instead of a file
    os.replace(part, path)


def _remove_left_over(unfinished: Path) -> None:
    """Remove temporary files of processes that were killed while writing."""
    for part in unfinished.glob(f"*{SUFFIX}"):
        with suppress(OSError):
            if time.time() - part.lstat().st_mtime > LEFT_OVER:
                part.unlink()


def _warn_once(what: str) -> None:
    if what not in _warned:
        _warned.add(what)
        logging.getLogger("treesim").warning("%s; later processes compile anew", what)
