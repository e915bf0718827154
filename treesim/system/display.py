"""Representations of objects in notebooks, and of numbers in one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from ..errors import shortened

MOST_ROWS = 60  # of a table in a notebook
PAGE_HEIGHT = 480  # pixels, of a page in a notebook


class ReprMixin:
    """Base class with an HTML table for notebooks: `repr`, and the rows (label, value) of `_repr_fields`.

    _row_labels: names of the attributes that are the rows of a class without `_repr_fields` of its own.
    """

    __slots__ = ()

    _row_labels: ClassVar[tuple[str, ...]]

    def _repr_fields(self) -> Iterable[Sequence[Any]]:
        return [(label, getattr(self, label)) for label in self._row_labels]

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._repr_fields())


class Implementation(ReprMixin):
    """Base class of what `plugins.get` returns, with a representation: kind, name and description.

    what: name of the kind.
    """

    name: ClassVar[str]
    what: ClassVar[str]

    def _about(self) -> list[str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.what} {self.name!r}: {', '.join(filter(None, self._about()))}>"

    def _repr_fields(self) -> list[tuple[str, str]]:
        return [("", about) for about in self._about()]


class Sourced(Implementation):
    """An implementation with a literature source in its representation."""

    source: ClassVar[str]

    def _about(self) -> list[str]:
        return [self.source]


def page_html(url: str, title: str) -> str:
    """Return HTML that shows the page at `url` in a notebook."""
    return (
        f'<iframe src="{escape(url)}" title="{escape(title)}" width="100%" height="{PAGE_HEIGHT}" '
        'style="border: 0"></iframe>'
    )


def html_table(title: str, rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> str:
    """Return an HTML table of at most MOST_ROWS rows; cells are escaped text."""
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


def arrays(thing: Any, *labels: str) -> list[tuple[str, str]]:
    """Return (label, shape and dtype) of an object's attributes that are arrays."""
    found = ((label, np.asarray(getattr(thing, label))) for label in labels)
    return [(label, f"{array.shape} {array.dtype}") for label, array in found]


def matrix(label: str, rows: Iterable[Iterable[float]]) -> list[tuple[str, str]]:
    """Return (label, text) of each row of a small matrix; only the first has a label."""
    return [("" if k else label, vector(row)) for k, row in enumerate(rows)]


def batch(array: Any, axes: int = 1) -> str:
    """Return the part of a representation about batch axes; empty for one state.

    axes: number of axes of one state, which are the last.
    """
    leading = np.shape(array)[: np.ndim(array) - axes]
    return f", {' x '.join(map(str, leading))} states" if leading else ""


def selection(rows: Any) -> str:
    """Return a short text about selected rows: a matrix, a name, or None for all; never raises."""
    if rows is None or isinstance(rows, str):
        return "all rows" if rows in (None, "all") else f"rows {shortened(rows)!r}"
    try:
        return f"{np.shape(rows)[0]} rows"
    except (ValueError, IndexError):
        return "rows of an odd shape"


def vector(numbers: Iterable[float]) -> str:
    """Return a few numbers in one line."""
    return f"({', '.join(f'{x:.4g}' for x in numbers)})"


def span(numbers: Iterable[float]) -> str:
    """Return the smallest and the largest of some numbers, one of them if equal, "none" without any."""
    values = list(numbers)
    if not values:
        return "none"
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} ... {high:.4g}"
