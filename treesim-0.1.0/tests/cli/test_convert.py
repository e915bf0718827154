"""`treesim convert`: files of every format, datasets of several runs, and mistakes."""

import json

import numpy as np
import pytest

from treesim.formats import load, suffixes

for library in ("xarray", "pyarrow", "mcap", "rosbags"):
    pytest.importorskip(library)


@pytest.fixture
def run(treesim, robot, tmp_path):
    out = tmp_path / "run.npz"
    assert treesim("simulate", robot, "--duration", 0.05, "--q0", "hip=0.5", "--out", out).exit_code == 0
    return out


@pytest.mark.parametrize("suffix", suffixes())
def test_a_run_goes_to_every_format_and_replays(treesim, run, tmp_path, suffix):
    target = tmp_path / f"other{suffix}"
    done = treesim("convert", run, target)
    assert done.exit_code == 0 and "other" in done.stdout and "51 states" in done.stdout
    assert np.array_equal(load(target).q, load(run).q)
    assert treesim("replay", target).exit_code == 0


def test_runs_are_written_in_each_format_at_once(treesim, robot, tmp_path):
    out = tmp_path / "run.mcap"
    assert treesim("simulate", robot, "--duration", 0.02, "--out", out).exit_code == 0
    assert len(load(out)) == 21 and b"<visual>" not in out.read_bytes()


def test_a_folder_becomes_a_dataset(treesim, run, tmp_path):
    done = treesim("convert", run, run, tmp_path / "swings", "--fps", 100, "--task", "swing", "--json")
    assert json.loads(done.stdout)["states"] == 102
    info = json.loads((tmp_path / "swings/meta/info.json").read_text())
    assert (info["fps"], info["total_episodes"], info["total_frames"]) == (100, 2, 10)


def test_a_robot_that_is_gone_is_still_in_its_run(treesim, robot, run, tmp_path):
    import os

    os.remove(robot)
    done = treesim("convert", run, tmp_path / "run.mcap")
    assert done.exit_code == 0 and "does not contain the robot's visuals" in " ".join(done.stderr.split())
    assert len(load(tmp_path / "run.mcap")) == 51


def test_mistakes_are_told(treesim, run, tmp_path):
    for given, message in (
        ((run,), "a trajectory to read, and a file or folder to write"),
        ((run, run, tmp_path / "two.csv"), "holds one trajectory, not 2"),
        ((run, tmp_path / "run.txt"), "but one of .npz, .csv, .parquet, .nc, .mcap is needed"),
        ((tmp_path / "none.npz", tmp_path / "run.csv"), "cannot read"),
    ):
        done = treesim("convert", *given)
        assert done.exit_code == 2 and message in " ".join(done.stderr.split())
