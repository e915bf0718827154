"""`treesim bench energy --ground`: contact accuracy of robots that stand, are pushed and fall on a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treesim.cli.common import output, print_json
from treesim.contact.unsolved import UNSOLVED
from treesim.errors import named
from treesim.system.progress import progress_bar
from treesim.types import Base

from ..bench.contact_runs import ContactRun, ContactSettings
from ..bench.contact_survey import contact_survey
from .tables import new_table

if TYPE_CHECKING:
    from rich.table import Table


def show_on_ground(names: Sequence[str] | None, bases: Sequence[Base], settings: ContactSettings, json: bool) -> None:
    """Print the runs of robots on a plane, as a table or as JSON; by default of all installed robots."""
    with progress_bar("simulating"):
        rows = contact_survey(names, bases, settings)
    if json:
        print_json({**settings._asdict(), "contact": [row._asdict() for row in rows]})
        return
    ran = [row for row in rows if row.steps]
    for integrator in settings.integrators:
        for dt in settings.dts:
            own = [row for row in ran if (row.integrator, row.dt) == (integrator, dt)]
            if own:
                output().print(_table(f"{integrator}, {settings.duration:g} s in steps of {1e3 * dt:g} ms", own))
    output().print("\n".join([*summary(rows), *_reasons(rows)]), soft_wrap=True)


def _table(title: str, rows: Sequence[ContactRun]) -> Table:
    table = new_table(title)
    for heading in ("robot (degrees of freedom)", "scene"):
        table.add_column(heading, no_wrap=True)
    for heading in ("steps", "contacts", "residual", "positions", "overlap", "given", "iterations", "us"):
        table.add_column(heading, justify="right")
    table.add_column("warning")
    for row in rows:
        table.add_row(
            f"{named(row.robot)} ({row.nv})", f"fixed, {row.scene}" if row.base == "fixed" else row.scene,
            str(row.steps), str(row.contacts),
            *map(_small, (row.residual, row.position_residual, row.penetration, row.given)),
            _iterations(row), "" if row.step_s is None else f"{1e6 * row.step_s:.0f}",
            ", ".join(word for word, there in (("contact", row.warning), ("stopped", row.why)) if there),
        )  # fmt: skip
    return table


def _small(number: float | None) -> str:
    return "" if number is None else f"{number:.0e}" if number else "0"


def _iterations(row: ContactRun) -> str:
    """Return the mean and the largest number of iterations in a step as text."""
    return "" if row.iterations_mean is None else f"{row.iterations_mean:.1f} ({row.iterations_max})"


def summary(rows: Sequence[ContactRun]) -> list[str]:
    """Return lines on the number of solved runs, their largest residual, and every unsolved run."""
    ran = [row for row in rows if row.steps]
    quiet = [row for row in ran if not row.warning]
    loud = [row for row in ran if row.warning]
    robots = len({row.robot for row in ran})
    worst = max((max(row.residual or 0.0, row.position_residual or 0.0) for row in quiet), default=0.0)
    lines = [
        f"{len(ran)} runs of {robots} robots: {len(quiet)} without ContactWarning, their largest residual {worst:.1e} "
        f"(a warning begins at {UNSOLVED:g}); {len(loud)} with one"
    ]
    return lines + [f"ContactWarning: {_which(row)}: {row.warning}" for row in loud]


def _which(row: ContactRun) -> str:
    return f"{named(row.robot)}, {row.base} base, {row.scene}, {row.integrator}, dt {1e3 * row.dt:g} ms"


def _reasons(rows: Sequence[ContactRun]) -> list[str]:
    """Return lines on runs that ended early, and one for each reason why robots did not run."""
    stopped = [f"stopped: {_which(row)}: {row.why}" for row in rows if row.why and row.steps]
    robots: dict[str, list[str]] = {}
    for row in rows:
        if row.why and not row.steps:
            robots.setdefault(row.why, []).append(f"{named(row.robot)} ({row.base})")
    return stopped + [f"not run: {', '.join(dict.fromkeys(which))}: {why}" for why, which in robots.items()]
