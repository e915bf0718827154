"""`treesim replay run.npz`: repeat a recorded simulation and compare every bit."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import named
from ..system.progress import progress_bar
from . import common
from .common import JsonOption, examples, guarded, option, output, print_json

if TYPE_CHECKING:
    from ..rollouts.replay import Repetition


@guarded
@examples(
    "treesim replay run.npz",
    "treesim replay run.npz --source my_robot.urdf --json",
)
def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False)],
    source: Annotated[str | None, option(metavar="ROBOT")] = None,
    json: JsonOption = False,
) -> None:
    """Repeat the simulation that is stored in RUN, and compare every bit of the results.

    If results differ, the command reports the first step and the first number that differ. It also reports whether the
    versions, the processor or the Python interpreter have changed. The command reads the robot from RUN, not from the
    robot's file. The exit code is 0 if the runs are identical, 1 if they differ, and 2 if the simulation cannot be
    repeated.

    Options
    -------
    run
        Trajectory that `treesim simulate --out` wrote.
    --source
        Robot description. The command reports changes of this file since the run.
    """
    import treesim

    with progress_bar("simulating again", not json) as progress:
        found = treesim.replay(run, source=source, progress=progress)
    if found.trajectory.stopped == "interrupted":
        raise KeyboardInterrupt
    if json:
        first = None if found.first is None else asdict(found.first)
        print_json({
            "run": str(run), "robot": found.robot_name, "states": found.states, "same": found.same, "first": first,
            "reasons": list(found.reasons), "notes": list(found.notes),
        })  # fmt: skip
    else:
        _show(found)
    raise typer.Exit(0 if found.same else common.FAILED)


def _show(found: Repetition) -> None:
    from rich.table import Table

    shown = Table(show_header=False, box=None)
    shown.add_row("robot", named(found.robot_name))
    shown.add_row("states", str(found.states))
    shown.add_row("outcome", "the same bits" if found.first is None else f"other bits: {found.first}")
    for label, texts in (("why", found.reasons), ("note", found.notes)):
        for text in texts:
            shown.add_row(label, text)
    output().print(shown)
