"""`treesim robots`: the robots that can be named without a path."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import ArgumentError, named
from .common import JsonOption, guarded, output, print_json
from .tried_robots import print_tried


@guarded
def robots(
    containing: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Only names that contain this text.", show_default=False)
    ] = "",
    attempt: Annotated[
        bool,
        typer.Option("--try", help="Load and simulate each, beside Pinocchio, after a repair at most."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List the robots of installed data packages, by the names that every command accepts."""
    from ..urdf import installed_robots

    entries = [entry for entry in installed_robots() if containing.lower() in entry.name.lower()]
    if attempt and not entries:
        raise ArgumentError(f"no installed robot has {containing!r} in its name; `treesim robots` lists them")
    if attempt:
        print_tried(entries, json)
        return
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
