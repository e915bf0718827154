"""Files that a user names: regular ones are read whole, and nothing else is waited for or read."""

from __future__ import annotations

import os

import pytest

from treesim.system import input_files
from treesim.system.input_files import UnsuitableFileError, open_input, read_input, size_of_input, size_of_stream


@pytest.mark.parametrize("read", [size_of_input, open_input, read_input])
def test_a_size_up_to_the_limit_is_read(read, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1234)
    if read is open_input:
        open_input(path, 1234).close()
    else:
        assert read(path, 1234) in (1234, b"x" * 1234)
    with pytest.raises(UnsuitableFileError, match="it has 1,234 bytes, and 1,233 are read at most"):
        read(path, 1233)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_devices_and_folders_are_told_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "loop").symlink_to("loop")
    for name, reason in {"pipe": "pipe, socket or device", "zero": "pipe, socket or device", ".": "a folder"}.items():
        with pytest.raises(UnsuitableFileError, match=f"this is .*{reason}, not a file"):
            read_input(tmp_path / name, 1 << 20)
    for name in ("loop", "missing"):
        with pytest.raises(OSError, match=name):
            read_input(tmp_path / name, 1 << 20)
    with pytest.raises(ValueError, match="null"):
        read_input("a\0b", 1 << 20)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_takes_the_place_of_a_file_after_the_check_is_refused(tmp_path, monkeypatch):
    """The open file is checked; a pipe that no one writes to does not hold up its opening."""
    path = tmp_path / "a"
    path.write_bytes(b"x")
    size = size_of_input(path, 10)

    def replaced(*given):
        path.unlink()
        os.mkfifo(path)
        return size

    monkeypatch.setattr(input_files, "size_of_input", replaced)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    with pytest.raises(UnsuitableFileError, match="this is a pipe"):
        open_input(path, 10)
    assert before is None or len(os.listdir("/proc/self/fd")) == before


def test_a_file_that_grows_is_read_as_far_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    monkeypatch.setattr(input_files, "size_of_stream", lambda stream: 3)
    assert read_input(path, 10) == b"123"


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="this system has no /proc")
def test_files_of_proc_are_empty():
    """Their size is zero, whatever they would yield, and for how long."""
    with open_input("/proc/self/environ", 10) as stream:
        assert size_of_stream(stream) == 0 and stream.read() == b""
