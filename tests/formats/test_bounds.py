"""What formats refuse, and how much they accept: one case on either side of each limit."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.simulation.test_trajectory import example
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.formats import csv, lerobot, mcap, parquet, xarray
from treesim.formats.description import described, read_description
from treesim.system import archives, input_files


def test_a_small_file_may_unpack_to_128_mib() -> None:
    archives.check_unpacked(134_000_000, 0, 1)
    with pytest.raises(ValueError, match="announce 135,000,000 bytes"):
        archives.check_unpacked(135_000_000, 0, 1)


@pytest.mark.parametrize(
    ("module", "suffix", "accepted", "refused"), [(archives, "npz", 3.9, 4.1), (parquet, "parquet", 990, 1010)]
)
def test_a_large_file_may_unpack_to_a_multiple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, suffix: str, accepted: float, refused: float
) -> None:
    """4 times its size without compression, 1,000 times with it; the sizes are those of a file of 1 GB."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    path, ratio = example(3).save(tmp_path / f"run.{suffix}"), accepted
    check = archives.check_unpacked
    monkeypatch.setattr(module, "check_unpacked", lambda needed, size, times: check(int(ratio * 1e9), 10**9, times))
    Trajectory.load(path)
    ratio = refused
    with pytest.raises(ArgumentError, match="1,000,000,000 bytes announce"):
        Trajectory.load(path)


@pytest.mark.parametrize(("module", "suffix"), [(archives, "npz"), (parquet, "parquet")])
def test_numbers_that_the_memory_does_not_hold_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Any, suffix: str
) -> None:
    """A sparse file of many GiB is as large as it announces, and takes no room on the disk."""
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    path = example(3).save(tmp_path / f"run.{suffix}")
    check = module.check_memory
    asked: list[int] = []

    def scaled(needed: int, what: str, remedy: str) -> None:
        asked.append(needed)
        check(1 << 50 if len(asked) > 1 else needed, what, remedy)

    monkeypatch.setattr(module, "check_memory", scaled)
    Trajectory.load(path)
    assert asked[0] > 100
    with pytest.raises(ArgumentError, match=r"of memory, and .* are free: read it on a machine with more"):
        Trajectory.load(path)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "nc", "mcap"])
def test_a_recording_has_up_to_64_gib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    """Whatever its holes hold; the limit is one below and one above."""
    path = tmp_path / f"run.{suffix}"
    with path.open("wb") as stream:
        stream.truncate(1 << 36)
    assert input_files.size_of_input(path, input_files.LARGEST_RECORDING) == 1 << 36
    with path.open("r+b") as stream:
        stream.truncate((1 << 36) + 1)
    with pytest.raises(ArgumentError, match=r"cannot read .*: it has 68,719,476,737 bytes, and 68,719,476,736"):
        Trajectory.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "nc", "mcap"])
def test_a_pipe_is_no_recording(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"run.{suffix}")
    with pytest.raises(ArgumentError, match="this is a pipe, socket or device, not a file"):
        Trajectory.load(tmp_path / f"run.{suffix}")


def test_a_line_of_a_table_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = example(3).save(tmp_path / "run.csv")
    longest = max(map(len, path.read_bytes().splitlines(keepends=True)))
    monkeypatch.setattr(csv, "LONGEST_LINE", longest + 1)
    Trajectory.load(path)
    with path.open("ab") as stream:
        stream.write(b"1" * (longest + 1))
    with pytest.raises(ArgumentError, match=f"a line has {longest + 1:,} characters or more"):
        Trajectory.load(path)


def test_a_table_without_the_end_of_its_last_line_is_refused(tmp_path: Path) -> None:
    path = example(3).save(tmp_path / "run.csv")
    path.write_bytes(path.read_bytes().rstrip(b"\r\n"))
    with pytest.raises(ArgumentError, match="its last line is cut short"):
        Trajectory.load(path)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"#", b"%", "its first line does not begin with"),
        (b"{", b"[{", "its description is no text of JSON"),
    ],
)
def test_a_table_with_another_heading_is_refused(tmp_path: Path, old: bytes, new: bytes, words: str) -> None:
    path = example(3).save(tmp_path / "run.csv")
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(ArgumentError, match=words):
        Trajectory.load(path)


def test_a_description_is_an_object() -> None:
    with pytest.raises(ArgumentError, match="its description must be an object"):
        read_description("[]")


def test_an_array_alone_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(ArgumentError, match="it is no archive"):
        Trajectory.load(path)


def test_metadata_that_could_not_be_read_back_are_not_written() -> None:
    """A million brackets in a text count as lists, of which a file may have 1,048,576."""
    assert "[[[" in described(example(1, note="[" * 1_040_000))
    with pytest.raises(ArgumentError, match="too much to be read back"):
        described(example(1, note="[" * 1_060_000))


def test_a_dataset_needs_runs_with_a_step() -> None:
    with pytest.raises(ArgumentError, match="trajectory 0 has 1 states, and no step"):
        lerobot._episodes([example(1)], 50)


def test_a_dataset_holds_what_single_precision_holds() -> None:
    run = replace(example(6), t=np.arange(6) / 50)
    for value, accepted in ((3.3e38, True), (-3.3e38, True), (3.5e38, False), (-3.5e38, False)):
        v = run.v.copy()
        v[2, 0] = value
        if accepted:
            assert lerobot._episodes([replace(run, v=v)], 50)
        else:
            with pytest.raises(ArgumentError, match="v of state 2 is not finite in single precision"):
                lerobot._episodes([replace(run, v=v)], 50)


def test_stamps_end_at_2_to_the_31_seconds() -> None:
    assert mcap._stamps(np.array([0.0, 2.1e9])).tolist() == [0, 2_100_000_000_000_000_000]
    with pytest.raises(ArgumentError, match="state 1 is at 2200000000"):
        mcap._stamps(np.array([0.0, 2.2e9]))


def test_netcdf_holds_less_than_2_gib_of_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"q": SimpleNamespace(nbytes=2_100_000_000)}
    dataset = SimpleNamespace(sizes={}, variables=variables, to_netcdf=lambda **_: b"netCDF")
    monkeypatch.setattr(xarray, "dataset_of", lambda _: dataset)
    stream = io.BytesIO()
    xarray.write(example(1), stream)
    assert stream.getvalue() == b"netCDF"
    variables["v"] = SimpleNamespace(nbytes=2_200_000_000)
    with pytest.raises(ArgumentError, match="less than 2 GiB of v, not 2,200,000,000 bytes"):
        xarray.write(example(1), stream)


def test_a_message_repeats_the_beginning_of_a_long_number(tmp_path: Path) -> None:
    path = example(3).save(tmp_path / "run.csv")
    path.write_text(path.read_text(encoding="utf-8").rstrip() + "\ufeff" * 100_000, encoding="utf-8")
    with pytest.raises(ArgumentError, match="is damaged: could not convert string to float") as error:
        Trajectory.load(path)
    assert len(str(error.value)) < 300 + len(str(path)) + 100
