"""`treesim robots`: robots that can be named without a path."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from ..errors import named
from .common import JsonOption, examples, guarded, option, output, print_json

MOVING = re.compile(rb"<joint[^>]*type\s*=\s*[\"'](?!fixed)")
ALL = "List furniture and other objects without moving joints, too."
WIDTH = 80  # columns of a list of names


@guarded
@examples(
    "treesim robots",
    "treesim robots talos --json",
)
def robots(
    containing: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]...", show_default=False)] = None,
    every: Annotated[bool, option("--all", help=ALL)] = False,
    json: JsonOption = False,
) -> None:
    """List the robots of installed data packages. Every command accepts the listed names.

    Options
    -------
    containing
        Texts that the listed names must contain, all of them.
    """
    from ..urdf import installed_robots

    words = [word.lower() for word in containing or ()]
    entries = [entry for entry in installed_robots() if all(word in entry.name.lower() for word in words)]
    if not every:
        entries = [entry for entry in entries if MOVING.search(entry.path.read_bytes())]
    if json:
        print_json([{"name": entry.name, "package": entry.package, "path": str(entry.path)} for entry in entries])
        return
    console = output()
    if not entries:
        of = f" whose name contains {' and '.join(map(repr, words))}" if words else ""
        console.print(f"no installed robot{of}; `python -m pip install example-robot-data` brings some", soft_wrap=True)
        return
    for package in dict.fromkeys(entry.package for entry in entries):
        names = [named(entry.name) for entry in entries if entry.package == package]
        console.print(f"{named(package)} ({len(names)})", style="bold")
        each = max(map(len, names)) + 2
        for k in range(0, len(names), row := max((WIDTH - 2) // each, 1)):
            console.print("  " + "".join(name.ljust(each) for name in names[k : k + row]).rstrip(), soft_wrap=True)
