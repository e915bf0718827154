"""Rollouts in files: on full disks, killed in the middle, two at once; what is there is never taken for what is not."""

import errno
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import treesim
from treesim.model import generators
from treesim.rollouts import rollout
from treesim.system.files import digest_of

ROBOT = generators.chain(4)
START = np.linspace(-0.3, 0.3, 20).reshape(5, 4), np.zeros(4)
CHILD = """
import os, resource, signal, sys
import numpy as np
import treesim
from treesim.rollouts import rollout
from treesim.model import generators
rollout.CHUNK_BYTES = 1
robot, out = generators.chain(4), sys.argv[1]
q0, v0 = np.linspace(-0.3, 0.3, 20).reshape(5, 4), np.zeros(4)
"""


def run(**changes):
    return treesim.rollout(ROBOT, *START, **{"steps": 6, **changes})


def in_child(program, out):
    text = CHILD + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", text, str(out)], capture_output=True, text=True, timeout=300)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_killed_run_leaves_no_file_that_looks_whole(tmp_path):
    out = tmp_path / "run"
    earlier = run(out=out, dt=2e-3).q.copy()
    killed = in_child(
        """
        def kill(done, total):
            if done == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        treesim.rollout(robot, q0, v0, steps=6, out=out, progress=kill)
        """,
        out,
    )
    assert killed.returncode == -9, killed.stderr
    assert np.array_equal(np.load(f"{out}_q.npy"), earlier), "files of an earlier run stay"
    assert names(tmp_path) == ["run_q.npy", "run_q.npy.part", "run_unfinished.json", "run_v.npy", "run_v.npy.part"]
    whole, found = run(), rollout.read_unfinished(out)
    assert found.stopped == "unfinished" and found.done.tolist() == [6, 6, 6]
    assert np.array_equal(found.q, whole.q[:3]) and np.array_equal(found.v, whole.v[:3])
    assert np.array_equal(found.t, whole.t)
    done = json.loads((tmp_path / "run_unfinished.json").read_text())["complete"]
    assert np.array_equal(np.load(f"{out}_q.npy.part", mmap_mode="r")[:done], whole.q[:3])
    del found
    assert np.array_equal(run(out=out).q, whole.q)
    assert names(tmp_path) == ["run_q.npy", "run_v.npy"], "the next run replaces what the killed one left"


def test_ctrl_c_leaves_unfinished_files(tmp_path, monkeypatch):
    monkeypatch.setattr(rollout, "CHUNK_BYTES", 1)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.warns(rollout.StoppedWarning, match=r"2 of 5 .*run_q\.npy\.part.*read_unfinished"):
        found = run(out=tmp_path / "run", progress=stop)
    assert found.stopped == "interrupted" and np.array_equal(found.q, run().q[:2])
    assert not (tmp_path / "run_q.npy").exists()
    assert np.array_equal(rollout.read_unfinished(tmp_path / "run").q, run().q[:2])


def test_an_error_before_anything_is_done_leaves_nothing(tmp_path):
    with pytest.raises(treesim.NonFiniteError):
        run(out=tmp_path / "run", steps=None, control=np.full((6, 4), np.nan))
    assert names(tmp_path) == []


def test_two_runs_of_one_name_at_once_are_refused(tmp_path):
    pytest.importorskip("fcntl")

    def again(done, total):
        run(out=tmp_path / "run", dt=1e-2)

    with pytest.raises(treesim.ArgumentError, match="another run is writing"):
        run(out=tmp_path / "run", progress=again)
    assert np.array_equal(run(out=tmp_path / "run").q, run().q), "the lock goes with the run"


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system reserves no room")
def test_a_full_disk_is_told_with_bytes_needed_and_free(tmp_path, monkeypatch):
    """Without the room reserved, writing through the map ends the process."""
    run(out=tmp_path / "run")
    before = (tmp_path / "run_q.npy").read_bytes()

    def full(descriptor, start, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    size = 128 + 5 * 6 * 4 * 8
    with pytest.raises(treesim.ArgumentError, match=rf"run_q\.npy: No space left .*needs {size:,} bytes.* free"):
        run(out=tmp_path / "run")
    assert names(tmp_path) == ["run_q.npy", "run_v.npy"] and (tmp_path / "run_q.npy").read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no limit on files")
def test_a_limit_on_files_is_told(tmp_path):
    limited = in_child(
        """
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
        try:
            treesim.rollout(robot, q0, v0, steps=10_000, out=out)
        except treesim.ArgumentError as error:
            print(error)
        """,
        tmp_path / "run",
    )
    assert limited.returncode == 0, limited.stderr
    assert "run_q.npy: File too large: it needs 1,600,128 bytes" in limited.stdout
    assert "1,048,576 bytes at most (ulimit -f)" in limited.stdout and names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="this system reserves no room")
