"""`treesim compare`: a table or JSON, and an exit code that scripts can trust."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

import treesim.compare
from treesim.cli.compare import compare
from treesim.cli.explanations import explained
from treesim.compare import Causes, Comparison, Control, Convergence, Explanation, Report, Row
from treesim.errors import UnknownNameError, UnsupportedError

AGREED = Report(
    robot="arm", engine="mirror", base="fixed", sha256="0" * 64, gravity=(0.0, 0.0, -9.81), seed=3, dt=0.001,
    versions={"treesim": "1", "mirror": "2"}, summary="they agree", skipped={"jacobian": "is wrong"},
    rows=(Row("mass_matrix", "raw", 5, 1e-15, 1e-16, 1e-7, True, "joint 'elbow'", "a note"),),
    changes={"raw": ("removed 2 <visual>",)},
)  # fmt: skip
ONE = Comparison("arm", "fixed", 3, 5, 7, 0.001, (AGREED,))
CAUSES = Causes((Explanation("mass", "link 'arm'", "it is heavy", "arm.urdf:7", 0.5, "N m", "elbow", 1.5, 0.0),), 0.25)
DIFFER = replace(AGREED, rows=(replace(AGREED.rows[0], largest=float("nan"), passed=False),), summary="they differ")
TWO = replace(ONE, reports=(replace(AGREED, controls=(Control("motors on", True, True, "bias at 'elbow'"),)),
                            replace(DIFFER, engine="glass", failures={"raw": "it crashed"})),
              refused={"paper": "it is thin"})  # fmt: skip


PROGRAM = typer.Typer()
PROGRAM.command()(compare)


@pytest.fixture
def run(monkeypatch):
    """Run the command with a comparison that ends in the given report; returns its result and how it was called."""

    def run(outcome, *arguments):
        calls = {}

        def compared(robot, **options):
            calls.update(options, robot=robot)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(treesim.compare, "compare", compared)
        monkeypatch.setattr(treesim.compare, "find_engine", lambda name: name)
        monkeypatch.setattr(treesim.compare, "Isolated", lambda engine, timeout: nullcontext(engine))
        monkeypatch.setattr(treesim.compare, "explain", lambda *asked: calls.setdefault("explained", asked) and CAUSES)
        return CliRunner(env={"COLUMNS": "200"}).invoke(PROGRAM, ["arm", *arguments]), calls

    return run


def test_agreement_ends_in_0(run):
    options = "--states 5 --steps 7 --seed 3 --dt 0.01 --base fixed --scenes pd,limit --renumber"
    result, calls = run(ONE, *options.split())
    assert result.exit_code == 0
    for part in ("mass matrix", "1.0e-15", "joint 'elbow', a note", "removed 2 <visual>", "is wrong", "they agree"):
        assert part in result.output
    assert calls == {
        "robot": "arm", "against": ["pybullet"], "base": "fixed", "seed": 3, "states": 5, "steps": 7, "dt": 0.01,
        "controls": False, "timeout": 300.0, "scenes": ["pd", "limit"],
        "renumber": True,
    }  # fmt: skip


def test_disagreement_ends_in_1(run):
    result, calls = run(replace(ONE, reports=(DIFFER,)), "--seed", "3")
    assert result.exit_code == 1
    assert "FAIL" in result.output and "they differ" in result.output
    assert "link 'arm' (arm.urdf:7): it is heavy" in result.output and "not explained: 0.25 N m" in result.output
    robot, engine, base, seed = calls["explained"]
    assert (robot, engine, base, seed) == ("arm", "mirror", "fixed", 3)


def test_several_engines_stand_beside_each_other(run):
    result, calls = run(TWO, "--against", "mirror, glass,paper", "--controls", "--timeout", "7")
    assert result.exit_code == 1 and calls["against"] == ["mirror", "glass", "paper"]
    assert calls["controls"] is True and calls["timeout"] == 7.0
    for part in (
        "largest errors", "compared with mirror:", "compared with glass:", "raw level: it crashed",
        "paper: not compared: it is thin",
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
    assert bool(found["reports"][0]["explanations"]) == (code == 1)


@pytest.mark.parametrize("as_json", [True, False])
def test_two_descriptions(run, tmp_path, as_json):
    first, second = tmp_path / "a.urdf", tmp_path / "b.urdf"
    text = treesim.to_urdf(treesim.load("ur5"), shapes=False)
    first.write_text(text)
    second.write_text(text.replace('<mass value="2.275"/>', '<mass value="2.5"/>'))
    options = ["--base", "fixed", *(["--json"] if as_json else [])]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(PROGRAM, [str(first), str(second), *options])
    assert result.exit_code == 1, result.output
    if as_json:
        (cause,) = json.loads(result.stdout)["causes"]["explanations"]
        assert (cause["kind"], cause["owner"]) == ("mass", "link 'forearm_link'")
    else:
        assert "the mass is 2.5 instead of 2.275 kg" in result.output and "what differs: mass" in result.output
    assert CliRunner().invoke(PROGRAM, [str(first), str(first), *options]).exit_code == 0


def test_what_is_known_or_crashed_is_not_explained_again(run, monkeypatch):
    monkeypatch.setattr(treesim.compare, "explain", lambda *asked: pytest.fail("there is nothing to explain"))
    for known in ({"explanations": ("an old fault",)}, {"failures": {"raw": "it crashed"}}):
        found = replace(ONE, reports=(replace(DIFFER, **known),))
        assert explained(found, "arm", 1.0) == found


def test_an_engine_that_reads_no_file_explains_nothing(run, monkeypatch):
    def refused(*asked):
        raise UnsupportedError("no files")

    monkeypatch.setattr(treesim.compare, "explain", refused)
    monkeypatch.setattr(treesim.compare, "Isolated", lambda *asked: nullcontext())
    monkeypatch.setattr(treesim.compare, "find_engine", lambda name: name)
    found = replace(ONE, reports=(DIFFER,))
    assert explained(found, "arm", 1.0) == found


def test_a_mistake_ends_in_2(run):
    result, _ = run(UnknownNameError("no such engine"))
    assert result.exit_code == 2 and "Traceback" not in result.output


def test_the_outcome_of_every_engine_comes_first(capsys):
    from treesim.cli.compare_tables import print_comparison

    found = Comparison("toy", "fixed", 0, 1, 1, 1e-3, (AGREED, DIFFER), {"paper": "it is thin"})
    print_comparison(found)
    first = capsys.readouterr().out.splitlines()[:3]
    assert first[1].endswith("they differ") and first[2] == "paper: not compared: it is thin"
