"""Printed report of `treesim check`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from ..doctor.advice import ADVICE, TIER_OF
from ..errors import named
from ..urdf.findings import CODES, Finding

if TYPE_CHECKING:
    from rich.console import Console

    from ..doctor import Diagnosis
    from ..doctor.element_usage import Entry
    from ..urdf.document import Document

    Importer: TypeAlias = Callable[[str, Document, Console], None]  # prints how other programs read it, and its name

STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
LABELS = {"error": "error", "warning": "warning", "info": "note"}
MOST = 5  # findings of one code that are printed in full
MOST_PLACES = 6  # kinds of elements that a line names


def print_report(
    name: str, diagnosis: Diagnosis, console: Console, element_usage: bool, importers: Sequence[Importer] = ()
) -> None:
    """Print the report on one robot, under the name on the command line.

    element_usage: also print the whole element usage report. importers: print how other programs read the file.
    """
    robot = diagnosis.robot
    about = "cannot be built" if robot is None else f"{robot.n_bodies} bodies, nv {robot.nv}, {robot.mass:.4g} kg"
    console.print(f"{named(name)}: {about}", style="bold", soft_wrap=True)
    for section in SECTIONS:
        section(diagnosis, console)
    if element_usage:
        _print_entries(diagnosis.element_usage, console)
    for report in importers:
        if diagnosis.document is not None:
            report(name, diagnosis.document, console)
    style = "green" if diagnosis.passed else "bold red"
    console.print(f"{'passed' if diagnosis.passed else 'failed'}: {diagnosis.summary}", style=style)


def _print_findings(diagnosis: Diagnosis, console: Console) -> None:
    for tier, of_tier in groupby(diagnosis.findings, key=lambda one: TIER_OF[one.code]):
        console.print(f"\n{tier}", style="bold")
        by_code: dict[tuple[str, str], list[Finding]] = {}
        for one in of_tier:
            by_code.setdefault((one.severity, one.code), []).append(one)
        for severity in LABELS:
            for (kind, code), found in sorted(by_code.items()):
                if kind == severity:
                    _print_code(code, found, console)


def _print_code(code: str, found: Sequence[Finding], console: Console) -> None:
    """Print all findings of one code: their places, and once why they matter and how to fix them."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    severity, advice = found[0].severity, ADVICE[code]
    count = f" ({len(found)})" if len(found) > 1 else ""
    console.print(Text.assemble((f"{LABELS[severity]} {code}", STYLES[severity]), f" {CODES[code].summary}{count}"))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for one in found[:MOST]:
        hint = f" ({one.hint})" if one.hint else ""
        table.add_row("" if one.line is None else f"line {one.line}", one.message + hint)
    if len(found) > MOST:
        table.add_row("", f"and {len(found) - MOST} more (--json lists all)")
    if severity != "info":
        table.add_row("why", " ".join(dict.fromkeys(map(advice.why_of, found))))
        table.add_row("fix", advice.fix)
    console.print(Padding(table, (0, 0, 0, 2)))


def _print_element_usage(diagnosis: Diagnosis, console: Console) -> None:
    if not diagnosis.element_usage:
        return
    details = []
    for fate in ("honoured", "altered", "ignored"):
        entries = [entry for entry in diagnosis.element_usage if entry.fate == fate]
        count = sum(entry.count + entry.inside for entry in entries)
        names = f" ({', '.join(_places(entries))})" if entries and fate != "honoured" else ""
        details.append(f"{count} {fate}{names}")
    console.print(f"\nelements and attributes: {', '.join(details)}")


def _places(entries: Sequence[Entry]) -> Iterator[str]:
    yield from (entry.path for entry in entries[:MOST_PLACES])
    if len(entries) > MOST_PLACES:
        yield f"and {len(entries) - MOST_PLACES} more; --usage lists all"


def _print_entries(entries: Sequence[Entry], console: Console) -> None:
    from rich.table import Table

    table = Table("element or attribute", "", "count", "first at line")
    for entry in entries:
        inside = f" with {entry.inside} inside" if entry.inside else ""
        style = None if entry.fate == "honoured" else "yellow"
        table.add_row(entry.path, f"{entry.fate}{inside}", str(entry.count), str(entry.lines[0]), style=style)
    console.print(table)


def _print_skipped(diagnosis: Diagnosis, console: Console) -> None:
    if diagnosis.skipped:
        console.print(f"not looked at: {'; '.join(diagnosis.skipped)}")


SECTIONS = (_print_findings, _print_element_usage, _print_skipped)  # of a report, in order
