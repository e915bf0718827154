"""`treesim cost`: cost of every algorithm on a robot, and the papers' tables recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treesim.cli.common import BaseOption, JsonOption, MimicOption, OptionalRobotArgument, examples, guarded, load_robot
from treesim.errors import ArgumentError


@guarded
@examples(
    "treesim cost talos_full_v2 --base floating",
    "treesim cost --papers",
    'treesim cost --tree "0 1 1 2 2 3 3" --dofs 6,1,1,3,1,1,1 --frames 4,7 --vary joints_per_limb=0..20',
)
def cost(
    robot: OptionalRobotArgument = None,
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
    tree: Annotated[
        str | None, typer.Option(help="Count on this tree instead: the parents λ(1) ... λ(N) of its bodies.")
    ] = None,
    dofs: Annotated[
        str | None, typer.Option(help="Degrees of freedom of the joints of --tree. Default: 1 of each.")
    ] = None,
    frames: Annotated[str | None, typer.Option(help="Bodies of --tree with task frames. Default: limb tips.")] = None,
    vary: Annotated[
        str | None, typer.Option(help="Add joints to every limb of --tree: joints_per_limb=FIRST..LAST.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare formulas, counted operations and times of every algorithm on ROBOT, and advise one.

    Or recompute the papers' tables (--papers), compare the advice with measured
    times on many trees (--advice), or evaluate the formulas on a tree that is
    typed in (--tree).
    """
    if sum((papers, advice, robot is not None, tree is not None)) != 1:
        raise ArgumentError("give one of ROBOT, --tree, --papers and --advice")
    if tree is None and not (dofs is frames is vary is None):
        raise ArgumentError("--dofs, --frames and --vary are for --tree; frames of ROBOT are named by --frame")
    if tree is not None:
        from .cost_tree import show_tree

        show_tree(tree, dofs, frames, vary, json)
    elif papers:
        from .cost_papers import show_papers

        show_papers(plot, json)
    elif advice:
        from .cost_advice import show_advice

        show_advice(max(1, repeats), json)
    else:
        from .cost_robot import show_robot

        show_robot(load_robot(str(robot), base, mimic), base, frame, repeats, plot, json)
