"""Tables keep every bit, and say the same to other readers; their columns have units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import treesim
from tests.formats.runs import assert_same, standing, with_odd_numbers
from treesim import Trajectory
from treesim.errors import ArgumentError
from treesim.model import generators

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
RUNS = {"odd": with_odd_numbers, "standing": standing}


@pytest.mark.parametrize("name", RUNS)
def test_a_file_keeps_every_bit(tmp_path: Path, name: str) -> None:
    run = RUNS[name]()
    assert_same(Trajectory.load(run.save(tmp_path / "run.parquet")), run)


def test_a_recipe_goes_along(tmp_path: Path) -> None:
    run = treesim.Simulation(generators.chain(2)).run(0.01)
    assert treesim.replay(run.save(tmp_path / "run.parquet")).same


def test_columns_have_units() -> None:
    table = with_odd_numbers().to_arrow()
    units = {field.name: field.metadata[b"unit"].decode() for field in table.schema}
    wanted = {
        "t": "s", "q.root_joint.x": "m", "q.root_joint.qw": "1", "q.left": "rad", "v.slide": "m/s", "v.left": "rad/s",
        "tau.slide": "N", "tau.ball.wz": "N m", "energy": "J", "work.controls": "J",
    }  # fmt: skip
    assert {name: units[name] for name in wanted} == wanted
    contact = standing().to_arrow().schema
    foot = "contact.left_ankle_roll_link"
    for name, unit in ((f"{foot}.fz", "N"), (f"{foot}.mx", "N m"), ("contact:penetration", "m")):
        assert contact.field(name).metadata[b"unit"].decode() == unit


def test_pandas_reads_the_same_numbers(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    run = standing()
    frame = pandas.read_parquet(run.save(tmp_path / "run.parquet")).set_index("t")
    pandas.testing.assert_frame_equal(frame, run.to_dataframe(), check_exact=True)


def test_polars_reads_the_same_numbers(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    run = standing()
    frame = polars.read_parquet(run.save(tmp_path / "run.parquet"))
    np.testing.assert_array_equal(frame["v.left_knee_joint"].to_numpy(), run["left_knee_joint"].v)


def test_duckdb_reads_the_same_numbers(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    run = standing()
    path = run.save(tmp_path / "run.parquet")
    query = duckdb.sql(f"""select max("tau.left_knee_joint"), sum(energy) from read_parquet('{path}')""")
    ((largest, total),) = query.fetchall()
    assert largest == run["left_knee_joint"].tau.max()
    assert total == pytest.approx(run.energy.sum(), rel=1e-14)


def test_rollouts_are_one_long_table() -> None:
    robot = generators.chain(3)
    runs = treesim.rollout(robot, np.linspace(-1, 1, 12).reshape(4, 3), np.zeros(3), steps=6, every=2, work=True)
    table = runs.to_arrow()
    assert table.num_rows == 12 and table["rollout"].to_pylist() == [k for k in range(4) for _ in range(3)]
    np.testing.assert_array_equal(table["t"].to_numpy().reshape(4, 3)[2], runs.t)
    np.testing.assert_array_equal(table[f"q.{robot.joint_names[1]}"].to_numpy().reshape(4, 3), runs.q[:, :, 1])
    np.testing.assert_array_equal(table["work.controls"].to_numpy().reshape(4, 3), runs.work[..., 0])
    details = json.loads(table.schema.metadata[b"treesim"])
    assert details["diverged"] == [False] * 4 and details["diverged_at"] == [-1] * 4
    assert table.schema.field("v." + robot.joint_names[0]).metadata == {b"unit": b"rad/s"}


def test_rollouts_of_no_known_robot_have_numbers_for_names() -> None:
    zeros = np.zeros((2, 3, 4), np.float32)
    runs = treesim.Rollouts(np.arange(3.0), zeros, zeros[..., :2], np.array([False, True]), np.full(2, 3))
    table = runs.to_arrow()
    assert table.column_names == ["rollout", "t", "q.0", "q.1", "q.2", "q.3", "v.0", "v.1"]
    assert table.schema.field("q.0").type == arrow.float32()


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.parquet"
    parquet.write_table(arrow.table({"t": [0.0]}), path)
    with pytest.raises(ArgumentError, match=r"run\.parquet is not a trajectory that treesim wrote"):
        Trajectory.load(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ArgumentError, match=r"run\.parquet is not a trajectory that treesim wrote"):
        Trajectory.load(path)


def test_columns_of_tables_may_be_in_any_order() -> None:
    pandas, polars, arrow = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    robot, q = generators.chain(3), np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    back = list(robot.joint_names[::-1])
    frame = pandas.DataFrame(q[:, ::-1], columns=back)
    labelled = frame, polars.DataFrame(dict(frame)), arrow.table(dict(frame))
    for given in (*labelled, pandas.DataFrame(q), polars.DataFrame(q)):
        assert robot.expand(given).tolist() == q.tolist()
    assert robot.expand(frame.iloc[1]).tolist() == q[1].tolist()
    with pytest.raises(treesim.UnknownNameError, match="'a'"):
        robot.expand(frame.rename(columns={back[0]: "a"}))
