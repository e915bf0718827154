"""`treesim bench accuracy ROBOT...`: errors of every engine against 40 digits, and distances between engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treesim.cli.common import checked_loading, output, print_json
from treesim.errors import named
from treesim.system.progress import progress_bar

from ..bench.accuracy import EXACT_STATES, robot_rows
from .tables import new_table, print_notes

TABLES = (
    ("float64: engines apart (what rounding M and the forces once does), relative", ("apart", "sensitivity")),
    ("float64: errors against exact digits, generic and specialized code, relative", ("generic", "specialized")),
    ("float32: specialized code from float64 on the same numbers, relative", ("single",)),
)


def show_robots(names: Sequence[str], base: str, mimic: str | None, states: int, json: bool) -> None:
    """Print the errors on robots, as tables or as JSON."""
    notes: list[str] = []
    with progress_bar("computing"), checked_loading(base, mimic):
        rows = list(robot_rows(names, base, mimic, states, notes))
    if json:
        print_json({"base": base, "states": states, "robots": rows, "notes": notes})
        return
    for title, keys in TABLES:
        _print(title, keys, rows)
    output().print(
        f"The worst of {states} random states on the {base} base, of {EXACT_STATES} for exact digits; forces of "
        "accelerations of order one.",
        soft_wrap=True,
    )
    print_notes(notes)


def _print(title: str, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Print a table of kernels over robots, with one or two kinds of error."""
    shown = new_table(title, "", *(f"{named(row['robot'])} ({row['nv']})" for row in rows))
    for k, first in enumerate(rows[0]["errors"]):
        shown.add_row(first["problem"], *(_cell(row["errors"][k], keys) for row in rows))
    output().print(shown)


def _cell(errors: dict[str, Any], keys: Sequence[str]) -> str:
    first, *second = ("-" if errors[key] is None else f"{errors[key]:.0e}" for key in keys)
    if keys[1:] == ("sensitivity",):
        return f"{first} ({second[0]})" if errors["sensitivity"] else first
    return ", ".join((first, *second))
