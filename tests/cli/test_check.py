"""`treesim check`: exit codes, formats, and the hook and the action that run it, as their files say."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.doctor.examples import GOOD
from treesim import plugins
from treesim.cli.main import app

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
HOOKS, ACTION = ROOT / ".pre-commit-hooks.yaml", ROOT / ".github" / "actions" / "check" / "action.yml"
BAD = GOOD.replace('<mass value="2"/>', '<mass value="2kg"/>')
DOUBTFUL = GOOD.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 2 0"/>', 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a good, a doubtful and a bad robot."""
    for name, text in {"good": GOOD, "doubtful": DOUBTFUL, "bad": BAD}.items():
        (tmp_path / f"{name}.urdf").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.urdf"], 0),
        (["doubtful.urdf"], 0),
        (["doubtful.urdf", "--strict"], 1),
        (["doubtful.urdf", "--strict", "--tier", "assets"], 0),
        (["bad.urdf"], 1),
        (["bad.urdf", "--tier", "assets"], 1),
        (["good.urdf", "bad.urdf"], 1),
        (["nowhere.urdf"], 1),
        (["nobody"], 2),
        (["good.urdf", "--tier", "phisics"], 2),
        (["good.urdf", "--format", "xml"], 2),
        (["good.urdf", "--base", "free"], 2),
        ([], 2),
    ],
)
def test_exit_codes(treesim: Callable[..., Any], folder: Path, arguments: list[str], code: int) -> None:
    for form in ("text", "json", "sarif", "github"):
        options = [] if "--format" in arguments else ["--format", form]
        assert treesim("check", *arguments, *options).exit_code == code


def test_the_report_says_what_where_why_and_how(treesim: Callable[..., Any], folder: Path) -> None:
    shown = " ".join(treesim("check", "doubtful.urdf").stdout.split())
    for words in (
        "doubtful.urdf: 3 bodies", "structure warning U403", "line 14 joint 'shoulder'", "why Some programs normalise",
        "fix Write a vector of length 1", "2 altered (joint/axis, joint/axis@xyz)",
        "passed: 0 errors, 1 warning, 0 notes",
    ):  # fmt: skip
        assert words in shown, words
    shown = " ".join(treesim("check", "bad.urdf").stdout.split())
    assert "bad.urdf: cannot be built" in shown and "error U301" in shown and "failed: 1 error," in shown
    assert "not looked at: the robot as a whole" in shown


def test_many_findings_of_one_code_are_counted(treesim: Callable[..., Any], folder: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(9))
    joints = "".join(
        f'<joint name="j{i}" type="fixed" extra="0"><parent link="base"/><child link="l{i}"/></joint>' for i in range(9)
    )
    (folder / "many.urdf").write_text(GOOD.replace("</robot>", links + joints + "</robot>"))
    shown = treesim("check", "many.urdf").stdout
    assert "without effect on the dynamics (9)" in shown and "and 4 more" in shown
    assert shown.count("'extra' ignored") == 5
    assert "'extra' ignored" not in treesim("check", "many.urdf", "--no-notes").stdout


def test_element_usage_is_listed_when_asked_for(treesim: Callable[..., Any], folder: Path) -> None:
    assert "link/inertial/mass@value" not in treesim("check", "good.urdf").stdout
    assert re.search(r"link/inertial/mass@value +.? *honoured", treesim("check", "good.urdf", "--usage").stdout)


def test_json_holds_all_robots(treesim: Callable[..., Any], folder: Path) -> None:
    details = json.loads(treesim("check", "good.urdf", "bad.urdf", "--json").stdout)
    assert not details["passed"] and [robot["passed"] for robot in details["robots"]] == [True, False]
    (found,) = details["robots"][1]["findings"]
    assert (found["code"], found["line"], found["file"]) == ("U301", 21, "bad.urdf")


