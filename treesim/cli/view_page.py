"""`treesim view --html`: a robot with its simulation as one file that runs without this program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, UnsupportedError
from . import common

if TYPE_CHECKING:
    from .policies import ContractPolicy
    from .simulation_options import SimulationSetup, ViewOptions

UNKNOWN = {  # options that such a file does not support, and why
    "push": "the page steps as it needs, and nobody pushes in it",
    "force": "the page steps as it needs, and nobody pushes in it",
    "substeps": "the page steps as it needs, and nobody pushes in it",
    "noise": "observations on the page have no noise",
    "reference": "the page simulates one robot",
    "others": "the page simulates one robot",
    "duration": "the page plays until it is closed",
    "port": "the page is a file, which no server serves",
    "no_browser": "no browser is opened for a file",
    "until_closed": "the program ends when the file is written",
}


def checked_page(html: Path, window: Any, viewer: str, options: dict[str, Any]) -> None:
    """Raise an error if the page cannot be written with these options.

    ArgumentError for unsupported options and for a file that cannot be written, UnsupportedError for a viewer
    that writes no pages.
    """
    from ..system.files import checked_output
    from ..viewing.protocols import PageWriter

    for name, why in UNKNOWN.items():
        if options[name] is not None and options[name] is not False:
            raise ArgumentError(f"{common.option_name(name)} does not go with --html: {why}")
    if options["controller"] is not None:
        common.checked_name("controller of --html", options["controller"], ("none", "hold"))
    checked_output(html, (".html", ".htm"))
    if not isinstance(window, PageWriter):
        raise UnsupportedError(f"viewer {viewer!r} writes no pages that simulate: it has no method `write_page`")


def write_page(
    html: Path, window: Any, setup: SimulationSetup, options: ViewOptions, speed: float, json: bool,
    policy: ContractPolicy | None,
) -> None:  # fmt: skip
    """Write the file and report it."""
    settings = {name: getattr(options, name) for name in ("dt", "backend", "integrator", "contact_solver")}
    if policy is not None and setup.policy is not None:
        settings |= {"policy": setup.policy, "command": policy.numbers(setup.policy)}
    path = window.write_page(
        setup.simulation.world, html, setup.q, v0=setup.v, controller=setup.controller, kp=setup.kp, kd=setup.kd,
        gravity=setup.simulation.gravity, speed=speed, **settings,
    )  # fmt: skip
    common.report_file(setup.robot, "html", path, json)
