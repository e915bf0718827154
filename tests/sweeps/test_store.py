"""Stores: made once, whole or not at all; files that do not belong together are found; no program of theirs runs."""

import errno
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.sweeps.test_sweep import LINK, SAMPLES, STEPS, run
from treesim import ArgumentError, SweepError
from treesim.rollouts import measures
from treesim.sweeps import open_study
from treesim.sweeps.manifest import MANIFEST, Manifest, held
from treesim.sweeps.plan import Plan
from treesim.sweeps.programs import PLAN, keep_program, packed, program_digest, read_plan, written_for_workers
from treesim.sweeps.store import (
    DESCRIPTION,
    GROUP,
    Store,
    _attributes,
    _digest_without,
    _key,
    check_column,
    in_the_making,
    report_full_disk,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The files of a finished store, by path."""
    store = tmp_path_factory.mktemp("store") / "run.zarr"
    run(store)
    return {path.relative_to(store): path.read_bytes() for path in store.rglob("*") if path.is_file()}


@pytest.fixture
def store(kept, tmp_path):
    folder = tmp_path / "run.zarr"
    for path, content in kept.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def assert_untouched(folder, kept):
    found = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == kept


def test_of_two_that_make_a_store_one_gets_the_name(tmp_path):
    folder = tmp_path / "run.zarr"
    with pytest.raises(FileExistsError), in_the_making(folder) as loser:
        (loser / "mine").touch()
        with in_the_making(folder) as winner:
            (winner / "theirs").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["run.zarr"]
    assert [path.name for path in folder.iterdir()] == ["theirs"]


def test_a_call_that_comes_second_goes_on_in_the_store_of_the_first(tmp_path, kept):
    inner = []

    def first(estimate):
        if not inner:
            inner.append(run(tmp_path / "run.zarr", announce=lambda estimate: None))

    second = run(tmp_path / "run.zarr", announce=first)
    assert second.done == SAMPLES and second.summary.identical(inner[0].summary)
    assert [path.name for path in tmp_path.iterdir()] == ["run.zarr"]


def test_another_sweep_that_comes_second_is_refused(tmp_path):
    def first(estimate):
        run(tmp_path / "run.zarr", seed=6)

    with pytest.raises(ArgumentError, match="holds another sweep: seed is 6 in it, 5 here"):
        run(tmp_path / "run.zarr", announce=first)
    assert [path.name for path in tmp_path.iterdir()] == ["run.zarr"]
    assert open_study(tmp_path / "run.zarr").plan.seed == 6


def refuse(estimate):
    raise ArgumentError("not so many")


def test_nothing_is_removed_that_another_made(tmp_path):
    mine = tmp_path / "run.zarr.unfinished" / "thesis.txt"
    left = tmp_path / ".treesim.1.0badcafe.part" / "zarr.json"  # of a process that was killed
    for path in (mine, left):
        path.parent.mkdir()
        path.write_text("mine")
    run(tmp_path / "run.zarr")
    with pytest.raises(ArgumentError, match="not so many"):
        run(tmp_path / "a" / "b" / "other.zarr", announce=refuse)
    assert mine.read_text() == left.read_text() == "mine"
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, lambda path: path.symlink_to("nothing")])
def test_what_has_the_name_and_is_no_sweep_is_refused_and_stays(tmp_path, make):
    folder = tmp_path / "run.zarr"
    make(folder)
    with pytest.raises(ArgumentError, match="holds no sweep of treesim's"):
        run(folder)
    assert os.path.lexists(folder) and len(list(tmp_path.iterdir())) == 1


class Marks:
    """Loading it leaves a file: what a program may do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def put_program(store, content):
    """Put a program into a store as its maker does."""
    Manifest(Store(store)).add({"program": program_digest(content)})
    (store / PLAN).write_bytes(content)


def test_nothing_of_a_stores_program_runs_unless_it_is_asked_for(store, tmp_path, kept):
    marker = tmp_path / "ran"
    put_program(store, pickle.dumps(Marks(marker)))
    study = open_study(store)
    assert study.done == SAMPLES and study.failed == () and study.finished.all()
    study.summary.load()
    assert "40 samples" in repr(study)
    study.to_parquet(tmp_path / "run.parquet")
    (store / "where" / "c" / "2").unlink()
    assert run(store).done == SAMPLES
    assert not marker.exists()
    assert open_study(store).plan is not None
    assert marker.exists()


def test_a_program_that_is_not_the_stores_is_refused_and_not_run(store, tmp_path):
    marker = tmp_path / "ran"
    (store / PLAN).write_bytes(pickle.dumps(Marks(marker)))
    for call in (lambda: open_study(store), lambda: run(store)):
        with pytest.raises(ArgumentError, match=r"plan\.pickle is damaged, or another sweep's.*Remove this file"):
            call()
    (store / PLAN).unlink()
    study = open_study(store)
    with pytest.raises(ArgumentError, match=r"plan\.pickle is missing.*the same call .* writes it again"):
        study.replay(3)
    assert run(store).replay(3).q.shape == (1, STEPS, 2)
    assert not marker.exists()


def test_a_program_put_there_while_a_study_is_open_is_not_run(store, tmp_path):
    study, marker = open_study(store), tmp_path / "ran"
    (store / PLAN).write_bytes(pickle.dumps(Marks(marker)))
    for ask in (lambda: study.plan, lambda: study.replay(1), lambda: study.inputs([1])):
        with pytest.raises(ArgumentError, match="nothing of it was run"):
            ask()
    assert not marker.exists()


def test_workers_get_the_plan_of_the_call_whatever_bytes_the_stores_has(store, kept):
    """A plan of the same sweep may be written down in other bytes: by another process, or another Python."""
    put_program(store, pickle.dumps(Plan))  # no plan at all: it would not do as one
    for part in ("0", "1", "2"):
        (store / "where" / "c" / part).unlink()
    assert run(store).done == SAMPLES
    again = {path: (store / path).read_bytes() for path in kept if path.parts[0] == "where"}
    assert again == {path: content for path, content in kept.items() if path.parts[0] == "where"}
    assert not list((store / "treesim").glob("call.*"))


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (DESCRIPTION, ('"seed": 5', '"seed": 6'), r"plan\.json is damaged, or another sweep's"),
        (DESCRIPTION, ("{", "["), r"plan\.json is damaged, or another sweep's"),
        (GROUP, ('"samples": 40', '"samples": 48'), r"zarr\.json is damaged, or another sweep's"),
        (GROUP, ('"chunk": 16', '"chunk": 8'), r"zarr\.json is damaged, or another sweep's"),
        (GROUP, ("{", ""), r"zarr\.json is damaged, or another sweep's"),
    ],
)
def test_files_that_were_changed_are_named(store, file, change, message):
    text = (store / file).read_text()
    assert change[0] in text
    (store / file).write_text(text.replace(*change, 1))
    for call in (lambda: open_study(store), lambda: run(store)):
        with pytest.raises(ArgumentError, match=message + ".*bring back the file from a copy"):
            call()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """The store of a sweep with another seed."""
    return run(tmp_path_factory.mktemp("other") / "other.zarr", seed=6).path


