"""What commands print: text out of files stays text, and every kind of standard stream is answered as tools do."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from treesim.cli.streams import BROKEN_PIPE, OutputError, Stream, escaped, json_text
from treesim.errors import named, quoted

from .conftest import JOINT, LINK, need_command

# commands to workflows of GitHub, Azure and TeamCity; a forged line; ends of lines, a turn of direction, C1 and DEL
TAIL = "&#10;::set-env name=X::1&#13;##[error]no ##vso[a]b&#10;forged \u202e\u2028\x85\x9b2J\x7f[/b] :smile: "
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
FORGED = re.compile(r"^[\s│┃|]*forged", re.MULTILINE)
ANNOTATION = re.compile(r"::(error|warning|notice) file=[^:,]*,line=\d+,title=[^:]*::")


def hostile_urdf() -> str:
    """A robot with a mimic joint, whose every name is hostile."""
    name = "::add-mask::{}{}".format
    links, (hip, knee, shoulder) = [name(one, TAIL) for one in "abcd"], [name(one, TAIL) for one in ("h", "k", "s")]
    kinds = {"type": "revolute", "lower": -2, "effort": 50}
    mimic = f'<mimic joint="{hip}" multiplier="2"/>'
    ends = (hip, links[0], links[1], ""), (knee, links[1], links[2], mimic), (shoulder, links[0], links[3], "")
    return "".join([
        f'<robot name="{name("r", TAIL)}">',
        *(LINK.format(name=one, mass=1) for one in links),
        *(JOINT.format(name=one, parent=up, child=down, more=more, **kinds) for one, up, down, more in ends),
        "</robot>",
    ])  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a hostile robot, in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hostile.urdf"
    path.write_text(hostile_urdf())
    return path


def check_text(text: str) -> None:
    """Fail where a printed text holds a command, a forged line, or a character that does not print."""
    assert not COMMAND.search(text), COMMAND.search(text)
    assert not FORGED.search(text), text
    strange = {one for one in text if not (one.isprintable() or one == "\n")}
    assert not strange, strange


RUN = ("simulate", "hostile.urdf", "--duration", 0.01, "--out", "run.npz")
COMMANDS: dict[str, tuple[Any, ...]] = {
    "info": ("info", "hostile.urdf", "--base", "fixed"),
    "check": ("check", "hostile.urdf", "--usage"),
    "fix": ("check", "hostile.urdf", "--fix", "fixed.urdf"),
    "readers": ("readers", "hostile.urdf"),
    "simulate": RUN,
    "floating": ("simulate", "hostile.urdf", "--duration", 0.01, "--base", "floating"),
    "page": ("simulate", "hostile.urdf", "--duration", 0.01, "--html", "a.html"),
    "q0": ("simulate", "hostile.urdf", "--q0", "x=1"),
    "q0 of another size": ("simulate", "hostile.urdf", "--q0", "1,2,3"),
    "convert": ("convert", "run.npz", "run.csv"),
    "replay": ("replay", "run.npz"),
    "record": ("view", "run.npz", "--record", "run.glb"),
    "two robots": ("compare", "hostile.urdf", "hostile.urdf"),
    "schedule": ("schedule", "hostile.urdf"),
    "sweep": ("sweep", "hostile.urdf", "--samples", 2, "--steps", 2, "--out", "sweep", "--dry-run"),
    "measure": ("sweep", "hostile.urdf", "--samples", 2, "--out", "sweep", "--measure", "x=last(nothing)"),
    "vary": ("sweep", "hostile.urdf", "--samples", 2, "--out", "sweep", "--vary", "mass:nothing=uniform(1,2)"),
}
SLOW: dict[str, tuple[Any, ...]] = {
    "cost": ("cost", "hostile.urdf"),
    "audit": ("audit", "hostile.urdf"),
    "accuracy": ("accuracy", "hostile.urdf", "--states", 1),
    "bench": ("bench", "hostile.urdf", "--single", "--repeats", 1),
    "engine": ("compare", "hostile.urdf", "--against", "mujoco"),
}


@pytest.mark.parametrize(
    "what", [*COMMANDS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)  # fmt: skip
def test_no_line_is_a_command_or_forged_by_the_names_of_a_robot(
    treesim: Callable[..., Result], hostile: Path, what: str
) -> None:
    if "run.npz" in (asked := {**COMMANDS, **SLOW}[what])[1:2]:
        treesim(*RUN)
    result = treesim(*asked)
    assert (result.stdout or result.stderr) and "Usage:" not in result.stderr
    check_text(result.stdout)
    check_text(result.stderr)


@pytest.mark.parametrize("what", ["info", "check", "readers", "simulate", "convert", "replay", "two robots",
                                  pytest.param("cost", marks=pytest.mark.slow)])  # fmt: skip
def test_json_stays_json_and_holds_the_names_as_they_are(
    treesim: Callable[..., Result], hostile: Path, what: str
) -> None:
    if "run.npz" in (asked := {**COMMANDS, **SLOW}[what])[1:2]:
        treesim(*RUN)
    result = treesim(*asked, "--json")
    check_text(result.stdout)
    json.loads(result.stdout)
    if what == "info":
        names = json.loads(result.stdout)["body_names"]
        assert names[0] == "::add-mask::b\n::set-env name=X::1\r##[error]no ##vso[a]b\n" + TAIL.split("&#10;")[-1]


def test_sarif_stays_json(treesim: Callable[..., Result], hostile: Path) -> None:
    result = treesim("check", hostile, "--format", "sarif")
    check_text(result.stdout)
    assert json.loads(result.stdout)["version"] == "2.1.0"


def test_annotations_are_real_commands_and_nothing_else_is(treesim: Callable[..., Result], hostile: Path) -> None:
    other = hostile.with_name("a,b:c\n::error::d%\x1b[2J.urdf")
    other.write_text(hostile.read_text().replace("<robot ", "<robot colour='&#10;::error::e' "))
    result = treesim("check", other.name, "--format", "github")
    lines = result.stdout.splitlines()
    assert lines and all(map(ANNOTATION.match, lines)), "each line is one annotation"
    assert all(line.isprintable() for line in lines)
    assert "file=a%2Cb%3Ac\\n%3A%3Aerror%3A%3Ad%25\\x1b[2J.urdf," in lines[0]


@pytest.mark.parametrize("command", ["info", "check", "readers", "simulate"])
@pytest.mark.parametrize("content", ["<robot><link/></robot>", "\x1b[2J", "<robot name='&#10;::error::x'><a>", None])
def test_errors_about_a_file_with_a_hostile_name(
    treesim: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, content: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("x\n::error::y\x1b[2J\u202e.urdf")
    if content is not None:
        path.write_text(content)
    result = treesim(command, path)
    assert result.exit_code in (1, 2)
    check_text(result.stdout)
    check_text(result.stderr)


def test_names_in_lists_and_tables() -> None:
    for plain in ("hip", "_a", "λ1", "L_hip/joint.2", "a b", "'q'", "<text>", "/tmp/a.urdf", "../a"):
        assert named(plain) == plain
    for odd in ("", " a", "a ", "::a", "#a", "a\nb", "a\x1b[2J", "\u202ea", "a\u2028b", "a\x9b", "|a"):
        assert named(odd) == quoted(odd) and named(odd).isprintable()


def test_characters_that_a_terminal_obeys_are_escaped() -> None:
    assert escaped("a\n\tb\x1b[2J\r\x08\x7f\x9b\u202e\u2066\u2028\ud800é") == (
        "a\n\\tb\\x1b[2J\\r\\x08\\x7f\\x9b\\u202e\\u2066\\u2028\\ud800é"
    )
    value = {"a": "\x7f\x9b\u202e\u2028\ud800é##[b]##vso[", "c": "::d"}
    text = json_text(value)
    assert text.isprintable() and "é" in text and "##" not in text and json.loads(text) == value


def test_a_command_is_broken_up_wherever_it_begins_a_line() -> None:
    written = io.StringIO()
    stream = Stream(written, essential=True)
    for text in ("a", "::b\n", "::c\n \t::d e::f\n", "\x1b[1m::g", "\n", "##[h] i##j[ #[ ##", "::k"):
        stream.write(text)
    assert written.getvalue() == ("a::b\n\\x3a:c\n \t\\x3a:d e::f\n\x1b[1m\\x3a:g\n\\x23#[h] i\\x23#j[ #[ ##::k")


def test_a_stream_writes_what_its_encoding_lacks_and_says_what_it_cannot() -> None:
    data = io.BytesIO()
    narrow = Stream(io.TextIOWrapper(data, "ascii"), essential=True)
    narrow.write("é λ\n")
    narrow.flush()
    assert data.getvalue() == b"\\xe9 \\u03bb\n"
    with pytest.raises(OutputError, match="Bad file"):
        Stream(None, essential=True).write("a")
    Stream(None, essential=False).write("a")
    Stream(None, essential=True).flush()


@pytest.mark.parametrize(
    ("platform", "code"), [("linux", errno.EPIPE), ("win32", errno.EPIPE), ("win32", errno.EINVAL)]
)
def test_a_pipe_that_nobody_reads_is_no_error_of_ours(
    platform: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Pipe(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(SystemExit) as ending:
        Stream(Pipe(), essential=True).write("a")
    assert ending.value.code == BROKEN_PIPE


def ended(arguments: tuple[Any, ...], mode: str, folder: Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program with an odd standard stream."""
    command = [sys.executable, "-m", "treesim", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "80"}
    if mode == "ascii":
        environment |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    closing = {"closed output": ">&-", "closed error": "2>&-", "full": ">/dev/full"}.get(mode)
    if closing:
        command = ["sh", "-c", f'"$@" {closing}', "sh", *command]
    with open(folder / "out", "w+b") as out:
        target: Any = out
        if mode == "no reader":
            read, target = os.pipe()
            os.close(read)
        run = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, env=environment, cwd=folder)
        if mode == "no reader":
            os.close(target)
        out.seek(0)
        code = run.returncode if run.returncode >= 0 else 128 - run.returncode
        return code, out.read().decode(), run.stderr.decode()


