"""Names of sensors and joints in any script, with control characters, or alike: formats return what was written."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treesim
from tests.formats.runs import assert_same
from treesim import Trajectory
from treesim.formats.mcap import topics
from treesim.simulation.readings import recorded

NEEDS = {".parquet": "pyarrow", ".nc": "xarray"}
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
ODD = ("左脚", "右脚", "a/b", "a\\b", "a\rb", "a\r\nb", "a\nb", 'a"b', "a,b", " ", ".", "e\u0301", "\u2028", "x" * 300)


@cache
def touching(height: float = 0.1) -> Trajectory:
    """A ball on the ground, or above it, with contact points."""
    robot = treesim.free_body("ball", "sphere", (0.1,), 1.0)
    simulation = treesim.Simulation(treesim.World(robot, ground=treesim.Ground()), contact_points=True)
    return simulation.run(0.01, q0=[0, 0, height, 0, 0, 0, 1])


def named(labels: list[str] | tuple[str, ...]) -> Trajectory:
    """A run whose joint and sensors have these names, and whose sensors' columns have names that join to equal ones."""
    run = touching(1.0)
    columns = {label: ("x", "y.x") for label in labels} | {"s": ("t.x",), "s.t": ("x",)}
    readings = {
        label: np.full((len(run), len(x)), k / 8) + run.t[:, None] for k, (label, x) in enumerate(columns.items())
    }
    assert run.contact is not None
    contact = replace(run.contact, points=None, first_point=None)
    sensors = recorded(columns, readings)
    return replace(run, joint_names=(labels[0],), sensors=sensors, contact=contact, provenance=None)


def check(run: Trajectory, path: Path) -> None:
    pytest.importorskip(NEEDS.get(path.suffix, "numpy"))
    again = Trajectory.load(run.save(path))
    assert_same(again, run)
    assert list(again.sensors) == list(run.sensors)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".nc"])
def test_names_that_are_odd_come_back(suffix: str, tmp_path: Path) -> None:
    check(named(ODD), tmp_path / f"run{suffix}")


@pytest.mark.parametrize("suffix", [".csv", ".nc"])
@settings(max_examples=5)
@given(labels=st.lists(names, min_size=6, max_size=6, unique=True))
def test_any_names_come_back(suffix: str, labels: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    check(named(labels), tmp_path_factory.mktemp("names") / f"run{suffix}")


def test_zarr_returns_odd_names_and_contact_points() -> None:
    pytest.importorskip("zarr")
    xarray, stores = pytest.importorskip("xarray"), pytest.importorskip("zarr.storage")
    run = named(["左脚", "a/b", "x" * 300])
    for one in (touching(), replace(run, contact=touching().contact)):
        assert one.contact is not None and one.contact.points is not None and len(one.contact.points)
        store = stores.MemoryStore()
        with warnings.catch_warnings(action="ignore"):  # of zarr, on strings
            one.to_xarray().to_zarr(store)
        assert_same(Trajectory.from_xarray(xarray.open_zarr(store)), one)


def test_variables_have_the_names_of_sensors_where_files_can() -> None:
    pytest.importorskip("xarray")
    dataset = named(["imu_rücken", "a/b"]).to_xarray()
    assert "sensor.imu_rücken" in dataset and "sensor_1" in dataset
    assert dataset["sensor_1"].attrs["long_name"] == "readings of a/b"


@given(labels=st.lists(names, max_size=8, unique=True))
def test_topics_differ_and_have_the_form_of_ros(labels: list[str]) -> None:
    found = topics("/sensor/", labels)
    assert len(set(found)) == len(labels)
    for topic in found:
        name = topic.removeprefix("/sensor/")
        assert name.replace("_", "a").isalnum() and name.isascii() and not name[0].isdigit()


def test_names_with_nul_are_refused_where_they_would_be_cut(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    check(named(["a\0"]), tmp_path / "run.npz")
    with pytest.raises(treesim.ArgumentError, match="hold no names with NUL, as 'a"):
        named(["a\0"]).save(tmp_path / "run.nc")
    assert not (tmp_path / "run.nc").exists()


def test_plain_names_are_topics_and_equal_ones_are_numbered() -> None:
    assert topics("/contact/", ["foot_1", "左脚", "右脚", "1st"]) == [
        "/contact/foot_1", "/contact/__", "/contact/___2", "/contact/_1st",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_of_runs_that_touch_nothing_do_not_warn(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(suffix, "numpy"))
    with warnings.catch_warnings(action="error"):
        touching(1.0).save(tmp_path / f"run{suffix}")


def test_a_table_that_is_cut_within_its_last_line_is_refused(tmp_path: Path) -> None:
    path = named(["a\rb"]).save(tmp_path / "run.csv")
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(treesim.ArgumentError, match="cut short"):
        Trajectory.load(path)
