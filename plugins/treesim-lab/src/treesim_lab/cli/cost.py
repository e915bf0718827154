"""`treesim cost`: cost of every algorithm on a robot, and the papers' tables recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from treesim.cli.common import (
    BaseOption,
    JsonOption,
    MimicOption,
    OptionalRobotArgument,
    examples,
    guarded,
    load_robot,
    option,
)
from treesim.errors import ArgumentError


@guarded
@examples(
    "treesim cost talos_full_v2 --base floating",
    "treesim cost --papers",
    'treesim cost --tree "0 1 1 2 2 3 3" --dofs 6,1,1,3,1,1,1 --frames 4,7 --vary joints_per_limb=0..20',
)
def cost(
    robot: OptionalRobotArgument = None,
    papers: bool = False,
    advice: bool = False,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    frame: list[str] | None = None,
    repeats: Annotated[int, option(min=0)] = 20,
    plot: Path | None = None,
    tree: str | None = None,
    dofs: str | None = None,
    frames: str | None = None,
    vary: str | None = None,
    json: JsonOption = False,
) -> None:
    """Compare the cost of every algorithm on ROBOT by formulas, counted operations and times, and recommend one.

    With --papers, recompute the tables of published papers. With --advice, compare the recommendations with measured
    times on many trees. With --tree, evaluate the formulas on a tree that is given by the parents of its bodies.

    Options
    -------
    --papers
        Recompute the tables of published papers. ROBOT is not used.
    --advice
        Compare the recommendations with measured times on many trees. ROBOT is not used.
    --frame
        Task frame of the inverse operational-space inertia. May be repeated. Default: limb tips.
    --repeats
        Number of rounds of timing; 0 for no timing.
    --plot
        File for a plot of the sparsity patterns of the mass matrix and its factor. With --papers, the file contains the
        figures of the papers.
    --tree
        Parents λ(1) ... λ(N) of the bodies of a tree. Operations are counted for this tree instead of ROBOT.
    --dofs
        Degrees of freedom of each joint of --tree. Default: 1 for each joint.
    --frames
        Numbers of the bodies of --tree that have task frames. Default: limb tips.
    --vary
        Numbers of joints to add to every limb of --tree: joints_per_limb=FIRST..LAST.
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
