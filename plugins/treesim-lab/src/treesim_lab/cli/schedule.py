"""`treesim bench schedule`: stages of parallel elimination of a robot's joints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from treesim.cli import common
from treesim.cli.common import BaseOption, JsonOption, MimicOption, RobotArgument, examples, guarded
from treesim.errors import named
from treesim.system.progress import counted, progress_bar

from .tables import new_table

if TYPE_CHECKING:
    from treesim.dynamics.schedule import Schedule
    from treesim.model.tree import Tree

MOST_BODIES = 8  # named in a row of the table


@guarded
@examples(
    "treesim bench schedule talos_full_v2",
    "treesim bench schedule go2 --base floating",
)
def schedule(
    robot: RobotArgument,
    method: str | None = None,
    frame: list[str] | None = None,
    base: BaseOption = "auto",
    mimic: MimicOption = None,
    plot: Path | None = None,
    json: JsonOption = False,
) -> None:
    """Show the critical path of ROBOT's forward dynamics, and the parts that can run in parallel.

    Options
    -------
    --method
        Method whose stages are listed. By default, the command compares all methods that have stages.
    --frame
        Frame whose inverse operational-space inertia is scheduled instead of forward dynamics. May be repeated.
    --plot
        File to which the schedule is plotted: .png, .svg or .pdf.
    """
    from treesim.dynamics.compiled.schedules import schedule as schedule_of
    from treesim.dynamics.compiled.schedules import scheduled_methods
    from treesim.plotting import PLOT_SUFFIXES, require_matplotlib
    from treesim.system.files import checked_output

    if plot is not None:
        checked_output(plot, PLOT_SUFFIXES)
        require_matplotlib()
    if method is not None:
        common.checked_name("method that works by stages", method, scheduled_methods(frame))
    tree = common.load_robot(robot, base, mimic)
    with progress_bar("counting operations"):
        schedules = [
            schedule_of(tree, name, frames=frame) for name in counted([method] if method else scheduled_methods(frame))
        ]
    if json:
        common.print_json([_repr_fields(tree, one) for one in schedules])
    elif method:
        _print_stages(tree, schedules[0])
    else:
        _print_comparison(tree, schedules, frame)
    if plot is not None:
        from ..plotting.schedule import draw

        draw(tree, schedules, plot)
        if not json:
            common.output().print(f"drawn: {plot}", soft_wrap=True)


def _repr_fields(tree: Tree, schedule: Schedule) -> dict[str, Any]:
    return {
        "robot": tree.name,
        "method": schedule.method,
        "n_bodies": tree.n_bodies,
        "operations": schedule.operations,
        "critical_path": schedule.critical_path,
        "parallelism": schedule.parallelism,
        "depth": schedule.depth,
        "blocks": schedule.blocks,
        "width": schedule.width,
        "stages": [
            {"name": stage.name, "blocks": stage.blocks, "operations": stage.operations} for stage in schedule.stages
        ],
    }


def _print_comparison(tree: Tree, schedules: list[Schedule], frames: list[str] | None) -> None:
    title = f"{named(tree.name)}: {tree.n_bodies} bodies, depth {tree.topology.depth}"
    headings = ("operations", "critical path", "parallelism", "depth", "stages", "blocks", "widest")
    table = new_table(title, "method", numbers=headings)
    for one in schedules:
        row = (one.operations, one.critical_path, f"{one.parallelism:.1f}", one.depth)
        table.add_row(one.method, *map(str, (*row, len(one.stages), one.blocks, one.width)))
    console = common.output()
    console.print(table)
    what = f"Λ⁻¹ of {', '.join(frames)}" if frames else "forward dynamics"
    console.print(
        f"operations: of {what}, with one processor; "
        "critical path: with one for every block, stage after stage; depth: with one for every operation; "
        "parallelism: operations by the critical path.",
        soft_wrap=True,
    )


def _print_stages(tree: Tree, schedule: Schedule) -> None:
    title = f"{named(tree.name)}: {schedule.method}"
    table = new_table(title, numbers=("", "blocks", "operations", "in the longest"), last=["stage"])
    table.add_column("topmost body of each block + number of others", overflow="fold")
    for number, stage in enumerate(schedule.stages, start=1):
        numbers = (number, stage.width, sum(stage.operations), stage.longest_block)
        table.add_row(*map(str, numbers), stage.name, _listed(tree, stage.blocks))
    console = common.output()
    console.print(table)
    console.print(
        f"{len(schedule.stages)} stages, {schedule.blocks} blocks, at most {schedule.width} at a time; "
        f"{schedule.operations} operations, {schedule.critical_path} on the critical path: "
        f"{schedule.parallelism:.1f} times as fast as one processor at best; depth {schedule.depth}",
        soft_wrap=True,
    )


def _listed(tree: Tree, blocks: tuple[tuple[int, ...], ...]) -> str:
    texts = [_named(tree, block) for block in blocks[:MOST_BODIES]]
    return ", ".join(texts) + (f", ... ({len(blocks) - MOST_BODIES} more)" if len(blocks) > MOST_BODIES else "")


def _named(tree: Tree, block: tuple[int, ...]) -> str:
    """Return the name of the topmost body, and the number of further ones."""
    return named(tree.body_names[block[0] - 1]) + (f" +{len(block) - 1}" if len(block) > 1 else "")
