"""Files and folders take their names whole, and only names that are free where that is wanted."""

import errno
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from treesim import ArgumentError
from treesim.system import files
from treesim.system.file_locks import lock_file
from treesim.system.files import cannot_write, checked_output, write_whole


def folder(path):
    path.mkdir()
    (path / "content").touch()
    return path


@pytest.fixture(params=["by the system", "checked"])
def rename_new(request, monkeypatch):
    if request.param == "checked":
        monkeypatch.setattr(files, "_renamed_exclusively", lambda source, target: False)
    return files.rename_new


def test_a_free_name_is_taken(rename_new, tmp_path):
    rename_new(folder(tmp_path / "part"), tmp_path / "name")
    assert [path.name for path in tmp_path.rglob("*")] == ["name", "content"]


@pytest.mark.parametrize(
    "take", [folder, lambda path: path.mkdir(), lambda path: path.touch(), lambda path: path.symlink_to("nothing")]
)
def test_a_name_that_something_has_is_not(rename_new, take, tmp_path):
    source, target = folder(tmp_path / "part"), tmp_path / "name"
    take(target)
    with pytest.raises(FileExistsError, match="name"):
        rename_new(source, target)
    assert (source / "content").exists() and len(list(tmp_path.iterdir())) == 2


def test_what_another_puts_there_after_the_check_stays(monkeypatch, tmp_path):
    source, target = folder(tmp_path / "part"), folder(tmp_path / "name")
    monkeypatch.setattr(files.os.path, "lexists", lambda path: False)
    with pytest.raises(FileExistsError):
        files._rename_checked(source, target)
    assert (source / "content").exists()


def test_other_errors_are_those_of_the_system(rename_new, tmp_path):
    with pytest.raises(FileNotFoundError):
        rename_new(tmp_path / "nothing", tmp_path / "name")


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("a\0b.csv", "names of files hold no NUL"),
        ("folder.csv", "it is a folder"),
        ("nowhere/run.csv", "there is no folder"),
        ("run.txt", r"it ends in '\.txt', but one of \.csv, \.npz is needed"),
        ("run", "it has no suffix, but one of"),
        (3, "a file's name must be a text or a path, got 3"),
        (300 * "x" + ".csv", "File name too long"),
    ],
)
def test_files_that_cannot_be_written_are_told_before_a_run(tmp_path, name, fault):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ArgumentError, match=fault):
        checked_output(name if isinstance(name, int) else tmp_path / name, (".csv", ".npz"))


def test_files_that_nobody_may_write_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    with pytest.raises(ArgumentError, match=r"cannot write .*run\.CSV: permission denied"):
        checked_output(tmp_path / "run.CSV", (".csv",))


def refused(code):
    """An error of the system that has no room."""
    return OSError(code, os.strerror(code))


@pytest.mark.parametrize(
    ("error", "needed", "limit", "message"),
    [
        (refused(errno.ENOSPC), 5000, None, "it needs 5,000 bytes, and 70 are free"),
        (refused(errno.ENOSPC), None, None, "it needs more than 3 bytes, and 70 are free"),
        (refused(errno.EFBIG), 5000, 4096, r"may write files of 4,096 bytes at most \(ulimit -f\)"),
        (refused(errno.EFBIG), 5000, None, "70 are free"),
        (refused(errno.EIO), 5000, None, "Input/output error$"),
    ],
)
def test_what_does_not_fit_on_the_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch, error, needed, limit, message):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda path: SimpleNamespace(free=70))
    monkeypatch.setattr(files, "_largest_file", lambda: limit)
    path = tmp_path / "run.csv"
    path.write_text("before")

    def write(stream):
        stream.write(b"new")
        stream.flush()
        raise error

    with pytest.raises(ArgumentError, match=message):
        write_whole(path, write, needed)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_disk_whose_room_is_unknown_is_full(tmp_path):
    assert "and its disk is full" in str(cannot_write(tmp_path / "nowhere" / "run.csv", refused(errno.ENOSPC)))


def test_a_link_stays_a_link_and_a_device_is_not_replaced(tmp_path):
    (tmp_path / "target").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", lambda stream: stream.write(b"new"))
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
    if os.path.exists(os.devnull) and os.name == "posix":
        write_whole(Path(os.devnull), lambda stream: stream.write(b"new"))
        assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("code", [None, errno.EOPNOTSUPP, errno.ENOSPC])
