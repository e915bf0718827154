"""`treesim robots`: robots that can be named without a path."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import named
from .common import JsonOption, examples, guarded, output, print_json


@guarded
@examples(
    "treesim robots",
    "treesim robots talos --json",
)
def robots(
    containing: Annotated[str, typer.Argument(metavar="[TEXT]", show_default=False)] = "",
    json: JsonOption = False,
) -> None:
    """List the robots of installed data packages. Every command accepts the listed names.

    Options
    -------
    containing
        Text that the listed names must contain.
    """
    from ..urdf import installed_robots

    entries = [entry for entry in installed_robots() if containing.lower() in entry.name.lower()]
    if json:
        print_json([{"name": entry.name, "package": entry.package, "path": str(entry.path)} for entry in entries])
        return
    console = output()
    if not entries:
        of = f" whose name contains {containing!r}" if containing else ""
        console.print(f"no installed robot{of}; `python -m pip install example-robot-data` brings some", soft_wrap=True)
        return
    for package in dict.fromkeys(entry.package for entry in entries):
        names = [entry.name for entry in entries if entry.package == package]
        console.print(f"{named(package)} ({len(names)})", style="bold")
        console.print(f"  {', '.join(map(named, names))}")