def test_a_xacro_is_expanded(treesim: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the program xacro, for which a shell script stands here."""
    source = folder / "arm.urdf.xacro"
    source.write_text('<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>')
    monkeypatch.setenv("PATH", "")
    assert "U103" in treesim("check", source).stdout
    _program(folder / "bin" / "xacro", f'/bin/cat "{folder}/doubtful.urdf"')
    monkeypatch.setenv("PATH", str(folder / "bin"))
    result = treesim("check", source)
    assert result.exit_code == 0 and "U105" in result.stdout and "U403" in result.stdout


@pytest.mark.parametrize("command", ["check", "info", "readers"])
def test_a_file_of_another_name_is_expanded_only_with_the_option(
    command: str, treesim: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder / "arm.urdf"
    source.write_text('<robot name="arm" xmlns:xacro="http://ros.org/wiki/xacro"><xacro:arm/></robot>')
    _program(folder / "bin" / "xacro", f'/bin/cat "{folder}/good.urdf"')
    monkeypatch.setenv("PATH", str(folder / "bin"))
    refused = treesim(command, source)
    assert refused.exit_code != 0 and "--xacro" in refused.stdout + refused.stderr
    assert treesim(command, source, "--xacro").exit_code == 0


def _program(path: Path, script: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    """An environment in whose PATH `treesim` is this one."""
    _program(folder / "bin" / "treesim", f'exec "{sys.executable}" -m treesim "$@"')
    return {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.slow
def test_the_hook_runs_on_urdfs_and_fails_on_bad_ones(environment: dict[str, str], folder: Path) -> None:
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert {"id", "name", "entry", "language"} <= set(hook) and hook["language"] == "python"
    named = re.compile(hook["files"])
    assert named.search("a/robot.urdf") and named.search("a.urdf.xacro") and not named.search("materials.xacro")
    for files, code in ((["good.urdf", "doubtful.urdf"], 0), (["good.urdf", "bad.urdf"], 1)):
        run = [*shlex.split(hook["entry"]), *hook.get("args", []), *files]
        result = subprocess.run(run, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        assert result.returncode == code, result.stderr
        assert ("U301" in result.stdout) == (code == 1)


def _run_action(environment: dict[str, str], folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the action's last step as GitHub does: inputs put into its environment, then bash."""
    action = yaml.safe_load(ACTION.read_text())
    assert action["runs"]["using"] == "composite" and set(inputs) <= set(action["inputs"])
    values = {name: given.get("default", "") for name, given in action["inputs"].items()} | inputs
    step = action["runs"]["steps"][-1]
    assert step["shell"] == "bash"
    own = {key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: values[m[1]], text) for key, text in step["env"].items()}
    assert not any("${{" in text for text in [*own.values(), step["run"]]), "nothing else is put into the script"
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    given = {**environment, **own}
    return subprocess.run(command, env=given, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_action_annotates_and_fails_on_bad_files(environment: dict[str, str], folder: Path) -> None:
    good = _run_action(environment, folder, robots="good.urdf")
    assert (good.returncode, good.stdout) == (0, "")
    bad = _run_action(environment, folder, sarif="out.sarif")
    assert bad.returncode == 1, "of all files in the folder one is bad"
    assert re.search(r"^::error file=bad.urdf,line=21,title=U301", bad.stdout, re.MULTILINE)
    assert re.search(r"^::warning file=doubtful.urdf,line=14,title=U403", bad.stdout, re.MULTILINE)
    results = json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"U301", "U403"}


@pytest.mark.slow
def test_the_action_s_inputs_are_obeyed(environment: dict[str, str], folder: Path) -> None:
    assert _run_action(environment, folder, robots="d*.urdf", strict="true").returncode == 1
    assert _run_action(environment, folder, robots="d*.urdf", strict="true", tiers="assets syntax").returncode == 0
    nothing = _run_action(environment, folder, robots="*.nothing")
    assert nothing.returncode == 2 and "::error::no file matches" in nothing.stdout


def test_the_action_installs_what_holds_it() -> None:
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    (install,) = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    path = re.search(r'"\$GITHUB_ACTION_PATH/([^"]*)"', install)
    assert path is not None and (ACTION.parent / path[1]).resolve() == ROOT and (ROOT / "pyproject.toml").is_file()


def run(*arguments: str) -> Result:
    """Run the command in the current folder."""
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["check", *arguments])


def test_what_has_one_way_only_is_mended(folder: Path) -> None:
    result = run("doubtful.urdf", "--fix", "mended.urdf")
    assert result.exit_code == 0, result.output
    assert "mended.urdf: 1 change" in result.stderr
    assert 'is now xyz="0.0 1.0 0.0"' in result.stderr
    assert run("mended.urdf", "--strict").exit_code == 0
    assert run("doubtful.urdf", "--strict").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.urdf", "doubtful.urdf", "--fix", "x.urdf"], "--fix writes one robot, and 2 were given"),
        (["good.urdf", "--repair", "limits"], "give --fix FILE, too"),
        (["good.urdf", "--fix", "x.urdf", "--repair", "magic"], "magic"),
        (["good.urdf", "--fix", "good.urdf"], "good.urdf"),
    ],
)
def test_what_cannot_be_mended_so_is_told(folder: Path, arguments: list[str], message: str) -> None:
    before = (folder / "good.urdf").read_text()
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert (folder / "good.urdf").read_text() == before


def test_reports_on_other_programs_come_from_plugins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def report(name: str, document: Any, console: Any) -> None:
        console.print(f"other programs read {name}, {document.roots}")

    monkeypatch.setattr(plugins, "available", lambda kind: ("mine",) if kind == "importers" else ())
    monkeypatch.setattr(plugins, "get", lambda kind, name: report)
    assert "other programs read good.urdf, ['base']" in run("good.urdf").stdout
    assert "other programs" not in run("good.urdf", "--no-readers").stdout
    monkeypatch.setattr(plugins, "available", lambda kind: ())
    assert run("good.urdf").exit_code == 0 and "other programs" not in run("good.urdf").stdout
    refused = run("good.urdf", "--readers")
    assert refused.exit_code == 2 and "./plugins/treesim-importers" in refused.stderr
