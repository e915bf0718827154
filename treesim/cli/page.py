"""`treesim view --html`: a robot with its physics as one file, instead of a page that follows this program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError, UnsupportedError
from . import common
from .states import gravity_vector, initial_state

HtmlOption = Annotated[
    Path | None,
    typer.Option(
        help="Write one .html file that simulates the robot without Python or network, and end. Joints are held about "
        "the start, a floating robot begins without gravity; the file knows no contact and no joint friction.",
        show_default=False,
    ),
]


def write_page(
    html: Path,
    source: str,
    viewer: str,
    json: bool,
    *,
    base: str,
    mimic: str | None,
    q0: str | None,
    seed: int | None,
    controller: str,
    gravity: str | None,
    left_out: dict[str, object],
    **settings: Any,
) -> None:
    """Write the file and say so. left_out: options that such a file does not know, which must not be given.

    Raises ArgumentError for these, for controllers other than none and hold, and for a file that cannot be written,
    UnsupportedError for a viewer that writes no pages.
    """
    from ..files import checked_output
    from ..viewers.base import PageWriter

    given = [name for name, value in left_out.items() if value not in (None, False)]
    if given:
        raise ArgumentError(
            f"{given[0]} does not go with --html: the file simulates the robot alone, from rest and without an end"
        )
    common.checked_name("controller of --html", controller, ("none", "hold"))
    checked_output(html, (".html", ".htm"))
    window = common.get_viewer(viewer)
    if not isinstance(window, PageWriter):
        raise UnsupportedError(f"viewer {viewer!r} writes no pages that simulate: it has no method `write_page`")
    field = None if gravity is None else gravity_vector(gravity)
    robot = common.load_robot(source, base, mimic)
    q, _ = initial_state(robot, q0, None, seed)
    path = window.write_page(robot, html, q, gravity=field, **settings)
    if json:
        common.print_json({"robot": robot.name, "html": str(path), "bytes": path.stat().st_size})
    else:
        common.output().print(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)", soft_wrap=True, highlight=False)
