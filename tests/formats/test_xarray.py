"""Datasets hold every bit, and come back after Zarr and netCDF; names and units are those of the robot."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.formats.runs import assert_same, standing, with_odd_numbers
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.formats import xarray as module
from treesim.model import generators

xarray = pytest.importorskip("xarray")
RUNS = {"odd": with_odd_numbers, "standing": standing}


@pytest.mark.parametrize("name", RUNS)
def test_a_dataset_keeps_every_bit(name: str) -> None:
    run = RUNS[name]()
    dataset = run.to_xarray()
    assert np.shares_memory(dataset.q.values, run.q)
    assert_same(Trajectory.from_xarray(dataset), run)


@pytest.mark.parametrize("name", RUNS)
def test_a_store_of_zarr_keeps_every_bit(tmp_path: Path, name: str) -> None:
    pytest.importorskip("zarr")
    run = RUNS[name]()
    run.to_xarray().to_zarr(tmp_path / "run.zarr", consolidated=False)
    with xarray.open_zarr(tmp_path / "run.zarr", consolidated=False) as dataset:
        assert_same(Trajectory.from_xarray(dataset), run)


@pytest.mark.parametrize("name", RUNS)
def test_a_file_of_netcdf_keeps_every_bit(tmp_path: Path, name: str) -> None:
    run = RUNS[name]()
    assert_same(Trajectory.load(run.save(tmp_path / "run.nc")), run)


def test_contact_without_bodies_is_kept(tmp_path: Path) -> None:
    """Joint limits are told of like contact, and no body touches anything."""
    run = treesim.Simulation(treesim.load("ur5")).run(0.01)
    assert run.contact is not None and not run.contact.bodies
    assert_same(Trajectory.load(run.save(tmp_path / "run.nc")), run)


def test_what_has_no_numbers_is_no_netcdf(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"netCDF holds no trajectory without states, .*: take \.npz"):
        treesim.Simulation(treesim.Tree("still", [])).run(0.01).save(tmp_path / "run.nc")


def test_a_recipe_goes_along(tmp_path: Path) -> None:
    run = treesim.Simulation(generators.chain(2)).run(0.01)
    assert treesim.replay(run.save(tmp_path / "run.nc")).same
    assert treesim.replay(Trajectory.from_xarray(run.to_xarray())).same


def test_axes_have_names_and_numbers_have_units() -> None:
    run = with_odd_numbers()
    dataset = run.to_xarray()
    assert tuple(dataset.coordinate.values) == run.q_names and tuple(dataset.dof.values) == run.v_names
    np.testing.assert_array_equal(dataset.q.sel(coordinate="flat.theta"), run["flat"].q[:, 2])
    np.testing.assert_array_equal(dataset.tau.isel(dof=dataset.joint_of_dof == "ball"), run["ball"].tau)
    assert list(dataset.unit_of_q.values) == ["m"] * 3 + ["1"] * 4 + ["rad", "m"] + ["1"] * 4 + ["m", "m", "rad"]
    free = ["m/s"] * 3 + ["rad/s"] * 3
    assert list(dataset.unit_of_v.values) == [*free, "rad/s", "m/s", *["rad/s"] * 3, "m/s", "m/s", "rad/s"]
    assert list(dataset.unit_of_tau.values) == [{"m/s": "N", "rad/s": "N m"}[u] for u in dataset.unit_of_v.values]
    assert dataset.time.attrs["units"] == "s" and dataset.energy.attrs["units"] == "J"


def test_contact_is_found_by_name() -> None:
    run = standing()
    found = run.to_xarray().contact_wrench.sel(body="left_ankle_roll_link", part="fz")
    np.testing.assert_array_equal(found, run.contact_wrench("left_ankle_roll_link")[:, 2])
    assert (found[1:-1] > 0).all()


def test_rollouts_are_told_with_their_joints() -> None:
    robot = generators.chain(3)
    runs = treesim.rollout(robot, np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3), steps=6, every=2, work=True)
    dataset = runs.to_xarray()
    assert dataset.sizes == {"rollout": 4, "time": 3, "coordinate": 3, "dof": 3, "account": 2}
    np.testing.assert_array_equal(dataset.q.sel(coordinate=robot.joint_names[1]), runs.q[:, :, 1])
    np.testing.assert_array_equal(dataset.work.sel(account="controls"), runs.work[..., 0])
    np.testing.assert_array_equal(dataset.energy_at_start, runs.energy_at_start)
    assert dataset.attrs == {"robot_name": robot.name, "stopped": ""} and "residual" not in dataset
    assert np.shares_memory(dataset.v.values, runs.v) and dataset.time.values.tolist() == runs.t.tolist()


def test_rollouts_of_no_known_robot_have_no_names() -> None:
    zeros = np.zeros((2, 3, 4), np.float32)
    runs = treesim.Rollouts(np.arange(3.0), zeros, zeros, np.array([False, True]), np.full(2, 3), stopped="interrupted")
    dataset = runs.to_xarray()
    assert dataset.q.dtype == np.float32 and "coordinate" not in dataset.coords
    assert dataset.diverged.values.tolist() == [False, True] and dataset.attrs == {"stopped": "interrupted"}
    assert dataset.diverged_at.dims == dataset.ended_at.dims == dataset.ended.dims == ("rollout",)


def test_other_datasets_are_refused() -> None:
    good = with_odd_numbers().to_xarray()
    for bad in (xarray.Dataset(), good.drop_vars("tau"), good.isel(time=slice(3)), good.isel(dof=[0])):
        with pytest.raises(ArgumentError, match=r"not one of Trajectory\.to_xarray"):
            Trajectory.from_xarray(bad)


def test_what_netcdf_cannot_hold_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 8 * 8 * 16)
    with pytest.raises(ArgumentError, match=r"netCDF holds less than 2 GiB of q, not 1,024"):
        with_odd_numbers().save(tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


def test_missing_xarray_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(
        ArgumentError, match=r'datasets need xarray: .* python -m pip install "\.\[io\]"|datasets need xarray'
    ):
        with_odd_numbers().to_xarray()


def test_measures_of_rollouts_are_variables():
    robot = treesim.load("ur5")
    fast = treesim.measures.maximum(lambda t, q, v: v[1])
    angles = treesim.measures.histogram(lambda t, q, v: q[1], bins=4, range=(-1.0, 1.0))
    runs = treesim.rollout(robot, np.zeros((3, 6)), np.zeros(6), steps=5, measure={"q": fast, "angles": angles})
    data = runs.to_xarray()
    assert data["q"].shape == runs.q.shape
    assert np.array_equal(data["measure q"], runs.measures["q"])
    assert data["angles"].dims == ("rollout", "angles bin")


def test_coordinates_of_arrays_may_be_in_any_order() -> None:
    robot, q = generators.chain(3), np.array([[0.1, 0.2, 0.3]])
    back = list(robot.joint_names[::-1])
    given = xarray.DataArray(q[:, ::-1], dims=("time", "coordinate"), coords={"coordinate": back})
    assert robot.expand(given).tolist() == robot.expand(xarray.DataArray(q)).tolist() == q.tolist()
    with pytest.raises(treesim.UnknownNameError, match="'a'"):
        robot.expand(given.assign_coords(coordinate=["a", *back[1:]]))
