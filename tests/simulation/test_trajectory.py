"""Trajectories survive the disk bit for bit, are written whole or not at all, and are drawn legibly."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import treesim
from treesim.errors import ArgumentError, UnknownNameError
from treesim.formats import csv as module
from treesim.formats import load
from treesim.simulation.trajectory import Trajectory
from treesim.system.files import write_whole

JOINTS = ("root_joint", "hip", "slide", "ball", "flat")
TYPES = ("floating", "revolute", "prismatic", "spherical", "planar")
NQ, NV = 7 + 1 + 1 + 4 + 3, 6 + 1 + 1 + 3 + 3


def example(count: int = 50, **metadata: object) -> Trajectory:
    rng = np.random.default_rng(1)
    t = np.linspace(0, 1, count)
    q = np.cumsum(rng.standard_normal((count, NQ)), axis=0)
    for where in (slice(3, 7), slice(9, 13)):
        q[:, where] /= np.linalg.norm(q[:, where], axis=1, keepdims=True)
    v, tau = rng.standard_normal((2, count, NV))
    return Trajectory("toy", t, q, v, tau, rng.standard_normal(count), JOINTS, TYPES, metadata)


def assert_same(a: Trajectory, b: Trajectory) -> None:
    for name in ("t", "q", "v", "tau", "energy"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert (a.robot_name, a.joint_names, a.joint_types) == (b.robot_name, b.joint_names, b.joint_types)
    assert dict(a.metadata) == dict(b.metadata)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".CSV"])
def test_disk_keeps_every_bit(tmp_path: Path, suffix: str) -> None:
    before = example(dt=1e-3, backend="aba", stopped=None, seed=3)
    assert_same(load(before.save(tmp_path / f"run{suffix}")), before)


@given(arrays.arrays(float, (3, 1), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_csv_keeps_any_number(tmp_path_factory: pytest.TempPathFactory, q: np.ndarray) -> None:
    before = Trajectory("one", np.arange(3.0), q, q, q, q[:, 0], ("a",), ("revolute",))
    assert_same(load(before.save(tmp_path_factory.mktemp("csv") / "run.csv")), before)


def test_csv_names_every_column(tmp_path: Path) -> None:
    with example().save(tmp_path / "run.csv").open(newline="") as stream:
        assert stream.readline().startswith("# treesim trajectory: ")
        header = next(csv.reader(stream))
    assert header[:3] == ["t", "q.root_joint.x", "q.root_joint.y"]
    assert header[1 + NQ : 4 + NQ] == ["v.root_joint.vx", "v.root_joint.vy", "v.root_joint.vz"]
    assert {"q.hip", "v.slide", "tau.ball.wz", "q.flat.theta"} <= set(header)
    assert len(header) == len(set(header)) == 4 + NQ + 2 * NV


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_followers_are_given_by_name_and_column(tmp_path: Path, suffix: str) -> None:
    before = replace(example(), mimic_joints={"left": ("hip", -2.0, 0.5), "slide2": ("slide", 1.0, 0.0)})
    hip, left = before["hip"], before["left"]
    np.testing.assert_array_equal(left.q, 0.5 - 2 * hip.q)
    np.testing.assert_array_equal(left.v, -2 * hip.v)
    assert not left.tau.any() and left.tau.shape == hip.tau.shape
    with pytest.raises(UnknownNameError, match="slide2"):
        before["slid2"]
    path = before.save(tmp_path / f"run{suffix}")
    assert_same(load(path), before)
    assert load(path).mimic_joints == before.mimic_joints
    if suffix == ".csv":
        header = path.read_text().splitlines()[1].split(",")
        assert header.index("v.root_joint.vx") - header.index("q.left") == 2 and "tau.left" not in header


def test_the_class_loads_what_it_saved(tmp_path: Path) -> None:
    before = example(dt=1e-3)
    assert_same(Trajectory.load(before.save(tmp_path / "run.npz")), before)


def test_a_joint_s_part_is_found_by_name() -> None:
    run = example()
    assert [len(part) for part in (run.q_names, run.v_names)] == [NQ, NV]
    for joint in JOINTS:
        found = run[joint]
        for part, names, all_of_it in ((found.q, run.q_names, run.q), (found.v, run.v_names, run.v)):
            mine = [k for k, name in enumerate(names) if name.partition(".")[0] == joint]
            np.testing.assert_array_equal(part, all_of_it[:, mine] if len(mine) > 1 else all_of_it[:, mine[0]])
            assert np.shares_memory(part, all_of_it)
        assert found.tau.shape == found.v.shape
    with pytest.raises(UnknownNameError, match="unknown joint 'hib' of 'toy': did you mean 'hip'"):
        run["hib"]
    with pytest.raises(UnknownNameError, match="unknown joint 3 of 'toy'"):
        run[3]
    with pytest.raises(TypeError, match="not iterable"):
        iter(run)


def test_a_data_frame_has_the_columns_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    class Frame:
        def __init__(self, table: np.ndarray, index: object, names: list[str]) -> None:
            self.table, self.index, self.names, self.attrs = table, index, names, {}

    stand_in = SimpleNamespace(DataFrame=Frame, Index=lambda values, name: (name, values))
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    run = example(dt=1e-3)
    frame = run.to_dataframe()
    assert frame.index[0] == "t" and frame.index[1] is run.t
    assert frame.names[0] == "q.root_joint.x" and frame.names[-3] == "energy" and len(frame.names) == 3 + NQ + 2 * NV
    np.testing.assert_array_equal(frame.table[:, frame.names.index("tau.slide")], run["slide"].tau)
    assert frame.attrs == {"robot_name": "toy", "dt": 1e-3}


def test_a_data_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    run = example()
    frame = run.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and frame.index.name == "t"
    np.testing.assert_array_equal(frame["q.hip"], run["hip"].q)


def test_missing_pandas_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ArgumentError, match="python -m pip install pandas"):
        example().to_dataframe()


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = example(10).save(tmp_path / "run.csv")
    old = path.read_bytes()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.csv, "writer", full_disk)
    with pytest.raises(
        ArgumentError, match=r"run\.csv: No space left on device: it needs more than [\d,]+ bytes, and [\d,]+ are free"
    ):
        example(20).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.txt", r"ends in '\.txt', but one of \.npz, \.csv"),
        ("run", "has no suffix"),
        ("nowhere/run.npz", "no folder"),
    ],
)
def test_unwritable_place_is_named(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        example().save(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"t,q\n0,1\n", "first line"),
        ("a.csv", b"# treesim trajectory: {}\nt\n", "robot_name"),
        ("a.npz", b"no zip at all", "not a trajectory"),
        ("a.npz", None, "No such file"),
    ],
)
def test_foreign_file_is_refused(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArgumentError, match=message):
        load(path)


def test_shapes_must_fit() -> None:
    good = example(5)
    with pytest.raises(ArgumentError, match=r"v has shape \(5, 16\), but \(5, 14\)"):
        Trajectory("toy", good.t, good.q, good.q, good.tau, good.energy, JOINTS, TYPES)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot_writes_a_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"run{suffix}"
    example(stopped="interrupted").plot(path=path)
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_plot_shows_what_moves_most(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    t = np.linspace(0, 1, 20)
    q = np.outer(t, np.arange(12.0))
    names = tuple(f"joint_{k}" for k in range(12))
    path = tmp_path / "run.svg"
    Trajectory("many", t, q, q, q, t, names, ("revolute",) * 12).plot(path=path)
    drawn = path.read_text()
    assert "joint_11" in drawn and "joint_4" in drawn
    assert "joint_3" not in drawn
    assert "8 joints of 12" in drawn


def test_plot_without_matplotlib_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ArgumentError, match=r'python -m pip install "\.\[plot\]"'):
        example().plot(path=tmp_path / "run.png")
    assert not list(tmp_path.iterdir())


def some_places(content: bytes, step: int) -> list[int]:
    """Every place near both ends, and every so many between; the step divides no size of what is stored."""
    return sorted({*range(64), *range(0, len(content), step), *range(len(content) - 64, len(content))})


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_file_that_is_cut_anywhere_is_refused(tmp_path: Path, suffix: str) -> None:
    path = example(3, note="a").save(tmp_path / f"run{suffix}")
    whole = path.read_bytes()
    for k in some_places(whole, 7):
        path.write_bytes(whole[:k])
        with pytest.raises(ArgumentError, match=f"run{suffix}"):
            load(path)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_file_with_any_byte_changed_gives_an_error_of_ours_or_a_trajectory(tmp_path: Path, suffix: str) -> None:
    path = example(2).save(tmp_path / f"run{suffix}")
    whole = path.read_bytes()
    for k in some_places(whole, 11):
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 0x55]) + whole[k + 1 :])
        with suppress(ArgumentError):
            assert isinstance(load(path), Trajectory)


def test_a_file_of_an_older_version_is_read(tmp_path: Path) -> None:
    before = example(4)
    path = before.save(tmp_path / "run.csv")
    older = re.sub(r', "states": 4|, "digests": {[^}]*}', "", path.read_text())
    path.write_text(older, newline="")
    assert '"states"' not in older and '"digests"' not in older
    assert_same(load(path), before)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no limit on files")
def test_a_full_disk_is_told_and_destroys_nothing(tmp_path: Path, suffix: str) -> None:
    path = example(5).save(tmp_path / f"run{suffix}")
    old = path.read_bytes()
    program = f"""
