"""The reference of the program's commands and options, from the program itself."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import typer

from treesim.cli.main import app as program
from treesim.cli.plugin_commands import ROUTED, PluginCommand

MARKER = "<!-- commands -->"


def reference() -> str:
    """Return a section of Markdown for each command that is installed."""
    group: Any = typer.main.get_command(program)
    sections = []
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, PluginCommand):
            command = command.command()
        elif command.hidden:  # of a plugin that is not installed
            continue
        sections.append(section(command, ROUTED.get(name, name)))
    return "\n\n".join(sections)


def section(command: Any, name: str) -> str:
    """Return usage, description, parameters and examples of a command."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join(["treesim", name, "[OPTIONS]", *(metavar(argument) for argument in arguments)])
    parts = [f"## treesim {name}", f"```text\n{usage}\n```", markdown(command.help or ""), *parameters(command)]
    examples = re.findall(r"^\s*(treesim .*)$", command.epilog or "", re.MULTILINE)
    if examples:
        parts += ["**Examples**", "```text\n" + "\n".join(examples).replace("\\[", "[") + "\n```"]
    return "\n\n".join(filter(None, parts))


def parameters(command: Any) -> list[str]:
    """Return definition lists of arguments and options, by the panels of `--help`."""

    def panel(parameter: Any) -> str:
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        return getattr(parameter, "rich_help_panel", None) or kind

    visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    order = ["Arguments", "Options", *dict.fromkeys(map(panel, visible))]
    ordered = sorted(visible, key=lambda parameter: order.index(panel(parameter)))
    parts = []
    for title, members in groupby(ordered, panel):
        parts += [f"**{title}**", *map(entry, members)]
    return parts


def entry(parameter: Any) -> str:
    """Return the names of an argument or option, with explanation and default."""
    names = f"`{metavar(parameter)}`"
    if parameter.param_type_name == "option":
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        names += "" if parameter.is_flag else f" `{metavar(parameter)}`"
    default = parameter.default
    shown = getattr(parameter, "show_default", False) and default not in (None, (), [], "", False)
    explanation = " ".join(markdown(parameter.help or "").split())
    if shown and not callable(default) and not getattr(parameter, "is_flag", False):
        explanation += f" Default: `{getattr(default, 'value', default)}`."
    return f"{names}\n: {explanation or 'No explanation.'}"


def metavar(parameter: Any) -> str:
    """Return the placeholder of a value."""
    return str(parameter.metavar or parameter.name.upper())


def markdown(text: str) -> str:
    """Return the text of a help message with its options as code, and without accidental markup."""
    code = r"(`[^`]*`)"
    parts = re.split(code, re.sub(r"(?<![`\w-])(--[a-z][a-z0-9-]*)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", text))
    return "".join(part if re.fullmatch(code, part) else re.sub(r"([<>*_$\[\]|~])", r"\\\1", part) for part in parts)


def insert_reference(app: Any, docname: str, source: list[str]) -> None:
    """Replace the marker of a page by the reference."""
    if MARKER in source[0]:
        source[0] = source[0].replace(MARKER, reference())


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", insert_reference)
    return {"parallel_read_safe": True}