@pytest.mark.parametrize("file", [DESCRIPTION, GROUP, PLAN, MANIFEST])
def test_files_of_another_sweep_are_not_believed(store, other, file):
    (store / file).write_bytes((other / file).read_bytes())
    if file == MANIFEST:
        with pytest.warns(UserWarning, match="4 lines of .* damaged .* 0 of 40 samples count as finished"):
            assert open_study(store).done == 0
        expected = []
        with pytest.warns(UserWarning, match="0 of 40 samples count as finished: the same call .* computes the others"):
            assert run(store, announce=expected.append).done == SAMPLES
        assert [estimate.samples for estimate in expected] == [SAMPLES]
        return
    with pytest.raises(ArgumentError, match="another sweep"):
        open_study(store)
    with pytest.raises(ArgumentError, match="another sweep"):
        run(store)


def test_stores_of_older_versions_are_told(store):
    metadata = json.loads((store / GROUP).read_text())
    del metadata["attributes"]["treesim"]["digest"]
    (store / GROUP).write_text(json.dumps(metadata))
    with pytest.raises(ArgumentError, match=r"of an older version .* xarray\.open_zarr reads"):
        open_study(store)


@pytest.mark.parametrize("change", [{"samples": "many"}, {"columns": {"fastest": "nowhere"}}])
def test_metadata_that_do_not_describe_a_sweep_are_refused(store, change):
    """Their digest fits, as of a store that another program has written."""
    metadata = json.loads((store / GROUP).read_text())
    metadata["attributes"]["treesim"] |= change
    metadata["attributes"]["treesim"]["digest"] = _digest_without(metadata)
    (store / GROUP).write_text(json.dumps(metadata))
    with pytest.raises(ArgumentError, match=r"run\.zarr holds no sweep of treesim's: .*(many|nowhere)"):
        open_study(store)


