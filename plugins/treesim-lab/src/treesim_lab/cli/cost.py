"""`treesim cost`: cost of every algorithm on a robot, and the papers' tables recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treesim.cli.common import BaseOption, JsonOption, MimicOption, examples, guarded, load_robot
from treesim.errors import ArgumentError


@guarded
@examples(
    "treesim cost talos_full_v2 --base floating",
    "treesim cost --papers",
)
def cost(
    robot: Annotated[
        str | None,
        typer.Argument(metavar="[ROBOT]", help="A URDF file, or the name of an installed robot.", show_default=False),
    ] = None,
    papers: Annotated[bool, typer.Option("--papers", help="Recompute the papers' tables instead.")] = False,
    advice: Annotated[bool, typer.Option("--advice", help="Compare the advice with measured times instead.")] = False,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    frame: Annotated[
        list[str] | None,
        typer.Option(help="A task frame of the inverse operational inertia; may be repeated. Default: limb tips."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=0, help="Rounds of timing; 0 leaves times out.")] = 20,
    plot: Annotated[
        Path | None,
        typer.Option(help="Plot the pattern of mass matrix and factor, or with --papers the figures, to this file."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare formulas, counted operations and times of every algorithm on ROBOT, and advise one.

    Or recompute the papers' tables (--papers), or compare the advice with
    measured times on many trees (--advice).
    """
    if sum((papers, advice, robot is not None)) != 1:
        raise ArgumentError("give one of ROBOT, --papers and --advice")
    if papers:
        from .cost_papers import show_papers

        show_papers(plot, json)
    elif advice:
        from .cost_advice import show_advice

        show_advice(max(1, repeats), json)
    else:
        from .cost_robot import show_robot

        show_robot(load_robot(str(robot), base, mimic), base, frame, repeats, plot, json)
