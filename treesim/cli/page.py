"""`treesim view --html`: a robot with its physics as one file, instead of a page that follows this program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, UnsupportedError
from . import common

if TYPE_CHECKING:
    from .setup import Setup

HtmlOption = Annotated[
    Path | None,
    typer.Option(
        help="Write one .html file that simulates the robot without Python, server or network, and end. Without a "
        "--controller joints are held about the start; without a ground a floating robot begins without gravity.",
        show_default=False,
    ),
]


def checked_page(
    html: Path, window: Any, viewer: str, options: dict[str, Any], ghost: str | None, duration: float | None
) -> None:
    """Raise ArgumentError for options that such a file does not know, and for a file that cannot be written,
    UnsupportedError for a viewer that writes no pages."""
    from ..files import checked_output
    from ..viewers.base import PageWriter

    for name in ("push", "substeps"):
        if options[name] is not None:
            raise ArgumentError(
                f"--{name} does not go with --html: the page steps as it needs, and nobody pushes in it"
            )
    if ghost is not None:
        raise ArgumentError("--ghost does not go with --html: the page simulates one robot")
    if duration is not None:
        raise ArgumentError("--duration does not go with --html: the page plays until it is closed")
    if options["controller"] is not None:
        common.checked_name("controller of --html", options["controller"], ("none", "hold"))
    checked_output(html, (".html", ".htm"))
    if not isinstance(window, PageWriter):
        raise UnsupportedError(f"viewer {viewer!r} writes no pages that simulate: it has no method `write_page`")


def write_page(html: Path, window: Any, setup: Setup, options: dict[str, Any], speed: float, json: bool) -> None:
    """Write the file, and say so."""
    chosen = options["controller"] is not None or setup.controller != "none"
    gains = {"kp": setup.kp, "kd": setup.kd} if chosen else {name: options[name] for name in ("kp", "kd")}
    settings = {name: options[name] for name in ("dt", "backend", "integrator", "contact_solver")}
    path = window.write_page(
        setup.simulation.world, html, setup.q, v0=setup.v, controller=setup.controller if chosen else None,
        gravity=setup.simulation.gravity, speed=speed, **gains, **settings,
    )  # fmt: skip
    size = path.stat().st_size
    if json:
        common.print_json({"robot": setup.robot.name, "html": str(path), "bytes": size})
    else:
        common.output().print(f"wrote {path} ({size / 1e6:.1f} MB)", soft_wrap=True, highlight=False)
