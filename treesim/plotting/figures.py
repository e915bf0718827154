"""Figures without a window, which notebooks show, and files of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np

from ..errors import ArgumentError, quoted, reason_of
from ..system.files import checked_output, write_whole
from ..system.installation import installed_by
from ..validation.values import parts_or_none

PLOT_SUFFIXES = (".png", ".svg", ".pdf")
ALIKE = 0.01  # of the height of a panel: curves within it coincide, and are drawn with dashes over the first
DASHES = ("-", (0, (5, 5)), (0, (2, 8)), (5, (2, 8)))  # of curves that coincide


def require_matplotlib() -> None:
    """Raise ArgumentError with the install command if matplotlib is missing."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise ArgumentError(f"plots need matplotlib: {installed_by('.[plot]')}")


@cache
def _figure_class() -> Any:
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """Figure that a notebook shows without pyplot."""

        def _repr_png_(self) -> bytes:
            stream = BytesIO()
            self.savefig(stream, format="png", dpi=110)
            return stream.getvalue()

    return ShownFigure


def new_figure(columns: int, width: float, height: float, rows: int = 1, sharex: bool = False) -> tuple[Any, Any]:
    """Return a figure without a window and its axes, row by row.

    columns, rows: of axes. width, height: [inch]. sharex: whether axes have the same range of x. Raises ArgumentError
    without matplotlib.
    """
    require_matplotlib()
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, sharex=sharex, squeeze=False).ravel()


def panels_of(axes: Any, count: int, width: float, height: float) -> tuple[Any, Sequence[Any]]:
    """Return a figure and its `count` panels, one below the other: those given, or new ones of width and height [inch].

    Raises ArgumentError for another number of axes.
    """
    if axes is None:
        return new_figure(1, width, height * count + 0.8, count, sharex=True)
    given = parts_or_none(axes.ravel() if isinstance(axes, np.ndarray) else axes) or (axes,)
    if len(given) != count or not all(hasattr(each, "get_figure") for each in given):
        raise ArgumentError(f"axes must be {count} axes of Matplotlib, one for each quantity, got {len(given)} values")
    return given[0].get_figure(), given


def draw_curves(axes: Any, x: np.ndarray, curves: Sequence[tuple[str, np.ndarray]], extent: float = 0.0) -> None:
    """Draw curves by name; those that coincide with others have dashes, between which the others are visible.

    extent: least height of the panel in units of the curves.
    """
    finite = np.concatenate([y[np.isfinite(y)] for _, y in curves])
    extent = max(extent, float(np.ptp(finite)) if finite.size else 0.0)
    for k, (name, y) in enumerate(curves):
        alike = sum(_coincide(y, other, ALIKE * extent) for _, other in curves[:k])
        marker = "o" if np.isfinite(y).sum() == 1 else None
        axes.plot(x, y, label=name, linewidth=1.4, marker=marker, linestyle=DASHES[min(alike, len(DASHES) - 1)])


def _coincide(one: np.ndarray, other: np.ndarray, distance: float) -> bool:
    both = np.isfinite(one) & np.isfinite(other)
    return bool(both.any()) and float(np.abs(one - other)[both].max()) <= distance


def save(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """Return a figure, written to a file if there is a path; raises ArgumentError, naming the file, if it cannot be."""
    if path is not None:
        file = checked_output(path, PLOT_SUFFIXES)
        try:
            write_whole(file, lambda stream: figure.savefig(stream, format=file.suffix[1:].lower(), dpi=150))
        except ArgumentError:
            raise
        except (OSError, ValueError) as error:
            raise ArgumentError(f"cannot write the plot {quoted(str(file))}: {reason_of(error)}") from None
    return figure
