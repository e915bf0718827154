"""Printed causes of differences, and comparisons of two descriptions of one robot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ..errors import UnsupportedError, named
from .common import output, print_json

if TYPE_CHECKING:
    from ..compare import Causes, Comparison, Report, Row, TwoRobots
    from ..types import Base, BaseChoice


def is_robot_file(against: str) -> bool:
    """Return whether `against` is a second description ("mujoco:robot.xml") rather than an engine."""
    return ":" in against


def compare_descriptions(first: str, second: str, base: BaseChoice, seed: int, states: int, json: bool) -> bool:
    """Compare two descriptions of one robot, print the result, and return whether they agree."""
    from ..compare import compare_robots

    found = compare_robots(first, second, base, seed, states)
    if json:
        print_json(found.to_dict())
    else:
        print_two_robots(found)
    return found.passed


def explained(found: Comparison, robot: str, timeout: float) -> Comparison:
    """Return a comparison with the causes added to every report with unexplained differences."""
    reports = []
    for report in found.reports:
        if not (report.passed or report.explanations or report.failures):
            report = replace(report, explanations=_causes_of(robot, report, timeout))
        reports.append(report)
    return replace(found, reports=tuple(reports))


def _causes_of(robot: str, report: Report, timeout: float) -> tuple[str, ...]:
    """Return the causes of an engine's differences; empty if it does not read the robot's file, or fails."""
    from ..compare import EngineError, Isolated, explain, find_engine

    try:
        with Isolated(find_engine(report.engine), timeout) as engine:
            causes = explain(robot, engine, cast("Base", report.base), report.seed)
    except (UnsupportedError, EngineError):
        return ()
    return (*map(str, causes.explanations), *_left(causes))


def _left(causes: Causes) -> list[str]:
    """Return what remains unexplained."""
    where = f", bodies {', '.join(causes.bodies)}" if causes.bodies else ""
    untried = f"; {causes.untried}" if causes.untried else ""
    return [] if causes.complete else [f"not explained: {causes.left:.2g} N m{where}{untried}"]


def print_causes(causes: Causes) -> None:
    """Print the causes of a difference, and what remains unexplained."""
    console = output()
    if causes.explanations:
        console.print("causes:")
    for one in causes.explanations:
        console.print(f"  {one}", soft_wrap=True)
    for left in _left(causes):
        console.print(left, style="red")


def print_two_robots(found: TwoRobots) -> None:
    """Print the comparison of two descriptions of one robot."""
    from rich.table import Table

    console = output()
    console.print(f"{named(found.first)} and {named(found.second)}, {found.base} base, seed {found.seed}")
    table = Table("quantity", "largest error", "tolerance", "", "worst at, note")
    for row in found.rows:
        table.add_row(*_cells(row), style=None if row.passed else "red")
    console.print(table)
    for title, names in (("only in the first", found.only_first), ("only in the second", found.only_second)):
        if names:
            console.print(f"joints {title}, fixed at zero: {', '.join(map(named, names))}")
    for name, place in found.frames.items():
        console.print(f"frame of {name!r} in the second: {place}; no motion changes")
    print_causes(found.causes)
    console.print(found.summary, style="green" if found.passed else "bold red", soft_wrap=True)


def _cells(row: Row) -> tuple[str, ...]:
    remark = ", ".join(part for part in (row.where, row.note) if part)
    title = row.quantity.replace("_", " ")
    return title, f"{row.largest:.1e}", f"{row.tolerance:.0e}", "ok" if row.passed else "FAIL", remark
