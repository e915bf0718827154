"""`treesim cost --papers`: the papers' tables compared with recomputed values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treesim.cli.common import output, print_json

from ..cost.papers import Row, rows
from ..plotting.papers import save_figures
from .tables import new_table


def show_papers(plot: Path | None, json: bool) -> None:
    """Print every row of the papers' tables; draw the papers' figures to `plot`."""
    if plot is not None:
        save_figures(plot)
    table = rows()
    if json:
        print_json([row.as_dict() for row in table])
        return
    _print_papers(table)
    if plot is not None:
        output().print(f"wrote {plot}", soft_wrap=True)


def _print_papers(rows: list[Row]) -> None:
    console = output()
    for source in dict.fromkeys(row.source for row in rows):
        table = new_table(source, "quantity", "kind", "printed", "computed", "agrees", "note")
        for row in rows:
            if row.source == source:
                agrees = {True: "yes", False: "NO", None: ""}[row.agrees]
                table.add_row(row.quantity, row.kind, _text(row.printed), _text(row.computed), agrees, row.note)
        console.print(table)
    console.print(_summary(rows), soft_wrap=True)
    for row in rows:
        if row.kind in ("result", "formula") and not row.agrees:
            console.print(f"{row.source}, {row.quantity}: {row.note}", soft_wrap=True)


def _summary(rows: list[Row]) -> str:
    """Return the numbers of results and formulas that agree, and of inputs, other readings and derived values."""
    kinds = {kind: [row for row in rows if row.kind == kind] for kind in dict.fromkeys(row.kind for row in rows)}
    agreeing = {kind: f"{sum(row.agrees is True for row in listed)} of {len(listed)}" for kind, listed in kinds.items()}
    return (
        f"{agreeing['result']} printed results agree, and {agreeing['formula']} values of printed formulas. "
        f"Not compared: {len(kinds['input'])} inputs, {len(kinds['reading'])} other readings, "
        f"{len(kinds['derived'])} derived numbers"
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return " + ".join(f"{count} {name}" for name, count in value.items())
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)
