"""Output of `treesim compare --all`, and rejected arguments."""

from __future__ import annotations

from treesim_lab.cli.census import _grouped
from typer.testing import CliRunner

from treesim.cli.main import app
from treesim.compare import Census, CensusRow
from treesim.compare.census import REFUSED


def test_rows_of_one_reason_share_a_line():
    rows = [CensusRow(robot, base, engine, REFUSED, why="too large") for robot, base, engine in (
        ("ox", "fixed", "a"), ("ox", "fixed", "b"), ("ox", "floating", "a"), ("ox", "floating", "b"),
        ("elk", "fixed", "a"), ("elk", "fixed", "b"), ("cow", "fixed", "a"),
    )]  # fmt: skip
    assert list(_grouped(rows)) == ["a, b: too large: ox, elk (fixed)", "a: too large: cow (fixed)"]
    assert Census(tuple(rows), {}).robots == ("ox", "elk", "cow")


def test_the_command_refuses_other_bases():
    result = CliRunner().invoke(app, ["census", "ur5", "--base", "flying"])
    assert result.exit_code == 2 and "fixed, floating or both" in result.output
