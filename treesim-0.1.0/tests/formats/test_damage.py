"""Damaged files: a bit that flips anywhere is found, or changes nothing that is read."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import treesim
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.formats import suffixes
from treesim.formats.digests import CONTACT_LABELS, LABELS

LIBRARIES = {".parquet": "pyarrow", ".nc": "xarray", ".mcap": "mcap"}
FLIPS = [pytest.param(40, id="some"), pytest.param(600, marks=pytest.mark.slow, id="many")]


@cache
def falling() -> Trajectory:
    """A crate that meets the ground, and numbers that careless readers change."""
    crate = treesim.free_body("crate", "box", (0.2, 0.2, 0.2), 1.0)
    world = treesim.World(crate, ground=treesim.Ground(friction=0.5))
    run = treesim.Simulation(world).run(0.1, q0=[0, 0, 0.11, 0, 0, 0, 1])
    v = run.v.copy()
    v[0] = -0.0, 5e-324, np.nan, -np.inf, np.nextafter(1, 2), -np.nan
    return replace(run, v=v)


def saved(folder: Path, suffix: str) -> Path:
    if suffix in LIBRARIES:
        pytest.importorskip(LIBRARIES[suffix])
    return falling().save(folder / f"run{suffix}")


def bits(x: np.ndarray) -> np.ndarray:
    """All bits of numbers, but NaN is one number."""
    return np.where(np.isnan(x), np.nan, x).view(np.int64)


def assert_same(read: Trajectory, written: Trajectory) -> None:
    for label in LABELS:
        np.testing.assert_array_equal(bits(getattr(read, label)), bits(getattr(written, label)), label)
    for name in CONTACT_LABELS.values():
        np.testing.assert_array_equal(bits(getattr(read.contact, name)), bits(getattr(written.contact, name)), name)
    for label in ("robot_name", "joint_names", "joint_types", "metadata", "mimic_joints"):
        assert getattr(read, label) == getattr(written, label), label
    assert read.provenance == written.provenance()  # type: ignore[operator, misc]
    for label in ("bodies", "surfaces", "pairs"):
        assert getattr(read.contact, label) == getattr(written.contact, label), label


@pytest.mark.parametrize("count", FLIPS)
@pytest.mark.parametrize("suffix", suffixes())
def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path, suffix: str, count: int) -> None:
    path = saved(tmp_path, suffix)
    assert_same(Trajectory.load(path), falling())
    good, rng, found = path.read_bytes(), np.random.default_rng(7), 0
    for place, bit in zip(rng.integers(len(good), size=count).tolist(), rng.integers(8, size=count), strict=True):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1 << int(bit)]) + good[place + 1 :])
        try:
            read = Trajectory.load(path)
        except ArgumentError as error:
            assert path.name in str(error)
            found += 1
        else:
            assert_same(read, falling())
    assert found > count // 10


@pytest.mark.parametrize("suffix", suffixes())
@pytest.mark.parametrize("label", [*LABELS, *CONTACT_LABELS])
def test_the_array_that_differs_is_named(tmp_path: Path, suffix: str, label: str, monkeypatch) -> None:
    """Whatever format: the numbers are changed between the digest and the file."""
    from treesim.formats import description

    true, run = description.with_digests, falling()
    monkeypatch.setattr(description, "with_digests", lambda plain, _: true(plain, run))
    part = run.contact if label in CONTACT_LABELS else run
    name = CONTACT_LABELS.get(label, label)
    changed = getattr(part, name).copy()
    changed[3] = np.nextafter(changed[3], np.inf)
    other = replace(part, **{name: changed})
    wrong = replace(run, contact=other) if label in CONTACT_LABELS else other
    if suffix in LIBRARIES:
        pytest.importorskip(LIBRARIES[suffix])
    path = wrong.save(tmp_path / f"run{suffix}")
    with pytest.raises(ArgumentError, match=rf"run{suffix} .*numbers of (contact\.)?{label} are not .*another copy"):
        Trajectory.load(path)


def test_a_changed_description_is_named(tmp_path: Path) -> None:
    path = saved(tmp_path, ".csv")
    path.write_bytes(path.read_bytes().replace(b'"crate"', b'"grate"', 1))
    with pytest.raises(ArgumentError, match=r"run\.csv .*its description is not the one .*another copy"):
        Trajectory.load(path)


def test_files_of_older_versions_have_no_digests_and_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path, ".csv")
    heading, _, rest = path.read_text().partition("\n")
    start, _, text = heading.partition("{")
    description = json.loads("{" + text)
    assert len(description.pop("digests")) == len((*LABELS, *CONTACT_LABELS)) + 1
    path.write_text(f"{start}{json.dumps(description)}\r\n{rest}", newline="")
    assert_same(Trajectory.load(path), falling())


def test_a_dataset_whose_numbers_were_changed_is_not_the_one() -> None:
    pytest.importorskip("xarray")
    dataset = falling().to_xarray()
    assert_same(Trajectory.from_xarray(dataset), falling())
    with pytest.raises(ArgumentError, match="numbers of tau are not those that were written"):
        Trajectory.from_xarray(dataset.assign(tau=dataset.tau + 1))


def test_metadata_that_no_file_holds_is_told(tmp_path: Path) -> None:
    for value in (object(), {1, 2}, 1j, np.zeros(2)):
        with pytest.raises(ArgumentError, match="metadata of the trajectory must be plain values"):
            falling().with_metadata(note=value).save(tmp_path / "run.npz")
    keyed = falling().with_metadata(numbers={2: "two", 10: "ten"})
    assert Trajectory.load(keyed.save(tmp_path / "run.npz")).metadata["numbers"] == {"2": "two", "10": "ten"}
