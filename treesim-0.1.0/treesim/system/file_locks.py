"""Locks of open files against other processes, on every system."""

from __future__ import annotations

import errno
import os
import sys
from typing import IO, Any

LOCKED = (errno.EAGAIN, errno.EACCES)  # errors of locking a file that another process has locked
PLACE = 2**31 - 2  # of the byte that Windows locks: others may read and write the file's contents, which are before it


def lock_file(stream: IO[Any]) -> bool:
    """Lock an open file until it is closed or the process ends; return False if another one has locked it.

    True, without a lock, on file systems that support none. The file's position does not change.
    """
    try:
        _lock(stream.fileno())
    except OSError as error:
        return error.errno not in LOCKED
    return True


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