def test_a_store_that_is_made_again_meanwhile_is_told(store):
    def replace(done, total):
        os.rename(store, store.with_name("moved"))

    (store / "where" / "c" / "2").unlink()
    (store / "where" / "c" / "1").unlink()
    with pytest.raises((ArgumentError, SweepError), match=r"run\.zarr"):
        run(store, progress=replace)


WRONG = (b"9" * 40, b"NaN", b"-1", b"null", b"[" * 3000, b"\n", b"\xff", b"1e999", b'"start":')


def damage(content, rng):
    """Bytes that are flipped, left out, doubled or moved, or lines that are."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 3))):
        a, b = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        b = min(b, a + rng.choice((1, 4, 300)))
        kind = rng.randrange(5)
        if kind == 0 and a < len(content):
            content[a] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[a:b]
        elif kind == 2:
            content[a:a] = content[a:b]
        elif kind == 3:
            content[a:b] = rng.choice(WRONG)
        else:
            lines = content.split(b"\n")
            rng.shuffle(lines)
            content = bytearray(b"\n".join(lines))
        content = content or bytearray(b" ")
    return bytes(content)


def check_damaged(store, kept, file, seed):
    """What is damaged is refused with a message, or told less of, and never told wrong."""
    content = damage(kept[Path(file)], random.Random(f"{file} {seed}"))
    (store / file).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            study = open_study(store)
        except ArgumentError as error:
            assert file != MANIFEST and file in str(error).replace(os.sep, "/")
            return
        assert file == MANIFEST or json.loads(content) == json.loads(kept[Path(file)])
        assert 0 <= study.done <= SAMPLES and study.done == study.finished.sum() and study.failed == ()


@pytest.mark.parametrize("file", [MANIFEST, DESCRIPTION, GROUP])
def test_damaged_files_never_tell_what_is_wrong(store, kept, file):
    for seed in range(60):
        check_damaged(store, kept, file, seed)


@pytest.mark.slow
@pytest.mark.parametrize("file", [MANIFEST, DESCRIPTION, GROUP])
def test_many_damaged_files_never_tell_what_is_wrong(store, kept, file):
    for seed in range(60, 360):
        check_damaged(store, kept, file, seed)


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_manifest_is_gone_on_with(store, kept, seed):
    content = damage(kept[Path(MANIFEST)], random.Random(seed))
    (store / MANIFEST).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert run(store).done == SAMPLES
        assert open_study(store).replay(7).q.shape == (1, STEPS, 2)
    for path, content in kept.items():
        if path.parts[0] != "treesim":
            assert (store / path).read_bytes() == content


@pytest.mark.parametrize("name", ["treesim", "zarr.json", ".", "..", "__x", "a/b", "a\nb", "", "x" * 300, "\ud800"])
def test_names_that_a_folder_cannot_have_are_refused(tmp_path, name):
    with pytest.raises(ArgumentError, match="name"):
        run(tmp_path / "run.zarr", measure={name: measures.last(lambda t, q, v: q[0])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("character", ["x", "é"])
def test_a_column_has_a_short_name(character):
    """Names of measures are refused, those of links are shortened: a folder's name has 200 bytes."""
    most = 200 // len(character.encode())
    check_column("measure", most * character)
    assert _key(most * character) == most * character
    with pytest.raises(ArgumentError, match="up to 200 bytes"):
        check_column("measure", (most + 1) * character)
    assert len(_key((most + 1) * character).encode()) < 200


