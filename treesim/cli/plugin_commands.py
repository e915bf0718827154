"""Commands of plugins (entry points `treesim.commands`), imported when they run, not when they are listed."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import plugins
from ..errors import PluginError, TreesimError
from ..system.installation import installed_by
from .common import USER_ERROR, documented, epilog_of, guarded, print_error

COMMANDS_OF = {  # plugin packages of this repository, and their commands
    "treesim-lab": (
        "accuracy", "audit", "bench", "census", "cost", "scaling", "schedule", "stability", "survey",
    ),
    "treesim-importers": ("readers",),
}  # fmt: skip

ROUTES = {  # command and first word, or an option: the entry point that runs
    ("bench", "energy"): "stability",
    ("bench", "accuracy"): "accuracy",
    ("bench", "scaling"): "scaling",
    ("bench", "schedule"): "schedule",
    ("compare", "--all"): "census",
    ("compare", "--high-precision"): "audit",
}
ROUTED = {target: " ".join(words) for words, target in ROUTES.items()}  # hidden by their own names


def routed(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return the entry point that a command line selects by its second word or an option, and what remains of it."""
    for (name, word), target in ROUTES.items():
        if words[0] == name and word in (words[1:] if word.startswith("-") else words[1:2]):
            rest = list(words[1:])
            rest.remove(word)
            return target, rest
    return None


class CommandGroup(TyperGroup):
    """Group of treesim's commands and those of plugins, including known plugins that are not installed.

    Commands of missing plugins report how to install them. The commands of `ROUTES` run by two words; their own names
    are hidden.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and remaining arguments; `bench energy ROBOT` and others of `ROUTES` are one command."""
        if "--help-all" in args:
            ctx.meta[HELP_ALL] = True
            args = ["--help" if word == "--help-all" else word for word in args]
        found = routed(args)
        if found is None:
            return super().resolve_command(ctx, args)
        target, rest = found
        return ROUTED[target], self.get_command(ctx, target), rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name; None if there is none."""
        if cmd_name not in self.commands:
            self._add_plugins()
        found = super().get_command(ctx, cmd_name)
        return found if found is None or isinstance(found, PluginCommand) else with_short_help(found)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, treesim's own first, and load the help of each."""
        self._add_plugins()
        for command in self.commands.values():
            if isinstance(command, PluginCommand):
                command.help = command.docstring()
        return super().list_commands(ctx)

    def _add_plugins(self) -> None:
        for found in plugins.registered("commands"):
            if found.name not in self.commands:
                self.add_command(PluginCommand(found))
        for package, names in COMMANDS_OF.items():
            missing = [name for name in names if name not in self.commands]
            shown = [ROUTED.get(name, name) for name in missing]
            for name in missing:
                self.add_command(_missing(name, package))
            if missing:
                self.epilog = f"{self.epilog or ''}\n\n{package} is not installed: {', '.join(shown)}".strip()


HELP_ALL = "treesim.help_all"  # key of a context, whose help lists all options
FEW_OPTIONS = 6  # of a command, whose help describes all of them in full if it has fewer
MOST_OPTIONS = 10  # of a command, whose help lists all of them
SENTENCE_END = re.compile(r"(?<=[^.]\.)\s+")
LONG_ASIDE = re.compile(r" \([^()]{16,}\)")
MAIN_OPTIONS = {
    "against", "attach", "base", "controller", "duration", "fix", "format", "frame", "ground", "html", "json", "lock",
    "mirror", "out", "papers", "plot", "record", "rename", "reroot", "samples", "scenes", "states", "strict", "subtree",
    "tree", "vary", "without",
}  # fmt: skip


class PluginCommand(TyperCommand):
    """Placeholder for a plugin's command, which is imported to run it or to show its help."""

    def __init__(self, plugin: plugins.Plugin) -> None:
        panel = f"Commands of {plugin.origin}"
        super().__init__(plugin.name, rich_help_panel=panel, hidden=plugin.name in ROUTED)
        self.target = plugin.target

    def docstring(self) -> str:
        """Return the docstring of the command's function, read from its source."""
        module, _, function = self.target.partition(":")
        package, *parts = module.split(".")
        spec = find_spec(package)  # finding a top-level package does not import it
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder, *parts).with_suffix(".py")
            if path.is_file():
                return _docstring(path, function)
        return ""

    def command(self) -> Any:
        """Import and return the actual command; raises PluginError if this fails."""
        assert self.name is not None
        return _command(self.name, plugins.get("commands", self.name))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the actual command, which runs instead of this one."""
        try:
            command = self.command()
        except TreesimError as error:
            print_error(str(error))
            raise typer.Exit(USER_ERROR) from None
        return command.make_context(info_name, args, parent, **extra)


def _docstring(path: Path, function: str) -> str:
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return documented(ast.get_docstring(node))[0]
    return ""


def _command(name: str, function: Any, **settings: Any) -> Any:
    """Return the typer command of one function."""
    app = typer.Typer(add_completion=False)
    app.command(name, epilog=epilog_of(function), **settings)(function)
    return with_short_help(typer.main.get_command(app))


def with_short_help(command: Any) -> Any:
    """Return a command whose help, if it is long, fits on a screen: the main options, each in a sentence.

    With --help-all, it lists all options in full.
    """
    options = [each for each in command.params if each.param_type_name == "option"]
    others = [each for each in options if not {each.name, *each.opts} & MAIN_OPTIONS]
    if len(options) < FEW_OPTIONS or "--help-all" in (command.epilog or ""):
        return command
    hidden = others if len(options) > MOST_OPTIONS else []

    def format_main(context: Any, formatter: Any) -> None:
        shown = command
        if not context.meta.get(HELP_ALL):
            shown = copy(command)
            shown.params = [_in_a_sentence(each) for each in command.params if each not in hidden]
            shown.help = (command.help or "").partition("\n\n")[0]
        type(command).format_help(shown, context, formatter)

    command.format_help = format_main
    more = f", and {len(hidden)} more" if hidden else ""
    command.epilog = f"--help-all: these options in full{more}.\n\n{command.epilog or ''}"
    return command


def _in_a_sentence(parameter: Any) -> Any:
    """Return a parameter with the first sentence of its help, without long parentheses, outside panels.

    An opposite is in the same column.
    """
    short = copy(parameter)
    if any(opposite.startswith("--no-") for opposite in short.secondary_opts):
        short.opts, short.secondary_opts = [name.replace("--", "--[no-]", 1) for name in short.opts], []
    short.help = LONG_ASIDE.sub("", SENTENCE_END.split(parameter.help or "", maxsplit=1)[0])
    short.rich_help_panel = None
    return short


def _missing(name: str, package: str) -> Any:
    """Return a hidden command with any arguments that reports which package contains the named command."""

    @guarded
    def command() -> None:
        how = installed_by(f"./plugins/{package}")
        called = ROUTED.get(name, name)
        raise PluginError(f"`treesim {called}` is a command of {package}, which is not installed: {how}")

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return _command(name, command, hidden=True, add_help_option=False, context_settings=anything)
