"""What objects show of themselves in notebooks, and numbers in one line."""

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
    """Base of classes that notebooks show as a table: `repr`, and the rows (label, value) of `_repr_fields`."""

    __slots__ = ()

    def _repr_fields(self) -> Iterable[Sequence[Any]]:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_table(repr(self), self._repr_fields())


class Implementation(ReprMixin):
    """A base of what `plugins.get` returns: shows what it is, its name, and what there is to say about it.

    what: one of its kind, in a few words.
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
    """An implementation of which there is to say where it was published."""

    source: ClassVar[str]

    def _about(self) -> list[str]:
        return [self.source]


def page_html(url: str, title: str) -> str:
    """Return HTML that shows the page at an address in a notebook."""
    return (
        f'<iframe src="{escape(url)}" title="{escape(title)}" width="100%" height="{PAGE_HEIGHT}" '
        'style="border: 0"></iframe>'
    )


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


def arrays(thing: Any, *labels: str) -> list[tuple[str, str]]:
    """Return facts of an object's attributes that are arrays: shape and type of number."""
    found = ((label, np.asarray(getattr(thing, label))) for label in labels)
    return [(label, f"{array.shape} {array.dtype}") for label, array in found]


def matrix(label: str, rows: Iterable[Iterable[float]]) -> list[tuple[str, str]]:
    """Return facts of a small matrix: one for each row, the first with the label."""
    return [("" if k else label, vector(row)) for k, row in enumerate(rows)]


def batch(array: Any, axes: int = 1) -> str:
    """Return what to append to a line about arrays of several states, whose own axes are the last; nothing for one."""
    leading = np.shape(array)[: np.ndim(array) - axes]
    return f", {' x '.join(map(str, leading))} states" if leading else ""


def selection(rows: Any) -> str:
    """Return in a few words what selects rows: a matrix of them, a name, or None for all; never raises."""
    if rows is None or isinstance(rows, str):
        return "all rows" if rows is None else f"rows {shortened(rows)!r}"
    try:
        return f"{np.shape(rows)[0]} rows"
    except (ValueError, IndexError):
        return "rows of an odd shape"


def vector(numbers: Iterable[float]) -> str:
    """Return a few numbers in one line."""
    return f"({', '.join(f'{x:.4g}' for x in numbers)})"


def span(numbers: Iterable[float]) -> str:
    """Return the least and the greatest of some numbers, one of them if they are the same, "none" without any."""
    values = list(numbers)
    if not values:
        return "none"
    low, high = min(values), max(values)
    return f"{low:.4g}" if low == high else f"{low:.4g} ... {high:.4g}"
