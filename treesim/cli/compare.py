"""`treesim compare ROBOT`: comparison of treesim with other engines at the same states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..system.progress import progress_bar
from .common import (
    BASE_CHOICES,
    FAILED,
    BaseOption,
    JsonOption,
    RobotArgument,
    checked_name,
    examples,
    guarded,
    option,
    print_json,
)
from .explanations import compare_descriptions, explained, is_robot_file

if TYPE_CHECKING:
    from ..types import BaseChoice


@guarded
@examples(
    "treesim compare ur5 --against pybullet,mujoco",
    "treesim compare solo12 --against mujoco --scenes all",
    "treesim compare old.urdf new.urdf --base fixed",
    "treesim compare --all --against mujoco",
    "treesim compare --high-precision ur5",
)
def compare(
    robot: RobotArgument,
    second: Annotated[str | None, typer.Argument()] = None,
    against: str = "pybullet",
    base: BaseOption = "auto",
    states: int = 100,
    steps: int = 1000,
    seed: int = 0,
    dt: float = 1e-3,
    controls: bool = False,
    scenes: Annotated[str, option(show_default=False)] = "",
    renumber: bool = False,
    timeout: float = 300.0,
    html: Path | None = None,
    json: JsonOption = False,
) -> None:
    """Compare treesim with other engines, or two descriptions of one robot, and find the causes of differences.

    The command compares the model, the mass matrix, forces and accelerations. It also compares trajectories, and how
    they converge for smaller steps. With --all, it compares all installed robots (`treesim compare --all -h`). With
    --high-precision, it compares every method with a result of 40 digits. The exit code is 1 if a quantity disagrees,
    or an engine fails.

    Options
    -------
    second
        Second description of the robot, to compare with ROBOT.
    --against
        Other engines, separated by commas (`treesim plugins` lists all engines). With mujoco:FILE.xml, ROBOT is
        compared with its second description in a MuJoCo file.
    --states
        Number of random states.
    --seed
        Seed of the random states.
    --steps
        Number of steps of the trajectory; 0 for no trajectory.
    --dt
        Time step of the trajectory (s).
    --controls
        Also run negative controls: the comparison is repeated with deliberate errors, and must detect them.
    --scenes
        Further motions to compare, separated by commas: torques, pd, damping, armature, limit, mimic, standing,
        push_held, push_sliding, or all.
    --renumber
        Repeat the comparison with bodies that are not numbered depth-first.
    --timeout
        Time limit of an engine for each evaluation of a robot (s).
    --html
        File .html to which the report and its plots are written.
    """
    import treesim.compare

    from ..plotting import comparison as page
    from ..system.files import checked_output
    from .compare_tables import print_comparison

    checked_name("base", base, BASE_CHOICES)
    if second is not None or is_robot_file(against):
        if not compare_descriptions(robot, second or against, cast("BaseChoice", base), seed, states, json):
            raise typer.Exit(FAILED)
        return
    if html is not None:
        page.require_matplotlib()
        checked_output(html, (".html", ".htm"))
    names = [name.strip() for name in against.split(",")]
    with progress_bar("comparing"):
        found = treesim.compare.compare(
            robot, against=names, base=cast("BaseChoice", base), seed=seed, states=states, steps=steps, dt=dt,
            controls=controls, timeout=timeout, scenes=[name.strip() for name in scenes.split(",") if name.strip()],
            renumber=renumber,
        )  # fmt: skip
        found = explained(found, robot, timeout)
    if html is not None:
        page.write_page(found, html)
    if json:
        print_json(found.to_dict())
    else:
        print_comparison(found)
    if not found.passed:
        raise typer.Exit(FAILED)
