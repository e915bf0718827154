"""Printed tables of `treesim compare`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import named
from .common import output

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..compare import Comparison, Report, Row


def print_comparison(found: Comparison) -> None:
    """Print the outcome of each engine, the header, a table of the largest errors of several engines, and reports."""
    console = output()
    for report in found.reports:
        console.print(f"{report.engine}: {report.summary}", style="green" if report.passed else "bold red")
    for engine, why in found.refused.items():
        console.print(f"{engine}: not compared: {why}", style="yellow")
    _print_header(console, found)
    if len(found.reports) > 1:
        console.print(_overview(found))
    for report in found.reports:
        _print_report(console, report)


def _print_header(console: Console, found: Comparison) -> None:
    versions = ", ".join(f"{name} {number}" for name, number in found.versions.items())
    gravity = f", gravity {list(found.reports[0].gravity)} m/s^2" if found.reports else ""
    console.print(
        f"{named(found.robot)}, {found.base} base{gravity}, seed {found.seed}, dt {found.dt:g} s ({versions})"
    )
    if found.reports and found.reports[0].sha256:
        console.print(f"sha256 of the robot's file: {found.reports[0].sha256}")


def _overview(found: Comparison) -> Table:
    """Return a table of the largest error of each quantity by engine."""
    from rich.table import Table
    from rich.text import Text

    table = Table("quantity", "level", *found.engines, title="largest errors", title_justify="left")
    rows = {(row.quantity, row.level): row for report in found.reports for row in report.rows}
    for quantity, level in sorted(rows, key=lambda key: key[1] != "raw"):
        cells = []
        for report in found.reports:
            own = [row for row in report.rows if (row.quantity, row.level) == (quantity, level)]
            cells.append(Text(f"{own[0].largest:.1e}", _style(own[0]) or "") if own else Text("-"))
        table.add_row(quantity.replace("_", " "), level, *cells)
    return table


def _print_report(console: Console, report: Report) -> None:
    from rich.table import Table

    console.print(f"\ncompared with {report.engine}:")
    table = Table("quantity", "level", "states", "largest error", "median", "tolerance", "", "worst at, note")
    for row in report.rows:
        table.add_row(*_cells(row), style=_style(row))
    if report.rows:
        console.print(table)
    for line, passed in [*_convergence(report), *_controls(report)]:
        console.print(line, style=None if passed else "red", soft_wrap=True)
    if report.conservation:
        console.print(_conservation(report))
    for title, entries in (
        ("failed", [f"{level} level: {why}" for level, why in report.failures.items()]),
        ("changed for the comparison", [f"{level}: {'; '.join(found)}" for level, found in report.changes.items()]),
        ("not compared", [f"{what.replace('_', ' ')}: {why}" for what, why in report.skipped.items()]),
        ("would explain it", report.explanations),
    ):
        if entries:
            console.print(f"{title}:")
        for entry in entries:
            console.print(f"  {entry}")


def _style(row: Row) -> str | None:
    return None if row.passed else "yellow" if row.accepted else "red"


def _cells(row: Row) -> tuple[str, ...]:
    remark = ", ".join(part for part in (row.where, row.note) if part)
    return (
        row.quantity.replace("_", " "), row.level, str(row.states), f"{row.largest:.1e}", f"{row.median:.1e}",
        f"{row.tolerance:.0e}", row.outcome, remark,
    )  # fmt: skip


def _convergence(report: Report) -> Iterator[tuple[str, bool]]:
    found = report.convergence
    if found is not None:
        p = found.order
        yield (
            (
                f"convergence over {1e3 * found.horizon:g} ms, dt {1e3 * found.dt[0]:g} ... {1e3 * found.dt[-1]:g} ms: "
                f"order {found.slope:.3f} (due: {p} +- {found.tolerance:g}), Richardson {found.extrapolated_slope:.3f} "
                f"(due: {p + 1} +- {found.extrapolated_tolerance:g}): {'ok' if found.passed else 'FAIL'}"
            ),
            found.passed,
        )


def _controls(report: Report) -> Iterator[tuple[str, bool]]:
    for control in report.controls:
        outcome = "noticed: " if control.noticed else "" if control.passed else "FAIL: "
        yield f"control, {control.name}: {outcome}{control.found}", control.passed


def _conservation(report: Report) -> Table:
    from rich.table import Table

    headings = ("largest errors of", "energy", "linear momentum", "angular momentum")
    table = Table(*headings, title="what free motion keeps", title_justify="left")
    for kept in report.conservation:
        curves = (kept.energy, kept.linear_momentum, kept.angular_momentum)
        table.add_row(kept.run, *(f"{max(map(abs, curve)):.1e}" if curve else "-" for curve in curves))
    return table
