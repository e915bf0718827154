"""`treesim compare`: a table or JSON, and an exit code that scripts can trust."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

import treesim.compare
from treesim.cli.compare import compare
from treesim.compare import Report, Row
from treesim.errors import UnknownNameError

AGREED = Report(
    robot="arm", engine="mirror", base="fixed", sha256="0" * 64, gravity=(0.0, 0.0, -9.81), seed=3, dt=0.001,
    versions={"treesim": "1", "mirror": "2"}, summary="they agree", skipped={"jacobian": "is wrong"},
    rows=(Row("mass_matrix", "raw", 5, 1e-15, 1e-16, 1e-7, True, "joint 'elbow'", "a note"),),
    changes={"raw": ("removed 2 <visual>",)},
)  # fmt: skip
DIFFER = replace(AGREED, rows=(replace(AGREED.rows[0], largest=float("nan"), passed=False),), summary="they differ")


@pytest.fixture
def run(monkeypatch):
    """Run the command with a comparison that ends in the given report; returns its result and how it was called."""
    program = typer.Typer()
    program.command()(compare)

    def run(outcome, *arguments):
        calls = {}

        def compared(robot, **options):
            calls.update(options, robot=robot)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(treesim.compare, "compare", compared)
        return CliRunner(env={"COLUMNS": "200"}).invoke(program, ["arm", *arguments]), calls

    return run


def test_agreement_ends_in_0(run):
    result, calls = run(AGREED, "--states", "5", "--steps", "7", "--seed", "3", "--dt", "0.01", "--base", "fixed")
    assert result.exit_code == 0
    for part in ("mass matrix", "1.0e-15", "joint 'elbow', a note", "removed 2 <visual>", "is wrong", "they agree"):
        assert part in result.output
    assert calls == {
        "robot": "arm", "against": "pybullet", "base": "fixed", "seed": 3, "states": 5, "steps": 7, "dt": 0.01,
    }  # fmt: skip


def test_disagreement_ends_in_1(run):
    result, _ = run(DIFFER)
    assert result.exit_code == 1
    assert "FAIL" in result.output and "they differ" in result.output


@pytest.mark.parametrize(("report", "code"), [(AGREED, 0), (DIFFER, 1)])
def test_json_is_the_whole_output(run, report, code):
    result, _ = run(report, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == code and found["passed"] is (code == 0)
    assert found["rows"][0]["largest"] == (1e-15 if code == 0 else None)


def test_a_mistake_ends_in_2(run):
    result, _ = run(UnknownNameError("no such engine"))
    assert result.exit_code == 2 and "Traceback" not in result.output
