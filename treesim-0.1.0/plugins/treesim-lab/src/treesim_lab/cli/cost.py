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
    papers: Annotated[
        bool, typer.Option("--papers", help="Recompute the tables of published papers. ROBOT is not used.")
    ] = False,
    advice: Annotated[
        bool,
        typer.Option(
            "--advice", help="Compare the recommendations with measured times on many trees. ROBOT is not used."
        ),
    ] = False,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    frame: Annotated[
        list[str] | None,
        typer.Option(help="Task frame of the inverse operational-space inertia. May be repeated. Default: limb tips."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=0, help="Number of rounds of timing; 0 for no timing.")] = 20,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="File for a plot of the sparsity patterns of the mass matrix and its factor. With --papers, the file "
            "contains the figures of the papers."
        ),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option(
            help="Parents λ(1) ... λ(N) of the bodies of a tree. Operations are counted for this tree instead of ROBOT."
        ),
    ] = None,
    dofs: Annotated[
        str | None, typer.Option(help="Degrees of freedom of each joint of --tree. Default: 1 for each joint.")
    ] = None,
    frames: Annotated[
        str | None, typer.Option(help="Numbers of the bodies of --tree that have task frames. Default: limb tips.")
    ] = None,
    vary: Annotated[
        str | None, typer.Option(help="Numbers of joints to add to every limb of --tree: joints_per_limb=FIRST..LAST.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compare the cost of every algorithm on ROBOT by formulas, counted operations and times, and recommend one.

    With --papers, recompute the tables of published papers. With --advice, compare the recommendations with measured
    times on many trees. With --tree, evaluate the formulas on a tree that is given by the parents of its bodies.
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
