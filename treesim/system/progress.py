"""Progress bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    what: str, show: bool = True, done: int = 0, total: int | None = None
) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar in a context, if standard error is a terminal; yields its callback (done, total) or None.

    what: text before the bar. done, total: numbers at the beginning; total is None if it is not yet known. The bar
    disappears at the end.
    """
    stream = sys.stderr
    if not (show and _is_terminal(stream)):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # standard output stays as it is: it may be a file
    with Progress(*columns, console=Console(file=stream), transient=True, redirect_stdout=False) as bar:
        task = bar.add_task(what, completed=done, total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):  # of another object, such as None, and of a closed file
        return False