@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL])
def test_where_room_cannot_be_reserved_zeros_are_written(tmp_path, monkeypatch, code):
    written = []

    def unsupported(descriptor, start, size):
        raise OSError(code, os.strerror(code))

    def counted(descriptor, text, write=os.write):
        written.append(write(descriptor, text))
        return written[-1]

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    monkeypatch.setattr(os, "write", counted)
    assert np.array_equal(run(out=tmp_path / "run").v, run().v)
    assert sum(written) == 2 * (128 + 5 * 6 * 4 * 8)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("nowhere/run", "cannot write .*nowhere.*: there is no folder"),
        ("file/run", "cannot write .*file"),
        ("taken", r"cannot write .*taken_v\.npy: it is a folder"),
        ("a\0b", "out is no name of a file"),
        ("x" * 300, "cannot write .*File name too long"),
    ],
)
def test_places_that_cannot_be_written_are_named(tmp_path, out, message):
    (tmp_path / "file").touch()
    (tmp_path / "taken_v.npy").mkdir()
    with pytest.raises(treesim.ArgumentError, match=message):
        run(out=tmp_path / out)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(treesim.ArgumentError, match="Permission denied"):
        run(out=tmp_path / "run")


@pytest.mark.parametrize("steps", [10**12, 1 << 48])
def test_results_that_fit_nowhere_are_refused_at_once(tmp_path, steps):
    with pytest.raises(treesim.ArgumentError, match=r"needs [\d,]{15,} bytes.* free"):
        run(out=tmp_path / "run", steps=steps)
    assert names(tmp_path) == []
    with pytest.raises(treesim.ArgumentError, match=r"5 rollouts of \d+ recorded steps would take .*GiB .*every="):
        run(steps=steps)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"shapes": [[5, 7, 4], [5, 7, 4]]}'])
def test_a_record_that_is_none_is_refused(tmp_path, text):
    with pytest.raises(treesim.ArgumentError, match="no unfinished rollouts of"):
        rollout.read_unfinished(tmp_path / "run")
    for label in "qv":
        np.save(tmp_path / f"run_{label}.npy", np.zeros((5, 6, 4)))
        (tmp_path / f"run_{label}.npy").rename(tmp_path / f"run_{label}.npy.part")
    (tmp_path / "run_unfinished.json").write_text(text)
    with pytest.raises(treesim.ArgumentError, match="is not the record of rollouts"):
        rollout.read_unfinished(tmp_path / "run")


def unfinished(folder, **changes):
    """Write the files that a run leaves that was stopped, with changes of its record under a digest that fits."""
    shape = (5, 6, 4)
    for label in "qv":
        with (folder / f"run_{label}.npy.part").open("wb") as stream:
            np.save(stream, np.zeros(shape))
    record = {"dt": 1e-3, "every": 2, "shapes": [shape, shape], "complete": 2, "partial": 1, "records": 3, **changes}
    record = json.loads(json.dumps(record))
    path = folder / "run_unfinished.json"
    path.write_text(json.dumps({**record, "digest": digest_of(record)}))
    return path


def test_flipped_bits_of_a_record_are_found(tmp_path):
    path = unfinished(tmp_path)
    assert rollout.read_unfinished(tmp_path / "run").done.tolist() == [6, 6, 3]
    good, refused = path.read_bytes(), 0
    for k in range(8 * len(good)):
        path.write_bytes(good[: k // 8] + bytes([good[k // 8] ^ 1 << k % 8]) + good[k // 8 + 1 :])
        try:
            found = rollout.read_unfinished(tmp_path / "run")
        except treesim.ArgumentError:
            refused += 1
        else:
            assert found.t[0] == 2e-3 and found.done.tolist() == [6, 6, 3]
    assert refused > 7 * len(good)


@pytest.mark.parametrize("label", ["dt", "every", "shapes", "complete", "partial", "records"])
@pytest.mark.parametrize("value", [None, "1", -1, 1e400, float("nan"), [], {}, 10**30, [[]], True, [[5, 6, 4]]])
def test_records_of_other_types_and_sizes_are_refused(tmp_path, label, value):
    unfinished(tmp_path, **{label: value})
    with pytest.raises(treesim.ArgumentError, match="is not the record of rollouts"):
        rollout.read_unfinished(tmp_path / "run")


def test_no_rollouts_and_robots_that_cannot_move_have_files_too(tmp_path):
    assert run(out=tmp_path / "none", steps=0).q.shape == (5, 0, 4)
    still = treesim.Tree("still", [])
    assert treesim.rollout(still, np.zeros((3, 0)), np.zeros(0), steps=2, out=tmp_path / "still").q.shape == (3, 2, 0)
    assert np.load(tmp_path / "still_v.npy").shape == (3, 2, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_the_record_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "run_unfinished.json")
    with pytest.raises(treesim.ArgumentError, match="this is a pipe, socket or device, not a file"):
        rollout.read_unfinished(tmp_path / "run")
