"""`treesim check ROBOT...`: checks of robot descriptions, why findings matter, and how to fix them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

import treesim

from ..errors import ArgumentError, PluginError, named
from ..system.installation import installed_by
from ..system.progress import counted, progress_bar
from . import common
from .common import (
    BASE_CHOICES,
    FAILED,
    BaseOption,
    JsonOption,
    MimicOption,
    checked_name,
    examples,
    guarded,
    messages,
    option,
    output,
    print_json,
)
from .streams import standard_output

if TYPE_CHECKING:
    from ..doctor import Diagnosis
    from ..types import BaseChoice, Mimic
    from .check_report import Importer

FORMATS = ("text", "json", "sarif", "github")


@guarded
@examples(
    "treesim check my_robot.urdf",
    "treesim check my_robot.urdf --fix repaired.urdf",
    "treesim check go2 ur5 --strict --format json",
)
def check(
    robots: Annotated[list[str], typer.Argument(metavar="ROBOT", show_default=False, autocompletion=common.ROBOTS)],
    tier: list[str] | None = None,
    strict: bool = False,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    meshes: bool = True,
    notes: bool = True,
    usage: bool = False,
    format: str = "text",
    readers: Annotated[bool | None, option("--readers/--no-readers")] = None,
    fix: Path | None = None,
    repair: list[str] | None = None,
    json: JsonOption = False,
) -> None:
    """Check robot descriptions: syntax, structure, physics and assets.

    The exit code is 1 if a robot has errors; with --strict, also for doubtful physics.
    The exit code is 2 if an argument is invalid.

    Options
    -------
    robots
        URDF files, or names of installed robots (`treesim robots` lists the names).
    --tier
        Tier to check: syntax, structure, physics or assets. May be repeated. Default: all tiers.
    --strict
        Treat doubtful physics as errors.
    --meshes
        Read mesh files, to compare masses with the volumes of shapes.
    --notes
        Print notes in addition to errors and warnings.
    --usage
        List how treesim uses each element and attribute of the file.
    --format
        Format of the output: text, json, sarif (SARIF 2.1.0) or github (annotations).
    --readers
        With the output format text, also report how other programs read the file. Default: on, if treesim-importers is
        installed.
    --fix
        File to which the robot with all unambiguous repairs is written. The command then checks this file.
    --repair
        Further repair to make with --fix: limits, fixed or armature. May be repeated.
    """
    from ..doctor.advice import TIERS

    form = "json" if json else checked_name("format", format, FORMATS)
    where = cast("BaseChoice", checked_name("base", base, BASE_CHOICES))
    follow = cast("Mimic | None", mimic)
    chosen = tuple(tier) if tier else TIERS
    importers = _importers(readers)
    if fix is not None:
        robots = [_fixed(robots, fix, repair or [], where, follow)]
    elif repair:
        raise ArgumentError("--repair is for the file that --fix writes: give --fix FILE, too")
    with progress_bar("checking"):
        found = [
            treesim.check(robot, base=where, mimic=follow, tiers=chosen, strict=strict, meshes=meshes)
            for robot in counted(robots, named)
        ]
    if not notes:
        found = [diagnosis.without_notes() for diagnosis in found]
    if form == "text":
        _print_reports(robots, found, usage, importers)
    else:
        _write(form, found)
    if not all(diagnosis.passed for diagnosis in found):
        raise typer.Exit(FAILED)


def _fixed(robots: Sequence[str], out: Path, repairs: Sequence[str], base: BaseChoice, mimic: Mimic | None) -> str:
    """Write the repaired file, list the changes, and return its name."""
    if len(robots) > 1:
        raise ArgumentError(f"--fix writes one robot, and {len(robots)} were given")
    repaired = treesim.repair(robots[0], out, repairs=("unambiguous", *repairs), base=base, mimic=mimic)  # type: ignore[arg-type]
    console = messages()
    console.print(f"{out}: {len(repaired.changes)} change{'s' * (len(repaired.changes) != 1)}")
    for change in repaired.changes:
        console.print(f"  {change.line_and_remark}", soft_wrap=True, markup=False)
    return str(out)


def _importers(asked: bool | None) -> list[Importer]:
    """Return the reports of plugins on how other programs read a file.

    Raises PluginError if they were requested and none is installed.
    """
    from .. import plugins

    names = () if asked is False else plugins.available("importers")
    if asked and not names:
        raise PluginError(f"--readers needs treesim-importers: {installed_by('./plugins/treesim-importers')}")
    return [plugins.get("importers", name) for name in names]


def _print_reports(
    names: Sequence[str], found: Sequence[Diagnosis], element_usage: bool, importers: Sequence[Importer]
) -> None:
    from .check_report import print_report

    console = output()
    for number, (name, diagnosis) in enumerate(zip(names, found, strict=True)):
        if number:
            console.print()
        print_report(name, diagnosis, console, element_usage, importers)


def _write(form: str, found: Sequence[Diagnosis]) -> None:
    if form == "json":
        passed = all(diagnosis.passed for diagnosis in found)
        print_json({"passed": passed, "robots": [diagnosis.to_dict() for diagnosis in found]})
    elif form == "sarif":
        from ..doctor.sarif import sarif_log

        print_json(sarif_log(found))
    else:
        from ..doctor.github import annotation

        stream = standard_output()
        stream.write_raw("".join(f"{annotation(one)}\n" for diagnosis in found for one in diagnosis.findings))
        stream.flush()