MODES = {"closed output": 1, "closed error": 0, "full": 1, "ascii": 0, "no reader": 141}
PRINTING = {
    "info": ("info", "robot.urdf"),
    "help": ("--help",),
    "version": ("--version",),
    "help of a command": ("view", "--help"),
    "plugins": ("plugins",),
    "robots": ("robots",),
    "check": ("check", "robot.urdf"),
    "annotations": ("check", "robot.urdf", "--format", "github"),
    "readers": ("readers", "robot.urdf"),
    "json": ("simulate", "robot.urdf", "--duration", 0.01, "--json"),
    "simulate": ("simulate", "robot.urdf", "--duration", 0.01),
    "schedule": ("schedule", "robot.urdf"),
    "cost": ("cost", "robot.urdf"),
    "compare": ("compare", "robot.urdf", "robot.urdf"),
}


# a closed stream is found when the program starts, before any command: one that prints all kinds, and help, show it
EVERYDAY = {*product(["info"], MODES), ("help", "full"), ("help", "no reader")}
ODD_LETTERS = ("check", "readers", "json", "simulate", "cost", "compare")  # in results that name joints
STREAMED = [*EVERYDAY, *product(["help"], MODES), *product(PRINTING, ["full"]), *product(ODD_LETTERS, ["ascii"])]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("what", "mode"),
    [pytest.param(*case, marks=[pytest.mark.slow] * (case not in EVERYDAY)) for case in sorted(set(STREAMED))],
)
def test_odd_standard_streams_end_as_those_of_tools(robot: str, tmp_path: Path, what: str, mode: str) -> None:
    need_command(PRINTING[what][0])
    (tmp_path / "robot.urdf").write_text(
        Path(robot).read_text().replace("hip", "hüp").replace("<robot ", "<robot colour='red' ")
    )
    code, out, error = ended(PRINTING[what], mode, tmp_path)
    assert code == MODES[mode], error
    assert "Traceback" not in error and "Exception ignored" not in error
    if MODES[mode] == 1:
        assert error.splitlines()[-1].startswith("error: cannot write the result to standard output: ")
    elif mode != "no reader":
        assert out and (mode != "ascii" or what.startswith("help") or out.isascii())
        if what == "json":
            assert json.loads(out)["robot"] == "toy"
