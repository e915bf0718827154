"""`treesim schedule`: in which stages the joints of a robot can be eliminated, and how many at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import common
from .common import BaseOption, JsonOption, MimicOption, RobotArgument, guarded

if TYPE_CHECKING:
    from ..model.schedule import Schedule
    from ..model.tree import Tree

MOST_BODIES = 8  # named in a row of the table

MethodOption = Annotated[
    str | None,
    typer.Option(help="List the stages of this method; otherwise all methods that work by stages are compared."),
]


@guarded
def schedule(
    robot: RobotArgument,
    method: MethodOption = None,
    base: BaseOption = "fixed",
    mimic: MimicOption = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the schedule into this .png, .svg or .pdf file.")] = None,
    json: JsonOption = False,
) -> None:
    """Show which joints of ROBOT can be eliminated at the same time, stage by stage, and the critical path."""
    from ..dynamics.schedules import schedule as schedule_of
    from ..dynamics.schedules import scheduled_methods
    from ..plotting import require_matplotlib
    from ..trajectory import PLOT_SUFFIXES, checked_output

    if plot is not None:
        checked_output(plot, PLOT_SUFFIXES)
        require_matplotlib()
    if method is not None:
        common.checked_name("method that works by stages", method, scheduled_methods())
    tree = common.load_robot(robot, base, mimic)
    schedules = [schedule_of(tree, name) for name in ([method] if method else scheduled_methods())]
    if json:
        common.print_json([_facts(tree, one) for one in schedules])
    elif method:
        _print_stages(tree, schedules[0])
    else:
        _print_comparison(tree, schedules)
    if plot is not None:
        from ..plotting.schedule import draw

        draw(tree, schedules, plot)
        if not json:
            common.output().print(f"drawn: {plot}", soft_wrap=True)


def _facts(tree: Tree, schedule: Schedule) -> dict[str, Any]:
    return {
        "robot": tree.name,
        "method": schedule.method,
        "n_bodies": tree.n_bodies,
        "critical_path": schedule.critical_path,
        "blocks": schedule.blocks,
        "width": schedule.width,
        "parallelism": schedule.parallelism,
        "stages": [{"name": stage.name, "blocks": stage.blocks} for stage in schedule.stages],
    }


def _print_comparison(tree: Tree, schedules: list[Schedule]) -> None:
    from rich.table import Table

    title = f"{tree.name}: {tree.n_bodies} bodies, depth {tree.topology.depth}"
    table = Table("method", title=title, title_justify="left")
    for heading in ("stages", "blocks", "widest", "parallelism"):
        table.add_column(heading, justify="right")
    table.add_column("blocks of each stage")
    for one in schedules:
        widths = " ".join(map(str, one.blocks_per_stage))
        numbers = (one.critical_path, one.blocks, one.width)
        table.add_row(one.method, *map(str, numbers), f"{one.parallelism:.1f}", widths)
    console = common.output()
    console.print(table)
    console.print(
        "stages: the critical path, one way; parallelism: blocks per stage. A block is one step of its method: "
        "of aba a body, of the others products and solves of 6x6 matrices, some twenty times as long.",
        soft_wrap=True,
    )


def _print_stages(tree: Tree, schedule: Schedule) -> None:
    from rich.table import Table

    title = f"{tree.name}: {schedule.method}"
    table = Table(title=title, title_justify="left")
    for heading in ("", "blocks"):
        table.add_column(heading, justify="right")
    table.add_column("stage")
    table.add_column("topmost body of each block + number of others", overflow="fold")
    for number, stage in enumerate(schedule.stages, start=1):
        table.add_row(str(number), str(stage.width), stage.name, _listed(tree, stage.blocks))
    console = common.output()
    console.print(table)
    console.print(
        f"{schedule.critical_path} stages, {schedule.blocks} blocks, at most {schedule.width} at a time, "
        f"{schedule.parallelism:.1f} on average",
        soft_wrap=True,
    )


def _listed(tree: Tree, blocks: tuple[tuple[int, ...], ...]) -> str:
    texts = [_named(tree, block) for block in blocks[:MOST_BODIES]]
    return ", ".join(texts) + (f", ... ({len(blocks) - MOST_BODIES} more)" if len(blocks) > MOST_BODIES else "")


def _named(tree: Tree, block: tuple[int, ...]) -> str:
    """The topmost body, and how many more there are."""
    return tree.body_names[block[0] - 1] + (f" +{len(block) - 1}" if len(block) > 1 else "")
