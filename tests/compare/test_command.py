"""`treesim compare`: a table or JSON, and an exit code that scripts can trust."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

import treesim.compare
from treesim.cli.compare import compare
from treesim.compare import Comparison, Control, Convergence, Report, Row
from treesim.errors import UnknownNameError

AGREED = Report(
    robot="arm", engine="mirror", base="fixed", sha256="0" * 64, gravity=(0.0, 0.0, -9.81), seed=3, dt=0.001,
    versions={"treesim": "1", "mirror": "2"}, summary="they agree", skipped={"jacobian": "is wrong"},
    rows=(Row("mass_matrix", "raw", 5, 1e-15, 1e-16, 1e-7, True, "joint 'elbow'", "a note"),),
    changes={"raw": ("removed 2 <visual>",)},
)  # fmt: skip
ONE = Comparison("arm", "fixed", 3, 5, 7, 0.001, (AGREED,))
DIFFER = replace(AGREED, rows=(replace(AGREED.rows[0], largest=float("nan"), passed=False),), summary="they differ")
TWO = replace(ONE, reports=(replace(AGREED, controls=(Control("motors on", True, True, "bias at 'elbow'"),)),
                            replace(DIFFER, engine="glass", failures={"raw": "it crashed"})),
              refused={"paper": "it is thin"})  # fmt: skip


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
    result, calls = run(ONE, "--states", "5", "--steps", "7", "--seed", "3", "--dt", "0.01", "--base", "fixed")
    assert result.exit_code == 0
    for part in ("mass matrix", "1.0e-15", "joint 'elbow', a note", "removed 2 <visual>", "is wrong", "they agree"):
        assert part in result.output
    assert calls == {
        "robot": "arm", "against": ["pybullet"], "base": "fixed", "seed": 3, "states": 5, "steps": 7, "dt": 0.01,
        "controls": False, "timeout": 300.0,
    }  # fmt: skip


def test_disagreement_ends_in_1(run):
    result, _ = run(replace(ONE, reports=(DIFFER,)))
    assert result.exit_code == 1
    assert "FAIL" in result.output and "they differ" in result.output


def test_several_engines_stand_beside_each_other(run):
    result, calls = run(TWO, "--against", "mirror, glass,paper", "--controls", "--timeout", "7")
    assert result.exit_code == 1 and calls["against"] == ["mirror", "glass", "paper"]
    assert calls["controls"] is True and calls["timeout"] == 7.0
    for part in (
        "largest errors", "beside mirror:", "beside glass:", "raw level: it crashed", "paper: not compared: it is thin",
        "control, motors on: noticed: bias at 'elbow'", "sha256 of the robot's file: 000",
    ):  # fmt: skip
        assert part in result.output, part


def test_convergence_is_told(run):
    found = Convergence(1, 0.256, (4e-3, 2e-3), (1.0, 0.5), (0.1,), 0.9, 2.0, 0.05, 0.1, False)
    result, _ = run(replace(ONE, reports=(replace(AGREED, convergence=found),)))
    assert result.exit_code == 1
    assert "order 0.900 (due: 1 +- 0.05), Richardson 2.000 (due: 2 +- 0.1): FAIL" in result.output


def test_a_page_is_written(run, tmp_path):
    pytest.importorskip("matplotlib")
    result, _ = run(ONE, "--html", str(tmp_path / "report.html"))
    assert result.exit_code == 0 and "they agree" in (tmp_path / "report.html").read_text()


def test_a_page_of_another_ending_is_refused_before_anything_is_compared(run, tmp_path):
    pytest.importorskip("matplotlib")
    result, calls = run(ONE, "--html", str(tmp_path / "report.pdf"))
    assert result.exit_code == 2 and ".html" in result.output and not calls


@pytest.mark.parametrize(("report", "code"), [(AGREED, 0), (DIFFER, 1)])
def test_json_is_the_whole_output(run, report, code):
    result, _ = run(replace(ONE, reports=(report,)), "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == code and found["passed"] is (code == 0)
    assert found["reports"][0]["rows"][0]["largest"] == (1e-15 if code == 0 else None)


def test_a_mistake_ends_in_2(run):
    result, _ = run(UnknownNameError("no such engine"))
    assert result.exit_code == 2 and "Traceback" not in result.output
