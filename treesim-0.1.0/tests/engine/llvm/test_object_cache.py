"""Files of machine code on disk: used if whole and our own, replaced if not, and never in the way of a result."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treesim.engine.call import generic
from treesim.engine.call.generic import runs_compiled
from treesim.engine.llvm import object_cache
from treesim.errors import UnsupportedError
from treesim.kernels.entries.annotations import Reals
from treesim.kernels.entries.status import FINE

NAME, OTHER = "objects/" + object_cache.digest(b"one"), "objects/" + object_cache.digest(b"other")
CONTENT = bytes(range(256)) * 3
compiled = pytest.mark.skipif(not runs_compiled(), reason="kernels run as plain Python: nothing is compiled")
posix = pytest.mark.skipif(os.name != "posix", reason="owners and pipes are POSIX")


def doubled_states(x: Reals, result: Reals) -> int:
    """The kernel that is compiled soonest."""
    result[0] = 2.0 * x[0]
    return FINE


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TREESIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(object_cache, "_warned", set())
    return tmp_path / object_cache.kernel_hash()


@pytest.fixture(scope="module")
def somewhere(tmp_path_factory):
    """For hypothesis, whose examples share it."""
    return tmp_path_factory.mktemp("cache")


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_what_is_written_is_read_again_and_nothing_else_is_left(folder):
    assert object_cache.read(NAME) is None
    for content in (CONTENT, b"", CONTENT[:7]):
        object_cache.write(NAME, content)
        assert object_cache.read(NAME) == content
    assert files(folder) == [NAME.partition("/")[2]]


@given(data=st.data())
def test_any_change_of_any_byte_and_any_other_length_is_seen(data, somewhere):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREESIM_CACHE_DIR", str(somewhere))
        object_cache.write(NAME, CONTENT)
        path = somewhere / object_cache.kernel_hash() / NAME
        whole = path.read_bytes()
        place = data.draw(st.integers(0, len(whole) - 1))
        flipped = bytes([whole[place] ^ data.draw(st.integers(1, 255))])
        added = data.draw(st.binary(min_size=1, max_size=9))
        for damaged in (whole[:place] + flipped + whole[place + 1 :], whole[:place], whole + added, added, b""):
            path.write_bytes(damaged)
            assert object_cache.read(NAME) is None
        object_cache.write(NAME, CONTENT)
        assert object_cache.read(NAME) == CONTENT


def into_each_other(path, whole):
    """Another function's file under this one's name."""
    object_cache.write(OTHER, b"another function")
    path.write_bytes((path.parent.parent / OTHER).read_bytes())


def a_folder(path, whole):
    path.unlink()
    path.mkdir()


def a_dangling_link(path, whole):
    path.unlink()
    path.symlink_to(path.parent / "nothing")


def a_link_to_itself(path, whole):
    path.unlink()
    path.symlink_to(path)


def a_pipe(path, whole):
    """Opening it would wait for somebody who writes to it."""
    path.unlink()
    os.mkfifo(path)


def written_by_all(path, whole):
    path.chmod(0o666)


def somebody_else_s(path, whole):
    if os.geteuid():
        pytest.skip("only root can give files away")
    os.chown(path, 12345, -1)


def unreadable(path, whole):
    path.chmod(0)
    if not os.geteuid():
        pytest.skip("root can read everything")


def cut(path, whole):
    path.write_bytes(whole[: len(whole) // 2])


def emptied(path, whole):
    path.write_bytes(b"")


def flipped(path, whole):
    middle = 2 * len(whole) // 3
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 16]) + whole[middle + 1 :])


def flipped_in_front(path, whole):
    path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])


DAMAGES = [into_each_other, a_folder, a_dangling_link, a_link_to_itself, cut, emptied, flipped, flipped_in_front]
POSIX = [a_pipe, written_by_all, somebody_else_s, unreadable]
damages = pytest.mark.parametrize("damage", DAMAGES + [pytest.param(damage, marks=posix) for damage in POSIX])


@damages
def test_what_is_not_whole_or_not_ours_is_not_read_but_replaced(damage, folder):
    object_cache.write(NAME, CONTENT)
    path = folder / NAME
    damage(path, path.read_bytes())
    assert object_cache.read(NAME) is None
    object_cache.write(NAME, CONTENT)
    assert object_cache.read(NAME) == CONTENT and path.is_file() and not path.is_symlink()


def in_a_new_process(monkeypatch):
    """Let functions be looked for on the disk again, and return the names of those compiled from now on."""
    monkeypatch.setattr(generic, "_entries", {})
    saved = []
    write = object_cache.write
    monkeypatch.setattr(object_cache, "write", lambda name, content: saved.append(name) or write(name, content))
    return saved


def twice(x):
    result = np.empty(1)
    assert generic.compiled(doubled_states)(np.array([x]), result) == FINE
    return result[0]


@compiled
@damages
def test_a_generic_function_of_a_damaged_file_is_compiled_anew(damage, folder, monkeypatch):
    in_a_new_process(monkeypatch)
    assert twice(2.0) == 4.0
    (path,) = (folder / "objects").iterdir()
    whole = path.read_bytes()
    damage(path, whole)
    saved = in_a_new_process(monkeypatch)
    assert twice(3.0) == 6.0 and saved == [f"objects/{path.name}"]
    saved = in_a_new_process(monkeypatch)
    assert twice(4.0) == 8.0 and not saved


@compiled
def test_kept_code_is_that_of_this_compiler_this_processor_and_this_text(folder, monkeypatch):
    from treesim.engine.llvm import machine_code

    def names():
        in_a_new_process(monkeypatch)
        assert twice(2.0) == 4.0
        return {path.name for path in (folder / "objects").iterdir()}

    assert len(names()) == 1
    here = machine_code.processor()
    monkeypatch.setattr(machine_code, "processor", lambda: here._replace(features=here.features + ",-popcnt"))
    assert len(names()) == 2
    monkeypatch.setattr(generic, "_text", lambda entry: "another text of the same file")
    assert len(names()) == 3
    monkeypatch.setattr(generic, "kernel_hash", lambda: "0123456789abcdef")
    assert len(names()) == 4


@compiled
def test_kept_code_is_that_of_all_sources_that_it_is_made_from(monkeypatch, tmp_path):
    """Of kernels, and of every room of the engine."""
    made_from = object_cache.sources()
    parts = {path.parent.name for path in made_from} | {path.name for path in made_from}
    assert {"kernels", "frontend", "graph", "llvm", "call", "aba.py", "argument_checks.py", "fastcall.py"} <= parts
    of_these, changed = object_cache.kernel_hash(), tmp_path / "changed.py"
    changed.write_text("another text")
    monkeypatch.setattr(object_cache, "sources", lambda: [*made_from[:-1], changed])
    assert object_cache.kernel_hash.__wrapped__() != of_these


def test_a_kernel_without_a_text_is_told(folder, monkeypatch):
    """As one typed at the prompt."""
    text = "def typed_states(x: Reals) -> int:\n    x[0] = 3.0\n    return 0\n"
    namespace = {"__name__": "prompt"}
    exec(compile(text, "<stdin>", "exec"), namespace)
    with pytest.raises(UnsupportedError, match="'typed_states' is not in '<stdin>': define it in a file"):
        generic.compiled(namespace["typed_states"])


def test_a_file_can_be_read_by_those_whom_the_umask_lets_and_written_by_nobody_else(folder):
    before = os.umask(0)
    try:
        object_cache.write(NAME, CONTENT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o644 and object_cache.read(NAME) == CONTENT


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("where", "call"), [(Path, "mkdir"), (os, "open"), (os, "replace")])
def test_a_full_disk_costs_only_time_and_leaves_nothing_behind(where, call, folder, monkeypatch, caplog):
    object_cache.write(OTHER, CONTENT)
    before = files(folder)
    with monkeypatch.context() as patch:
        patch.setattr(where, call, full)
        object_cache.write(NAME, CONTENT)
        object_cache.write(NAME, CONTENT)
    assert files(folder) == before and object_cache.read(NAME) is None and object_cache.read(OTHER) == CONTENT
    assert caplog.text.count(os.strerror(errno.ENOSPC)) == 1  # logged once


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's here")
def test_a_limit_of_the_system_on_files_costs_only_time(folder):
    """A quota, as the system itself answers it: in the middle of writing."""
    code = (
        "import resource, signal; from treesim.engine.llvm import object_cache;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        f"object_cache.write({NAME!r}, bytes(10000)); object_cache.write({OTHER!r}, bytes(1000));"
        f"print(object_cache.read({NAME!r}), len(object_cache.read({OTHER!r})))"
    )
    details = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert details.stdout.split() == ["None", "1000"] and "File too large" in details.stderr
    assert files(folder) == [OTHER.partition("/")[2]]


@pytest.mark.parametrize(
    "place",
    ["a file", "below a file", "read-only", "x" * 300, "y/" * 3000, "\0", "relative", "\udcff"],
    ids=["file", "below", "read-only", "long name", "long path", "nul", "relative", "no text"],
)
def test_any_place_that_is_asked_for(place, tmp_path, monkeypatch):
    """Whatever it is, nothing fails; where it can be used, it is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("")
    (tmp_path / "read-only").mkdir(mode=0o500)
    path = "a file/below" if place == "below a file" else place
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", {"TREESIM_CACHE_DIR": path})  # which holds what no true environment can
        object_cache.write(NAME, CONTENT)
        found = object_cache.read(NAME)
    possible = place in ("relative", "\udcff") or (place == "read-only" and os.geteuid() == 0)
    assert found == (CONTENT if possible else None)


