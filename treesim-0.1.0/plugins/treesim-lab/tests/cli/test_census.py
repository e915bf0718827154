"""Output of `treesim compare --all`, and rejected arguments."""

from __future__ import annotations

from pathlib import Path

from treesim_lab.audits.engine import HighPrecision
from treesim_lab.cli.census import _grouped, _scenes
from typer.testing import CliRunner

import treesim
from treesim.cli.main import app
from treesim.compare import Census, CensusRow, compare
from treesim.compare.census import AGREES, REFUSED


def test_rows_of_one_reason_share_a_line():
    rows = [CensusRow(robot, base, engine, REFUSED, why="too large") for robot, base, engine in (
        ("ox", "fixed", "a"), ("ox", "fixed", "b"), ("ox", "floating", "a"), ("ox", "floating", "b"),
        ("elk", "fixed", "a"), ("elk", "fixed", "b"), ("cow", "fixed", "a"),
    )]  # fmt: skip
    assert list(_grouped(rows)) == ["a, b: too large: ox, elk (fixed)", "a: too large: cow (fixed)"]
    assert Census(tuple(rows), {}).robots == ("ox", "elk", "cow")


def test_the_command_refuses_other_bases():
    result = CliRunner().invoke(app, ["census", "ur5", "--base", "flying"])
    assert result.exit_code == 2 and "fixed, floating, both or auto" in result.output


def test_scenes_have_a_table_of_their_own():
    rows = [
        CensusRow(robot, "fixed", engine, AGREES, {"bias": 1e-16, "limit_position": error}, "", {},
                  {"bias": 1e-12, "limit_position": 1e-3})
        for robot, engine, error in (("ox", "a", 2e-4), ("elk", "a", 5e-4), ("ox", "b", 0.0))
    ]  # fmt: skip
    table = _scenes(Census(tuple(rows), {}))
    assert [list(column.cells) for column in table.columns] == [
        ["limit position"], ["5.0e-04 (2; 0.5)"], ["0.0e+00 (1; 0)"],
    ]  # fmt: skip


class Tilted(HighPrecision):
    """High precision of a robot on a base that is tilted by 1e-9 rad."""

    def read(self, robot, urdf, level):
        tilted = treesim.Placement([[1, 0, 1e-9], [0, 1, 0], [-1e-9, 0, 1]])
        return super().read(robot.with_base_pose(tilted), urdf, level)


def test_high_precision_agrees_and_notices_a_tilted_base():
    robot = treesim.load(Path(__file__).parents[4] / "assets" / "double_pendulum.urdf")
    right, wrong = (compare(robot, engine, states=2, steps=0) for engine in (HighPrecision(), Tilted()))
    assert right.passed and {"mass_matrix", "forward_dynamics"} <= {row.quantity for row in right.rows}
    assert {"pose", "bias", "forward_dynamics"} <= {row.quantity for row in wrong.rows if not row.passed}
