"""Figures without a window, and files of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ArgumentError, quoted, reason_of
from ..system.files import write_whole
from ..system.installation import installed_by


def require_matplotlib() -> None:
    """Raise ArgumentError with the install command if matplotlib is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ArgumentError(f"plots need matplotlib: {installed_by('.[plot]')}")


def new_figure(columns: int, width: float, height: float, rows: int = 1, sharex: bool = False) -> tuple[Any, Any]:
    """Return a figure without a window and its axes, row by row.

    columns, rows: of axes. width, height: [inch]. sharex: whether axes have the same range of x. Raises ArgumentError
    without matplotlib.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, sharex=sharex, squeeze=False).ravel()


def save(figure: Any, path: Path) -> None:
    """Write a figure; raises ArgumentError, naming the file, if it cannot be written or its suffix is unknown."""
    try:
        write_whole(path, lambda stream: figure.savefig(stream, format=path.suffix[1:].lower() or None, dpi=150))
    except ArgumentError:
        raise
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot write the plot {quoted(str(path))}: {reason_of(error)}") from None