def test_room_is_reserved_by_zeros_where_the_system_cannot(code, tmp_path, monkeypatch):
    def allocate(descriptor, offset, size):
        raise refused(code)

    if code is None:
        monkeypatch.delattr(files.os, "posix_fallocate", raising=False)
    else:
        monkeypatch.setattr(files.os, "posix_fallocate", allocate, raising=False)
    monkeypatch.setattr(files, "ZEROS", bytes(1000))
    with (tmp_path / "run").open("wb") as stream:
        if code == errno.ENOSPC:
            with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
                files.reserve(stream.fileno(), 2500)
        else:
            files.reserve(stream.fileno(), 2500)
            assert (tmp_path / "run").read_bytes() == bytes(2500)


@pytest.mark.skipif(os.name != "posix", reason="of POSIX")
@pytest.mark.parametrize("limit", [4096, None])
def test_the_largest_file_is_the_soft_limit_of_the_process(limit, monkeypatch):
    import resource

    soft = resource.RLIM_INFINITY if limit is None else limit
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, 8192) if kind == resource.RLIMIT_FSIZE else None)
    assert files._largest_file() == limit


def test_a_system_without_limits_has_no_largest_file(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    assert files._largest_file() is None


def test_a_system_without_an_exclusive_call_renames_after_a_check(tmp_path, monkeypatch):
    monkeypatch.setattr(files.sys, "platform", "aix")
    assert not files._renamed_exclusively(b"part", b"name")
    files.rename_new(folder(tmp_path / "part"), tmp_path / "name")
    with pytest.raises(FileExistsError, match="name"):
        files.rename_new(folder(tmp_path / "part"), tmp_path / "name")
    assert (tmp_path / "part" / "content").exists()


def test_room_that_the_system_reserves_is_there(tmp_path):
    with (tmp_path / "run").open("wb") as stream:
        files.reserve(stream.fileno(), 2500)
        assert (tmp_path / "run").read_bytes() == bytes(2500)


@pytest.mark.skipif(os.name == "nt", reason="Windows syncs no folders")
def test_folders_are_synced_after_a_rename(tmp_path, monkeypatch):
    """A renamed file has its new name after a power failure."""
    synced = []

    def sync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            synced.append(sorted(os.listdir(descriptor)))

    monkeypatch.setattr(os, "fsync", sync)
    files.write_whole(tmp_path / "run.npz", lambda stream: stream.write(b"1"))
    assert synced == [["run.npz"]]
    (tmp_path / "part").mkdir()
    files.rename_new(tmp_path / "part", tmp_path / "whole")
    assert synced[1:] == [["run.npz", "whole"]]
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    monkeypatch.setattr(os, "fsync", raises(OSError(errno.EINVAL, "not supported")))
    files.sync_folder(tmp_path)
    files.sync_folder(tmp_path / "missing")
    assert before is None or len(os.listdir("/proc/self/fd")) == before


def raises(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.skipif(os.name == "nt", reason="on Windows they stay")
def test_temporary_files_of_processes_that_ended_are_removed(tmp_path, monkeypatch):
    dead, alive, other = 2**22 + 1, os.getpid(), "0" * 8  # Linux has numbers up to 2**22
    machine = files._machine()
    names = {
        f".treesim.{machine}.{dead}.0123abcd.part": False,
        f".treesim.{machine}.{dead}.0123abcd.parts": True,
        f".treesim.{machine}.{alive}.0123abcd.part": True,
        f".treesim.{other}.{dead}.0123abcd.part": True,
        f".treesim.{machine}.{dead}.locked00.part": True,
        f".treesim.{machine}.{dead}.10cced00.part": True,
        f".treesim.{machine}.{dead}.f01de400.part": True,
        f"run.{machine}.{dead}.part": True,
    }
    for name in names:
        (tmp_path / name).mkdir() if "f01de" in name else (tmp_path / name).write_bytes(b"begun")
    (tmp_path / f".treesim.{machine}.{dead}.00000000.part").touch()
    with (tmp_path / f".treesim.{machine}.{dead}.10cced00.part").open("rb") as stream:
        assert lock_file(stream)
        files.write_whole(tmp_path / "run.npz", lambda stream: stream.write(b"1"))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["run.npz", *(name for name, stays in names.items() if stays)]
    )
    assert files.PART.fullmatch(files.part_name())


@pytest.mark.skipif(os.name == "nt", reason="on Windows nothing is removed")
def test_what_is_being_written_is_locked(tmp_path):
    """Another process does not remove it, even if it cannot see this one."""

    def write(stream):
        with open(stream.name, "rb") as other:
            assert not lock_file(other)

    files.write_whole(tmp_path / "run.npz", write)
