"""Tables and notes, as the lab's commands print them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from treesim.cli.common import output

if TYPE_CHECKING:
    from rich.table import Table


def new_table(title: str | None, *texts: str, numbers: Iterable[str] = (), last: Iterable[str] = ()) -> Table:
    """Return an empty table with columns of text, then of numbers, then of text again, by their headings."""
    from rich.table import Table  # imported here, as only commands that print a table need it

    table = Table(*texts, title=title, title_justify="left")
    for heading in numbers:
        table.add_column(heading, justify="right")
    for heading in last:
        table.add_column(heading)
    return table


def add_groups(table: Table, rows: Iterable[Iterable[str]]) -> None:
    """Add rows whose first cell names their group: a section for each group, its name only in its first row."""
    before = None
    for group, *cells in rows:
        if before is not None and group != before:
            table.add_section()
        table.add_row("" if group == before else group, *cells)
        before = group


def print_notes(notes: Iterable[str]) -> None:
    """Print each note once."""
    for note in dict.fromkeys(notes):
        output().print(f"note: {note}", soft_wrap=True)
