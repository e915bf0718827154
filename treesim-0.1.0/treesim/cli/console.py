"""Rich console that prints text verbatim: no markup, emoji or terminal control sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
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
        """Return the segments of any renderable, with text that was not passed as str escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)

    def status(self, status: RenderableType, **options: Any) -> Status:
        """Return a status whose texts, unlike rich's, are not interpreted as markup."""
        shown = super().status(_text(status), **options)
        update = shown.update
        shown.update = lambda status=None, **more: update(_text(status), **more)  # type: ignore[method-assign]
        return shown

    def on_broken_pipe(self) -> None:
        """Do nothing: the stream has already raised SystemExit."""


def _text(status: Any) -> Any:
    return Text(escaped(status)) if isinstance(status, str) else status
