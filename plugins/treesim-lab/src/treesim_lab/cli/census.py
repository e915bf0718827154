"""`treesim compare --all`: comparison of all installed robots with other engines, on both bases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from treesim.cli.common import (
    FAILED,
    JsonOption,
    SeedOption,
    checked_positive,
    examples,
    guarded,
    option,
    output,
    print_json,
)
from treesim.errors import ArgumentError, named
from treesim.system.progress import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from treesim.compare.census import Census, CensusRow
    from treesim.types import BaseChoice

ALL_ROBOTS = "URDF files or names of installed robots. Without ROBOT, all installed robots are used."
AnyRobots = Annotated[list[str] | None, typer.Argument(metavar="ROBOT...", help=ALL_ROBOTS)]


@guarded
@examples(
    "treesim compare --all",
    "treesim compare --all ur5 go2 --against mujoco --base floating",
    "treesim compare --all ur5 go2 --high-precision",
)
def census(
    robots: AnyRobots = None,
    against: str = "pybullet,mujoco,pinocchio",
    base: str = "both",
    states: Annotated[int, option(min=1)] = 20,
    steps: Annotated[int, option(min=0)] = 200,
    seed: SeedOption = 0,
    scenes: Annotated[str, option(show_default=False)] = "",
    renumber: bool = False,
    high_precision: bool = False,
    timeout: float = 60.0,
    json: JsonOption = False,
) -> None:
    """Compare robots with other engines, and list every disagreement.

    The exit code is 1 if an engine fails, or if no known fault of an engine explains a disagreement.

    Options
    -------
    --against
        Other engines, separated by commas (`treesim plugins` lists all engines).
    --base
        fixed, floating, both, or auto.
    --states
        Number of random states.
    --steps
        Number of steps of the trajectory; 0 for no trajectory.
    --scenes
        Further motions as in `treesim compare`, separated by commas, or all.
    --renumber
        Repeat the comparison with bodies that are not numbered depth-first.
    --high-precision
        Also compare with results of 40 digits, which treesim's kernels compute with the package mpmath.
    --timeout
        Time limit of an engine for each evaluation of a robot (s).
    """
    from treesim.compare import census as outcomes
    from treesim.compare.census import take_census
    from treesim.compare.engines import find_engine
    from treesim.urdf import installed_robots

    if base not in ("fixed", "floating", "both", "auto"):
        raise ArgumentError(f"--base must be fixed, floating, both or auto, not {base!r}")
    bases: tuple[BaseChoice, ...] = ("fixed", "floating") if base == "both" else (base,)  # type: ignore[assignment]
    names = robots or [entry.name for entry in installed_robots()]
    engines = [find_engine(name.strip()) for name in against.split(",")]
    if high_precision:
        from treesim_lab.audits.engine import HighPrecision

        engines.append(HighPrecision())
    checked_positive("--timeout", timeout)
    with progress_bar("comparing"):
        found = take_census(
            names, engines, bases, seed, states, steps, timeout,
            [name.strip() for name in scenes.split(",") if name.strip()], renumber,
        )  # fmt: skip
    if json:
        print_json(found.to_dict())
    else:
        _print(found)
    if found.count(outcomes.DIFFERS) or found.count(outcomes.FAILED):
        raise typer.Exit(FAILED)


def _print(found: Census) -> None:
    from treesim.compare.census import OUTCOMES
    from treesim.compare.diagnosis import CAUSES

    console = output()
    versions = ", ".join(f"{name} {number}" for name, number in found.versions.items())
    console.print(f"{len(found.robots)} robots ({versions})")
    console.print(_counts(found))
    if found.count("agrees"):
        console.print(_largest(found))
        if any(each.tolerances.keys() - CAUSES for each in found.findings):
            console.print(_scenes(found))
    for outcome in OUTCOMES:
        title = "agrees, but for a known fault" if outcome == "agrees" else outcome
        for line in _grouped([each for each in found.findings if each.outcome == outcome and each.why]):
            console.print(f"{title}: {line}", soft_wrap=True)


def _counts(found: Census) -> Table:
    from rich.table import Table

    from treesim.compare.census import OUTCOMES

    table = Table("engine", "base", *OUTCOMES)
    for engine, base in dict.fromkeys((each.engine, each.base) for each in found.findings):
        table.add_row(engine, base, *(str(found.count(outcome, engine, base)) for outcome in OUTCOMES))
    return table


def _largest(found: Census) -> Table:
    """Return the table of the largest errors on robots that agree."""
    from rich.table import Table

    from treesim.compare.diagnosis import CAUSES

    errors = {engine: found.largest_errors(engine) for engine in dict.fromkeys(each.engine for each in found.findings)}
    table = Table("largest error, canonical level", *errors)
    known = {quantity for each in errors.values() for quantity in each}
    for quantity in filter(known.__contains__, CAUSES):
        cells = (f"{each[quantity]:.1e}" if quantity in each else "-" for each in errors.values())
        table.add_row(quantity.replace("_", " "), *cells)
    return table


def _scenes(found: Census) -> Table:
    """Return the table of the largest errors in scenes, the robots compared, and the part of the tolerance."""
    from rich.table import Table

    from treesim.compare.diagnosis import CAUSES

    table = Table("largest error in scenes (robots; part of the tolerance)")
    engines = dict.fromkeys(each.engine for each in found.findings)
    quantities = dict.fromkeys(name for each in found.findings for name in each.errors if name not in CAUSES)
    columns = []
    for engine in engines:
        table.add_column(engine)
        columns.append(_scene_cells(found, engine, quantities))
    for quantity, *cells in zip(quantities, *columns, strict=True):
        table.add_row(quantity.replace("_", " "), *cells)
    return table


def _scene_cells(found: Census, engine: str, quantities: Iterable[str]) -> list[str]:
    errors, shares = found.largest_errors(engine), found.largest_shares(engine)
    rows = [each for each in found.findings if (each.engine, each.outcome) == (engine, "agrees")]
    robots = {name: sum(name in each.errors for each in rows) for name in errors}
    return [
        f"{errors[name]:.1e} ({robots[name]}; {shares[name]:.1g})" if name in errors else "-" for name in quantities
    ]


def _grouped(rows: list[CensusRow]) -> Iterator[str]:
    """Yield one line for each reason and the engines that share it, with its robots."""
    engines: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        engines.setdefault((row.why, row.robot, row.base), []).append(row.engine)
    robots: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (why, robot, base), by in engines.items():
        robots.setdefault((", ".join(by), why), {}).setdefault(robot, []).append(base)
    for (by_all, why), bases in robots.items():
        names = (named(robot) if len(on) == 2 else f"{named(robot)} ({on[0]})" for robot, on in bases.items())
        yield f"{by_all}: {why}: {', '.join(names)}"
