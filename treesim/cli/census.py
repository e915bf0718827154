"""`treesim census`: all installed robots beside other engines, on both bases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ArgumentError
from .common import FAILED, JsonOption, checked_positive, guarded, messages, output, print_json

if TYPE_CHECKING:
    from ..compare.census import Census, Finding
    from ..types import Base


@guarded
def census(
    robots: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ROBOT...", help="URDF files or names; none for all installed robots.", show_default=False
        ),
    ] = None,
    against: Annotated[
        str, typer.Option(help="The other engines, separated by commas (`treesim plugins` lists them).")
    ] = "pybullet,mujoco,pinocchio",
    base: Annotated[str, typer.Option(help="fixed, floating, or both.")] = "both",
    states: Annotated[int, typer.Option(min=1, help="Number of random states.")] = 20,
    steps: Annotated[int, typer.Option(min=0, help="Steps of the trajectory; 0 for none.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    timeout: Annotated[float, typer.Option(help="Time limit of an engine for one text of a robot (s).")] = 60.0,
    json: JsonOption = False,
) -> None:
    """Compare ROBOTS with other engines, and list every disagreement. Exit code 1 if there is one."""
    from ..compare.census import DIFFERS, take_census
    from ..compare.engines import find_engine
    from ..urdf import installed_robots

    if base not in ("fixed", "floating", "both"):
        raise ArgumentError(f"--base must be fixed, floating or both, not {base!r}")
    bases: tuple[Base, ...] = ("fixed", "floating") if base == "both" else (base,)  # type: ignore[assignment]
    names = robots or [entry.name for entry in installed_robots()]
    engines = [find_engine(name.strip()) for name in against.split(",")]
    checked_positive("--timeout", timeout)
    with messages().status("comparing ...") as status:
        found = take_census(
            names, engines, bases, seed, states, steps, timeout, lambda text: status.update(f"{text} ...")
        )
    if json:
        print_json(found.to_dict())
    else:
        _print(found)
    if found.count(DIFFERS):
        raise typer.Exit(FAILED)


def _print(found: Census) -> None:
    from rich.table import Table

    from ..compare.census import AGREES, DIFFERS, FAILED, REFUSED

    console = output()
    versions = ", ".join(f"{name} {number}" for name, number in found.versions.items())
    table = Table("engine", "base", *(AGREES, DIFFERS, FAILED, REFUSED))
    pairs = dict.fromkeys((each.engine, each.base) for each in found.findings)
    for engine, base in pairs:
        counts = (str(found.count(outcome, engine, base)) for outcome in (AGREES, DIFFERS, FAILED, REFUSED))
        table.add_row(engine, base, *counts)
    console.print(f"{len(found.robots)} robots ({versions})")
    console.print(table)
    for outcome in (DIFFERS, FAILED, REFUSED):
        for line in _grouped([each for each in found.findings if each.outcome == outcome]):
            console.print(f"{outcome}: {line}", soft_wrap=True)


def _grouped(findings: list[Finding]) -> Iterator[str]:
    """One line for each engine and reason, with the robots that share it."""
    shared: dict[tuple[str, str], dict[str, list[str]]] = {}
    for each in findings:
        robots = shared.setdefault((each.engine, each.why), {})
        robots.setdefault(each.robot, []).append(each.base)
    for (engine, why), robots in shared.items():
        names = ", ".join(robot if len(bases) == 2 else f"{robot} ({bases[0]})" for robot, bases in robots.items())
        yield f"{engine}: {names}: {why}"
