"""Commands of plugins (entry points `treesim.commands`), imported when they run, not when they are listed."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import plugins
from ..errors import PluginError, TreesimError, installed_by
from .common import USER_ERROR, guarded, print_error

COMMANDS_OF = {  # plugin packages of this repository, and their commands
    "treesim-lab": (
        "accuracy", "audit", "bench", "census", "cost", "scaling", "schedule", "stability", "survey",
    ),
    "treesim-importers": ("readers",),
}  # fmt: skip


class CommandGroup(TyperGroup):
    """Group of treesim's commands and those of plugins, including known plugins that are not installed.

    Commands of missing plugins report how to install them.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name; None if there is none."""
        if cmd_name not in self.commands:
            self._add_plugins()
        return super().get_command(ctx, cmd_name)

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
            for name in missing:
                self.add_command(_missing(name, package))
            if missing:
                self.epilog = f"{self.epilog or ''}\n\n{package} is not installed: {', '.join(missing)}".strip()


class PluginCommand(TyperCommand):
    """Placeholder for a plugin's command, which is imported to run it or to show its help."""

    def __init__(self, plugin: plugins.Plugin) -> None:
        super().__init__(plugin.name, rich_help_panel=f"Commands of {plugin.origin}")
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
            return ast.get_docstring(node) or ""
    return ""


def _command(name: str, function: Any, **settings: Any) -> Any:
    """Return the typer command of one function."""
    app = typer.Typer(add_completion=False)
    app.command(name, **settings)(function)
    return typer.main.get_command(app)


def _missing(name: str, package: str) -> Any:
    """Return a hidden command with any arguments that reports which package contains the named command."""

    @guarded
    def command() -> None:
        how = installed_by(f"./plugins/{package}")
        raise PluginError(f"`treesim {name}` is a command of {package}, which is not installed: {how}")

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return _command(name, command, hidden=True, add_help_option=False, context_settings=anything)
