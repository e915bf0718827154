"""Progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

LABEL_WIDTH = 24  # of the end of a label, on a line of 80


@dataclass
class _Bar:
    """Open progress bar: its callback (done, total, label), and whether a loop is shown on it."""

    show: Callable[[int, int, str], None]
    busy: bool = False


_open: ContextVar[_Bar | None] = ContextVar("_open", default=None)


@contextmanager
def progress_bar(
    what: str, show: bool = True, done: int = 0, total: int | None = None
) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar in a context, if standard error is a terminal; yields its callback (done, total) or None.

    what: text before the bar. done, total: numbers at the beginning; total is None if it is not yet known. The bar
    also shows the loops in the context that are `counted`, and disappears at the end.
    """
    stream = sys.stderr
    if not (show and _is_terminal(stream)):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    fields = ("description", "fields[count]", "fields[label]")
    name, count, label = (TextColumn(f"{{task.{x}}}", markup=False, table_column=Column(no_wrap=True)) for x in fields)
    columns = (name, BarColumn(20), count, TimeRemainingColumn(), label)

    def update(done: int, total: int | None, label: str = "") -> None:
        count = "" if total is None else f"{done:,}/{total:,}"
        shown = label if len(label) <= LABEL_WIDTH else f"...{label[3 - LABEL_WIDTH :]}"
        bar.update(task, completed=done, total=total, count=count, label=shown)

    # standard output stays as it is: it may be a file
    with Progress(*columns, console=Console(file=stream), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, count="", label="")
        update(done, total)
        token = _open.set(_Bar(update))
        try:
            yield update
        finally:
            _open.reset(token)


def counted(items: Iterable[T], label: Callable[[T], str] = str, total: int | None = None) -> Iterator[T]:
    """Yield the items, and show their number and the label of the next one on the open progress bar, if there is one.

    total: number of the items, by default their `len`. Loops inside a loop of several items are not shown.
    """
    bar, total = _open.get(), total or len(items)  # type: ignore[arg-type]
    if bar is None or bar.busy or total < 2:
        yield from items
        return
    bar.busy = True
    try:
        for done, item in enumerate(items):
            bar.show(done, total, label(item))
            yield item
    finally:
        bar.busy = False


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):  # of another object, such as None, and of a closed file
        return False