import resource
from tests.simulation.test_trajectory import example
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
try:
    example(500).save({str(path)!r})
except Exception as error:
    print(type(error).__name__, error)
"""
    details = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout
    needed = "192,000" if suffix == ".npz" else "more than [0-9,]+"
    pattern = rf"ArgumentError cannot write .*run{suffix}: File too large: it needs {needed} bytes, and this process"
    assert re.match(pattern, details), details
    assert path.read_bytes() == old and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_device_is_written_and_not_replaced() -> None:
    with pytest.raises(ArgumentError, match="cannot write /dev/full: No space left"):
        write_whole(Path("/dev/full"), lambda stream: stream.write(b"text"))
    write_whole(Path("/dev/null"), lambda stream: stream.write(b"text"))
    assert Path("/dev/null").is_char_device() and Path("/dev/full").is_char_device()


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = example(3).save(tmp_path / "real" / "run.npz")
    link = tmp_path / "run.npz"
    link.symlink_to(target)
    example(4).save(link)
    assert link.is_symlink() and len(load(target)) == 4


@pytest.mark.parametrize("name", ["a\0b.npz", "x" * 300 + ".npz"])
def test_names_of_no_file_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match="cannot write"):
        example(3).save(tmp_path / name)


def test_a_name_as_long_as_can_be_is_written(tmp_path: Path) -> None:
    assert len(load(example(3).save(tmp_path / ("x" * 251 + ".npz")))) == 3


@pytest.mark.parametrize("value", ["fast", 1j, None, 3.0, [[1.0], [2.0, 3.0]]])
def test_what_are_no_arrays_is_named(value: object) -> None:
    good = example(5)
    with pytest.raises(ArgumentError, match="trajectory: t "):
        Trajectory("toy", value, good.q, good.v, good.tau, good.energy, JOINTS, TYPES)  # type: ignore[arg-type]


@pytest.mark.parametrize("t", [[0, 1, np.nan], [0, np.inf, 1], [0, 2, 1], [0, 1, 1], [0, -1, 2]])
def test_times_are_finite_and_rise(t: list[float]) -> None:
    q = np.zeros((3, 1))
    with pytest.raises(ArgumentError, match=r"t must be finite and rise .*, but t\[[12]\] is"):
        Trajectory("one", np.array(t, float), q, q, q, q[:, 0], ("a",), ("revolute",))


@pytest.mark.parametrize(
    "change",
    [
        {"joint_names": ("a", "a")}, {"joint_types": ("revolute", "bent")}, {"joint_types": ("revolute",)},
        {"mimic_joints": {"a": ("b", 1.0, 0.0)}}, {"mimic_joints": {"c": ("d", 1.0, 0.0)}},
        {"mimic_joints": {"c": ("a", 1.0)}}, {"mimic_joints": {"c": ("a", np.nan, 0.0)}},
        {"mimic_joints": {"c": ["a", "1", 0.0]}}, {"mimic_joints": {"c": None}},
    ],
)  # fmt: skip
def test_joints_that_do_not_fit_are_named(change: dict) -> None:
    q = np.zeros((3, 2))
    good = Trajectory("two", np.arange(3.0), q, q, q, q[:, 0], ("a", "b"), ("revolute", "prismatic"))
    with pytest.raises(ArgumentError, match=r"joint_names|joint_types|mimic_joints\['[ac]'\]"):
        replace(good, **change)


def test_a_trajectory_is_of_a_robot() -> None:
    good = example(5)
    with pytest.raises(ArgumentError, match="robot must be a Tree"):
        Trajectory.of("toy", good.t, good.q, good.v, good.tau, good.energy)  # type: ignore[arg-type]


SUFFIXES = [".npz", ".csv", ".parquet", ".nc"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_follower_called_as_a_coordinate_is_read_back(tmp_path: Path, suffix: str) -> None:
    run = replace(example(3), mimic_joints={"root_joint.x": ("hip", 1.0, 0.0)})
    back = load(run.save(tmp_path / f"run{suffix}"))
    assert back.mimic_joints == run.mimic_joints and np.array_equal(back.q, run.q) and np.array_equal(back.v, run.v)


ODD_NAMES = [
    "p",
    "p.x",
    "p.y (2)",
    "a/b",
    "q[0]",
    'with "quotes", and = *',
    "läuft über\u2028",
    ".",
    "two\nlines",
    "p.y",
]


def oddly_named() -> treesim.Tree:
    """A planar joint p, and hinges whose names are those of its coordinates, or hold what formats give a meaning."""
    body = treesim.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3))
    bodies = [treesim.Body("body 0", 0, treesim.Joint("p", "planar"), body)]
    bodies += [
        treesim.Body(f"body {i}", i, treesim.Joint(name, "revolute"), body)
        for i, name in enumerate(ODD_NAMES[1:], start=1)
    ]
    return treesim.Tree("odd", bodies)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_whatever_joints_are_called_a_file_has_the_same_bits(tmp_path: Path, suffix: str) -> None:
    robot = oddly_named()
    run = treesim.Simulation(robot).run(0.01, v0=np.arange(1.0, 1 + robot.nv))
    back = load(run.save(tmp_path / f"run{suffix}"))
    assert back.joint_names == run.joint_names == tuple(ODD_NAMES)
    for label in ("q", "v", "tau", "energy", "work"):
        assert getattr(back, label).tobytes() == getattr(run, label).tobytes()


def test_columns_of_data_frames_have_names_of_their_own() -> None:
    robot = oddly_named()
    columns = list(treesim.Simulation(robot).run(0.002).to_dataframe().columns)
    assert len(set(columns)) == len(columns) and {"q.p.x", "q.p.x (2)", "q.p.y (2)", "q.p.y (3)"} <= set(columns)
    table = treesim.rollout(robot, robot.neutral(), np.zeros(robot.nv), steps=2).to_arrow().column_names
    assert len(set(table)) == len(table)


@pytest.mark.parametrize("name", [None, 5, b"run.npz"])
def test_what_is_no_name_of_a_file_is_told(name: object) -> None:
    plot = [] if name is None else [lambda path: example(3).plot(path=path)]
    for action in (example(3).save, load, *plot):
        with pytest.raises(ArgumentError, match="must be a text or a path, got"):
            action(name)  # type: ignore[operator]
