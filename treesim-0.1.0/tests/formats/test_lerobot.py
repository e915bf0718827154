"""Datasets of LeRobot: the layout of version 3.0, the numbers of the trajectories, and lerobot's own reader."""

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
from treesim.formats import write_lerobot
from treesim.model import generators

pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ROBOT = generators.chain(2)


@cache
def swings() -> tuple[Trajectory, ...]:
    """Two motions of 10 and of 5 frames at 50 per second, and one state more each."""
    simulation = treesim.Simulation(ROBOT, controller=treesim.PD(ROBOT, ROBOT.neutral()))
    return tuple(simulation.run(duration, q0=np.array([0.3, -0.2])) for duration in (0.2, 0.1))


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_lerobot(swings(), tmp_path / "swings", fps=50, task="hold still")


def test_the_layout_is_that_of_version_3(dataset: Path) -> None:
    assert sorted(str(path.relative_to(dataset)) for path in dataset.rglob("*") if path.is_file()) == [
        "data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet", "meta/info.json",
        "meta/stats.json", "meta/tasks.parquet",
    ]  # fmt: skip
    info = json.loads((dataset / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["splits"]) == ("v3.0", 50, {"train": "0:2"})
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (2, 15, 1)
    state, action = info["features"]["observation.state"], info["features"]["action"]
    assert state["shape"] == [4] and action["shape"] == [2] and state["dtype"] == action["dtype"] == "float32"
    joints = ROBOT.joint_names
    assert state["names"] == [f"{label}.{joint}" for label in "qv" for joint in joints]
    assert action["names"] == [f"tau.{joint}" for joint in joints]
    place = info["data_path"].format(chunk_index=0, file_index=0)
    assert (dataset / place).is_file()


def test_frames_are_states_and_the_forces_of_their_steps(dataset: Path) -> None:
    table = parquet.read_table(dataset / "data/chunk-000/file-000.parquet")
    rows = table.to_pydict()
    state, action = (np.array(rows[name], np.float32) for name in ("observation.state", "action"))
    for k, run in enumerate(swings()):
        mine = np.array(rows["episode_index"]) == k
        wanted = np.concatenate((run.q, run.v), axis=1)[:-1:20]
        np.testing.assert_array_equal(state[mine], wanted.astype(np.float32))
        np.testing.assert_array_equal(action[mine], run.tau[:-1:20].astype(np.float32))
        np.testing.assert_allclose(np.array(rows["timestamp"])[mine], run.t[:-1:20], rtol=1e-7)
    assert rows["index"] == list(range(15)) and rows["frame_index"] == [*range(10), *range(5)]


def test_episodes_are_found_in_the_data(dataset: Path) -> None:
    rows = parquet.read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    ends = [(row["dataset_from_index"], row["dataset_to_index"], row["length"], row["tasks"]) for row in rows]
    assert ends == [(0, 10, 10, ["hold still"]), (10, 15, 5, ["hold still"])]
    run = swings()[1]
    np.testing.assert_allclose(rows[1]["stats/action/max"], run.tau[:-1:20].max(axis=0), rtol=1e-6)


def test_statistics_are_those_of_all_frames(dataset: Path) -> None:
    found = json.loads((dataset / "meta/stats.json").read_text())["action"]
    tau = np.concatenate([run.tau[:-1:20] for run in swings()]).astype(np.float32).astype(float)
    assert found["count"] == [15]
    np.testing.assert_allclose(found["mean"], tau.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["std"], tau.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found["q50"], np.median(tau, axis=0), rtol=1e-12)


def test_pandas_finds_the_task(dataset: Path) -> None:
    pandas = pytest.importorskip("pandas")
    assert pandas.read_parquet(dataset / "meta/tasks.parquet").loc["hold still", "task_index"] == 0


@pytest.mark.slow
def test_lerobot_reads_it(dataset: Path) -> None:
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset")
    read = lerobot.LeRobotDataset("local/swings", root=dataset, delta_timestamps={"action": [0.0, 0.02]})
    assert (read.num_episodes, read.num_frames, read.fps) == (2, 15, 50)
    frame, run = read[11], swings()[1]
    wanted = np.concatenate((run.q[20], run.v[20])).astype(np.float32)
    np.testing.assert_array_equal(frame["observation.state"].numpy(), wanted)
    np.testing.assert_array_equal(frame["action"].numpy(), run.tau[20:41:20].astype(np.float32))
    assert frame["task"] == "hold still"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trajectories": ()}, "one trajectory at least"),
        ({"fps": 300}, r"trajectory 0 has steps of 0\.001 s, of which no whole number is 1/300 s"),
        ({"fps": 2000}, "no whole number is 1/2000 s"),
        ({"fps": 0}, "fps must be"),
        ({"folder": "nowhere/swings"}, "cannot write .*: there is no folder .*nowhere"),
        ({"folder": "."}, "cannot write .*: File exists"),
        ({"folder": "a\0b"}, "hold no NUL"),
        ({"folder": "x" * 300}, "cannot write .*: File name too long"),
        ({"task": None}, "task must be a text, got None"),
        ({"task": " "}, "task must describe the episodes in words"),
        ({"trajectories": None}, "trajectories must be a sequence of Trajectory objects, got None"),
        ({"trajectories": [3]}, r"trajectories\[0\] must be a Trajectory, got 3"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, changes: dict, message: str) -> None:
    given = {"trajectories": swings(), "folder": "swings", **changes}
    folder = tmp_path / given.pop("folder")
    with pytest.raises(ArgumentError, match=message):
        write_lerobot(given.pop("trajectories"), folder, **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", [None, 5, b"swings"])
def test_what_is_no_name_of_a_folder_is_told(folder: object) -> None:
    with pytest.raises(ArgumentError, match="folder must be a text or a path, got"):
        write_lerobot(swings(), folder)  # type: ignore[arg-type]


@pytest.mark.parametrize("label", ["q", "v", "tau"])
@pytest.mark.parametrize("number", [np.nan, -np.inf, 1e39])
def test_numbers_that_are_none_in_single_precision_are_named(tmp_path: Path, label: str, number: float) -> None:
    x = getattr(swings()[1], label).copy()
    x[40, 1] = number
    with pytest.raises(ArgumentError, match=f"trajectory 1: {label} of state 40 is not finite in single precision"):
        write_lerobot([swings()[0], replace(swings()[1], **{label: x})], tmp_path / "swings")
    assert not list(tmp_path.iterdir())


def test_robots_without_joints_make_no_frames(tmp_path: Path) -> None:
    still = treesim.Simulation(treesim.Tree("still", [])).run(0.1)
    with pytest.raises(ArgumentError, match="'still', which has no joints"):
        write_lerobot([still], tmp_path / "swings")


def test_names_of_joints_are_no_names_of_files(tmp_path: Path) -> None:
    t, q = np.arange(5) * 0.02, np.zeros((5, 4))
    names = ("a/b", "..", "x\0y", "ü" * 1000)
    run = Trajectory("../robot\0", t, q, q, q, q[:, 0], names, ("revolute",) * 4)
    path = write_lerobot([run], tmp_path / "swings", task="/../\0")
    assert list(tmp_path.iterdir()) == [path] and len(list(path.rglob("*"))) == 10
    info = json.loads((path / "meta/info.json").read_text())
    assert info["features"]["action"]["names"] == [f"tau.{name}" for name in names]


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_appears_meanwhile_stays(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, true = tmp_path / "swings", parquet.write_table

    def appearing(table: object, where: Path) -> None:
        true(table, where)
        if kind == "folder":
            target.mkdir(exist_ok=True)
            (target / "mine").touch()
        elif kind == "file":
            target.touch()
        elif not target.is_symlink():
            target.symlink_to(tmp_path)

    monkeypatch.setattr(parquet, "write_table", appearing)
    with pytest.raises(ArgumentError, match=r"cannot write .*swings: "):
        write_lerobot(swings(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["swings"]
    assert kind != "folder" or (target / "mine").exists()


def test_robots_do_not_mix(tmp_path: Path) -> None:
    other = treesim.Simulation(generators.chain(3)).run(0.1)
    with pytest.raises(ArgumentError, match=r"trajectory 1 is of .* but the first is of"):
        write_lerobot([swings()[0], other], tmp_path / "mixed")


def test_what_was_not_finished_is_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(ArgumentError, match=r"cannot write .*swings: No space left"):
        write_lerobot(swings(), tmp_path / "swings")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        assert len(list(tmp_path.iterdir())) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(parquet, "write_table", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_lerobot(swings(), tmp_path / "swings")
    assert not list(tmp_path.iterdir())
