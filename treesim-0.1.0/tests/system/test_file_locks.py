"""A locked file is locked for everybody else until it is closed, and can be read and written meanwhile."""

import errno
import os
import sys
from types import SimpleNamespace

import pytest

from treesim.system.file_locks import PLACE, lock_file


class Windows:
    """`msvcrt.locking`: locks bytes at a descriptor's position, here until a descriptor of that number asks again."""

    LK_NBLCK = 2

    def __init__(self):
        self.owners = {}

    def locking(self, descriptor, mode, size):
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        assert (mode, size) == (self.LK_NBLCK, 1)
        if self.owners.setdefault(place, descriptor) != descriptor:
            raise OSError(errno.EACCES, "locked")


@pytest.fixture(params=[sys.platform, "win32"])
def system(request, monkeypatch):
    windows = Windows()
    if request.param != sys.platform:
        monkeypatch.setitem(sys.modules, "msvcrt", windows)
        monkeypatch.setattr(sys, "platform", "win32")
    return windows


def test_a_file_is_locked_until_it_is_closed(system, tmp_path):
    path = tmp_path / "file"
    with path.open("w+b", buffering=0) as first, path.open("a+b", buffering=0) as second:
        first.write(b"abc")
        first.seek(1)
        assert lock_file(first) and not lock_file(second)
        assert first.tell() == 1 and first.read() == b"bc"
        second.write(b"d")
    assert path.read_bytes() == b"abcd" and all(place == PLACE for _, place in system.owners)
    with path.open("a") as third:
        assert lock_file(third)


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_locks_nothing(code, tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(code, os.strerror(code))

    monkeypatch.setitem(sys.modules, "fcntl", SimpleNamespace(flock=flock, LOCK_EX=2, LOCK_NB=4))
    with (tmp_path / "file").open("w") as stream:
        assert lock_file(stream)