def test_without_a_home_nothing_is_kept_and_no_folder_called_tilde_is_made(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    for variable in ("TREESIM_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # no $HOME, and no entry in the list of users
    assert object_cache.cache_directory() is None
    object_cache.write(NAME, CONTENT)
    assert object_cache.read(NAME) is None and list(tmp_path.iterdir()) == []
    assert "no home directory" in caplog.text


def test_without_the_sources_nothing_is_kept(monkeypatch, caplog):
    """Nothing would tell one version's machine code from the next one's."""
    monkeypatch.setattr(object_cache, "kernel_hash", lambda: "")
    object_cache.write(NAME, CONTENT)
    assert "no source of the kernels" in caplog.text
    assert object_cache.cache_directory() is None and object_cache.read(NAME) is None


def test_what_killed_processes_left_is_removed_after_a_day_and_nothing_else(folder):
    unfinished = folder / object_cache.UNFINISHED
    unfinished.mkdir(parents=True)
    day = 86400
    for name, age in {"old.part": 1.02 * day, "new.part": 0.98 * day, "mine.txt": 9 * day}.items():
        (unfinished / name).write_text("")
        os.utime(unfinished / name, (time.time() - age,) * 2)
    object_cache.write(NAME, CONTENT)
    assert files(unfinished) == ["mine.txt", "new.part"]


def test_a_folder_that_is_deleted_meanwhile_is_made_again(folder):
    for _ in range(2):
        object_cache.write(NAME, CONTENT)
        assert object_cache.read(NAME) == CONTENT
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        folder.rmdir()


def test_ctrl_c_while_a_file_is_written_leaves_nothing_behind(folder, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    object_cache.write(OTHER, CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(object_cache.os, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            object_cache.write(NAME, CONTENT)
    assert files(folder) == [OTHER.partition("/")[2]]
