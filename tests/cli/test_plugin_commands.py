"""Commands of plugins: listed without being imported, run when asked for; what is told where one is gone."""

from __future__ import annotations

import inspect
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import treesim
from tests.cli.conftest import need_command
from treesim import plugins
from treesim.cli.common import documented
from treesim.cli.main import app
from treesim.cli.plugin_commands import COMMANDS_OF, ROUTED, ROUTES, PluginCommand, routed
from treesim.cli.simulate import simulate

PARSER: Any = typer.main.get_command(app)

SOURCE = '''
import typer

print("imported")

def greet(name: str, times: int = 1) -> None:
    """Greet NAME politely.

    As often as asked for.
    """
    for _ in range(times):
        typer.echo(f"hello {name}")
'''
POINTS = """
[treesim.commands]
greet = own_plugin.commands:greet
broken = own_plugin.gone:broken
info = own_plugin.commands:greet
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def own_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed distribution with commands."""
    (tmp_path / "own_plugin").mkdir()
    (tmp_path / "own_plugin/__init__.py").touch()
    (tmp_path / "own_plugin/commands.py").write_text(SOURCE)
    (tmp_path / "own-1.2.dist-info").mkdir()
    (tmp_path / "own-1.2.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.2\n")
    (tmp_path / "own-1.2.dist-info/entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield
    forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_plugin"]:
        del sys.modules[name]


def forget() -> None:
    plugins._entry_points.cache_clear()
    plugins._found.cache_clear()


@pytest.mark.usefixtures("own_plugin")
def test_commands_of_plugins_are_listed_with_their_help_and_not_imported() -> None:
    found = run("--help")
    assert "Commands of own 1.2" in found.stdout and "Greet NAME politely." in found.stdout
    assert "imported" not in found.stdout and "own_plugin" not in sys.modules
    assert "broken" in found.stdout  # as a name: what is wrong with it is known when it is imported


@pytest.mark.usefixtures("own_plugin")
def test_commands_of_plugins_run() -> None:
    assert run("greet", "you", "--times", "2").stdout.endswith("hello you\nhello you\n")
    assert run("greet").exit_code == 2
    assert "As often as asked for." in run("greet", "--help").stdout
    assert "Did you mean 'greet'" in run("gret").stderr


@pytest.mark.usefixtures("own_plugin")
def test_a_broken_one_is_an_error_and_no_built_in_is_hidden() -> None:
    broken = run("broken", "--option")
    assert broken.exit_code == 2
    assert "command 'broken' of own 1.2 (own_plugin.gone:broken) cannot be loaded" in broken.stderr
    assert "Show ROBOT's bodies" in run("info", "--help").stdout
    problems = {plugin.name: plugin.problem for plugin in plugins.listing() if plugin.origin == "own 1.2"}
    assert problems["greet"] is None
    assert "gone" in str(problems["broken"]) and "hidden" in str(problems["info"])


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in COMMANDS_OF.items() for name in names]
)
def test_a_command_of_a_plugin_that_is_not_installed_names_it(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_entry_points", lambda kind: {})
    for options in ((), ("ur5", "--batch", "3"), ("--help",)):
        found = run(name, *options)
        assert found.exit_code == 2 and f"./plugins/{package}" in found.stderr, found.output
    listed = run("--help").stdout
    assert f"{package} is not installed: " in listed and ROUTED.get(name, name) in " ".join(listed.split())


@pytest.mark.parametrize("package", COMMANDS_OF)
def test_the_known_commands_of_a_package_are_those_that_it_has(package: str) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "plugins" / package / "pyproject.toml").read_text())["project"]
    assert sorted(project["entry-points"]["treesim.commands"]) == sorted(COMMANDS_OF[package])


def shown_commands() -> list[tuple[str, Any]]:
    """All commands that the help of the program lists, and those that run by two words."""
    names = [*plugins.BUILT_IN["commands"], *(name for names in COMMANDS_OF.values() for name in names)]
    return [(name, plugins.get("commands", name)) for name in names if name in plugins.available("commands")]


@pytest.mark.parametrize(("name", "command"), shown_commands(), ids=lambda x: x if isinstance(x, str) else "")
def test_every_command_has_examples_that_it_accepts(name: str, command: Any) -> None:
    lines = getattr(command, "examples", ())
    text = " ".join(run(name, "-h").stdout.split())
    assert lines and all(" ".join(line.split()) in text for line in lines)
    for line in lines:
        program, *words = shlex.split(line)
        target, rest = routed(words) or (words[0], words[1:])
        assert program == "treesim"
        found = PARSER.get_command(None, target)
        (found.command() if isinstance(found, PluginCommand) else found).make_context(target, rest)


@pytest.mark.parametrize(
    "line", [line for line in simulate.examples if not {"world.py", "walk.onnx"} & {*line.split()}]
)
def test_examples_of_simulate_start(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Their robots are where a simulation may start; none of it is simulated."""
    started = []

    def run(self: treesim.Simulation, duration: float, q: np.ndarray, v: np.ndarray) -> None:
        started.append(self.system.world.start(q))
        raise treesim.ArgumentError("it starts")

    monkeypatch.setattr(treesim.Simulation, "run", run)
    monkeypatch.chdir(tmp_path)
    assert "it starts" in CliRunner().invoke(app, shlex.split(line)[1:]).stderr and len(started) == 1


@pytest.mark.parametrize("name", [name for name, _ in shown_commands()])
def test_help_fits_on_a_screen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert 10 < len(run(name, "-h").stdout.splitlines()) <= 40


@pytest.mark.parametrize(("name", "command"), shown_commands(), ids=lambda x: x if isinstance(x, str) else "")
def test_every_option_has_a_help_text_and_every_help_text_an_option(name: str, command: Any) -> None:
    annotations = {given.name: given.annotation for given in inspect.signature(command).parameters.values()}
    options = {key: get_args(hint)[1] for key, hint in annotations.items() if get_origin(hint) is Annotated}
    assert [key for key, given in options.items() if not given.help] == []
    assert documented(inspect.unwrap(command).__doc__)[1].keys() - options.keys() <= {""}


def test_all_commands_have_one_default_base() -> None:
    found = {}
    for name, _ in shown_commands():
        command = PARSER.get_command(None, name)
        command = command.command() if isinstance(command, PluginCommand) else command
        for given in command.params:
            if given.name == "base" and given.default != "both":  # of surveys over all robots
                found[name] = given.default
    assert len(found) > 6 and set(found.values()) == {"auto"}, found


@pytest.mark.parametrize(("words", "target"), ROUTES.items(), ids=lambda x: " ".join(x) if isinstance(x, tuple) else x)
def test_commands_of_two_words_have_hidden_former_names(words: tuple[str, str], target: str) -> None:
    need_command(target)
    by_words, former = run(*words, "-h"), run(target, "-h")
    assert by_words.exit_code == former.exit_code == 0
    assert f"treesim {' '.join(words)}" in by_words.stdout
    assert by_words.stdout.split("\n")[3:] == former.stdout.split("\n")[3:]
    assert f"│ {target} " not in run("-h").stdout
    assert routed([words[0], "ur5"]) is None and routed([words[0], "ur5", words[1]]) == (
        (target, ["ur5"]) if words[1].startswith("-") else None
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [("treesim sim", "simulate"), ("treesim simulate --ground-f", "--ground-friction"), ("treesim audi", "")],
)
def test_a_shell_completes_commands_and_options_but_no_former_names(words: str, expected: str) -> None:
    completes = {"_TREESIM_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert CliRunner(env=completes).invoke(app, [], prog_name="treesim").stdout.strip() == expected
