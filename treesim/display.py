"""What objects show of themselves in notebooks, and numbers in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

from .errors import shortened

MOST_ROWS = 60  # of a table in a notebook


class Shown:
    """A base of classes that notebooks show as a table: under `repr`, the rows (label, value) that `_facts` returns."""

    __slots__ = ()

    def _facts(self) -> Iterable[Sequence[Any]]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._facts())


def html_table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """Return an HTML table of at most MOST_ROWS rows, whose cells are text, escaped."""
    shown = list(islice(rows, MOST_ROWS + 1))
    if len(shown) > MOST_ROWS:
        shown[MOST_ROWS:] = [("...",)]
    lines = [f"<table><caption>{escape(title)}</caption>"]
    if header:
        lines.append(_row(header, "th"))
    lines += [_row(row, "td") for row in shown]
    return "\n".join([*lines, "</table>"])


def _row(cells: Sequence[Any], tag: str) -> str:
    texts = (f'<{tag} style="text-align: left">{escape(shortened(str(cell)))}</{tag}>' for cell in cells)
    return f"<tr>{''.join(texts)}</tr>"


def vector(numbers: Iterable[float]) -> str:
    """Return a few numbers in one line."""
    return f"({', '.join(f'{x:.4g}' for x in numbers)})"


def span(numbers: Sequence[float]) -> str:
    """Return the least and the greatest of some numbers, one of them if they are the same, "none" without any."""
    values = list(numbers)
    if not values:
        return "none"
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} ... {high:.4g}"