def test_links_may_have_any_name(tmp_path):
    body = treesim.Body(
        "a/b|c é", 0, treesim.Joint("hip/x", "revolute", axis=(0, 0, 1)), treesim.Inertia(1.5, rotational=np.eye(3))
    )
    robot = treesim.Tree("odd", [body])
    study = treesim.sweep(
        robot, steps=3, samples=4, vary={"mass[a/b|c é]": [1.0, 2.0], "v0[hip/x]": [1.0]}, store=tmp_path / "run.zarr",
        workers=1, chunk=4,
    )  # fmt: skip
    assert set(study.summary["mass[a/b|c é]"].values) <= {1.0, 2.0} and study.replay(2).q.shape == (1, 3, 1)
    assert (study.summary["v0[hip/x]"] == 1).all()


def test_a_parquet_file_stays_until_the_new_one_is_whole(store, tmp_path):
    path = tmp_path / "run.parquet"
    open_study(store).to_parquet(path)
    content = path.read_bytes()
    column = store / "fastest" / "c" / "1"
    damaged = bytearray(column.read_bytes())
    damaged[-9] ^= 1
    column.write_bytes(damaged)
    with pytest.raises(SweepError, match=r"columns of samples from 16 on in .* are damaged"):
        open_study(store).to_parquet(path)
    assert path.read_bytes() == content and {one.name for one in tmp_path.iterdir()} == {"run.zarr", "run.parquet"}


def test_columns_that_no_codec_reads_are_told(store, tmp_path):
    (store / "fastest" / "c" / "1").write_bytes(b"damaged")
    with pytest.raises(SweepError, match=r"columns of samples from 16 on in .* are damaged: .*Error"):
        open_study(store).to_parquet(tmp_path / "run.parquet")


@pytest.mark.parametrize("samples", [[-1], [SAMPLES], [0.5], [[0, 1]]])
def test_samples_that_there_are_not_are_refused(store, samples):
    with pytest.raises(ArgumentError, match=f"samples must be whole numbers from 0 to {SAMPLES - 1}"):
        open_study(store).inputs(samples)


def test_parquet_needs_its_library(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ArgumentError, match="Parquet needs pyarrow"):
        open_study(store).to_parquet(tmp_path / "run.parquet")


CHUNK = {"start": 0, "failed": 0, "left_out": 0, "checksum": "0" * 32, "seconds": 0.1}


@pytest.mark.parametrize(
    "line", [{}, {"program": "x"}, {"sample": SAMPLES, "reason": ""}, CHUNK | {"start": 1}, CHUNK | {"start": 1 << 20}]
)
def test_records_that_are_none_of_the_sweep_are_refused(store, line):
    manifest = Manifest(Store(store))
    before = manifest.path.read_bytes()
    with pytest.raises(SweepError, match="a worker sent a record that is none of this sweep"):
        manifest.add(line)
    assert manifest.path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "damaged"), [(b'{"sample": 39, "reason": ""}', 0), (b'{"sample": 40, "reason": ""}', 1), (b"{[}", 1)]
)
def test_lines_whose_digest_fits_and_whose_values_do_not_are_damaged(store, content, damaged):
    manifest = Manifest(Store(store))
    before = manifest.path.read_bytes()
    ending = f', "digest": "{manifest._digest(content)}"}}\n'.encode()
    manifest.path.write_bytes(before + content[:-1] + ending)
    again = Manifest(Store(store))
    assert again.damaged == damaged and len(again.left_out) == 1 - damaged and again.done == SAMPLES


def test_a_last_line_without_its_end_is_kept(store):
    manifest = Manifest(Store(store))
    manifest.path.write_bytes(manifest.path.read_bytes().rstrip(b"\n"))
    manifest.add({"sample": 3, "reason": "an error"})
    again = Manifest(Store(store))
    assert again.damaged == 0 and again.done == SAMPLES and again.left_out == {3: "an error"}


@pytest.mark.parametrize("made_again", [False, True])
def test_a_store_that_goes_before_it_is_locked_is_told(store, made_again, monkeypatch):
    def lock(stream):
        (store / MANIFEST).rename(store / "moved")
        if made_again:
            (store / MANIFEST).touch()
        return True

    monkeypatch.setattr("treesim.sweeps.manifest.lock_file", lock)
    with pytest.raises(ArgumentError, match=r"run\.zarr was removed, or made again, .*: call again"), held(store):
        pass


