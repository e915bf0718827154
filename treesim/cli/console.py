"""Rich console that prints text verbatim: no markup, emoji or terminal control sequences."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from typing import IO, Any, cast

from rich.box import MINIMAL
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from .streams import Stream, escaped


class PlainConsole(Console):
    """Console that prints strings verbatim, with unprintable characters escaped."""

    def __init__(self, stream: Stream, width: int | None = None) -> None:
        file = cast("IO[str]", stream)
        super().__init__(file=file, width=width, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:  # type: ignore[override]
        """Return a string as it is printed; escaped before it is measured, so that tables fit."""
        return super().render_str(escaped(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return the segments of any renderable, with text that was not passed as str escaped.

        Cells wrap long names after _ and the like, where rich would cut them off. Tables that are too wide for a
        terminal have no margins.
        """
        options = options or self.options
        if self.is_terminal and isinstance(renderable, Table) and renderable.box and self._too_wide(renderable):
            renderable = copy(renderable)
            renderable.box, renderable.padding, renderable.show_edge = MINIMAL, 0, False
        elif options.overflow == "ellipsis":  # of a cell
            options = options.update(overflow="fold")
            if isinstance(renderable, str):
                renderable = re.sub(r"\S+", lambda name: _wrapped(name.group(), options.max_width), renderable)
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)

    def _too_wide(self, table: Table) -> bool:
        unwrapped = self.options.update(max_width=1 << 16)
        return Measurement.get(self, unwrapped, table).maximum > self.width

    def on_broken_pipe(self) -> None:
        """Do nothing: the stream has already raised SystemExit."""


def _wrapped(name: str, width: int) -> str:
    """Return a name broken into lines of at most the width, if its parts are short enough."""
    lines = [""]
    for part in re.split(r"(?<=[_/.-])(?=\w)", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