def test_a_program_that_cannot_be_replaced_is_told(store):
    manifest = Manifest(Store(store))
    manifest.programs.clear()
    (store / PLAN).unlink()
    (store / PLAN).mkdir()
    with pytest.raises(ArgumentError, match=r"cannot write .*plan\.pickle: "):
        keep_program(store, manifest, b"program")


def test_programs_of_killed_calls_are_removed(tmp_path):
    left = tmp_path / "treesim" / "call.0badcafe.pickle"
    kept = tmp_path / "treesim" / "call.folder.pickle"
    kept.mkdir(parents=True)
    left.touch()
    with written_for_workers(tmp_path, b"program") as name:
        assert (tmp_path / name).read_bytes() == b"program" and not left.exists()
    assert list((tmp_path / "treesim").iterdir()) == [kept]


def test_a_manifest_that_cannot_be_read_written_or_locked_is_told(store, tmp_path):
    manifest = Manifest(Store(store))
    manifest.path.unlink()
    manifest.path.mkdir()
    with pytest.raises(ArgumentError, match=r"cannot read .*manifest: "):
        Manifest(Store(store))
    with pytest.raises(ArgumentError, match=r"cannot write .*manifest: "):
        manifest.add({"sample": 0, "reason": "an error"})
    with pytest.raises(ArgumentError, match=r"cannot write .*manifest: "), held(tmp_path / "nowhere"):
        pass


def test_a_plan_that_cannot_be_sent_is_told():
    with pytest.raises(ArgumentError, match=r"the sweep cannot be sent to other processes: .*lock"):
        packed(threading.Lock())


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(ArgumentError, match=r"cannot write .*run\.zarr: No space left"),
        report_full_disk(tmp_path / "run.zarr"),
    ):
        raise error

    def refuse(source, target):
        raise error

    monkeypatch.setattr("treesim.sweeps.store.rename_new", refuse)
    with pytest.raises(ArgumentError, match=r"cannot write .*run\.zarr"), in_the_making(tmp_path / "run.zarr"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_reasons_that_are_damaged_are_told(store, tmp_path):
    study = open_study(store)
    (store / "failed_reason" / "c").mkdir(exist_ok=True)
    (store / "failed_reason" / "c" / "0").write_bytes(b"damaged")
    with pytest.raises(SweepError, match=r"column 'failed_reason' of .* cannot be read"):
        assert study.failed


def test_pictures_leave_out_what_is_not_finite(tmp_path):
    measure = {"when": measures.first_time(lambda t, q, v: v[1] > 0.5)}
    study = run(tmp_path / "run.zarr", measure=measure)
    finite = int(np.isfinite(study.summary["when"]).sum())
    assert 0 < finite < SAMPLES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = study.plot("when", over=f"mass[{LINK}]")
    assert figure.axes[0].get_title() == f"{finite} of {SAMPLES} samples, where both are finite"


RACE = """
import sys, treesim
from treesim.model import generators
from treesim.sweeps import Uniform
print("ready", flush=True)
sys.stdin.readline()
try:
    study = treesim.sweep(generators.chain(2), steps=5, samples=40, seed=int(sys.argv[2]), vary={"kp": Uniform(0, 1)},
                          chunk=8, workers=1, store=sys.argv[1])
    assert study.done == 40
except treesim.ArgumentError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
def test_processes_that_begin_together_never_mix(tmp_path, seeds):
    store = tmp_path / "run.zarr"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, store, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for seed in seeds
    ]
    assert [one.stdout.readline() for one in both] == ["ready\n"] * 2
    for one in both:
        one.stdin.write("go\n")
        one.stdin.flush()
    said = [one.communicate()[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert all("another sweep" in text for text in said if text) and "" in said
    assert [path.name for path in tmp_path.iterdir()] == ["run.zarr"]
    study = open_study(store)
    assert study.done == 40 and study.plan.seed == seeds[said.index("")]
    assert np.array_equal(study.summary["kp"], study.inputs(np.arange(40))["kp"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_file_of_a_store_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / GROUP)
    with pytest.raises(ArgumentError, match="this is a pipe, socket or device, not a file"):
        _attributes(tmp_path)
    (tmp_path / PLAN).parent.mkdir(parents=True)
    os.mkfifo(tmp_path / PLAN)
    with pytest.raises(ArgumentError, match=r"plan\.pickle is missing: this is a pipe"):
        read_plan(tmp_path, None)
