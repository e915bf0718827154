"""`treesim convert run.npz run.mcap`: conversion of recorded motions to other formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ArgumentError
from ..system.progress import counted, progress_bar
from .common import JsonOption, examples, guarded, output, print_json, print_warning

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory


@guarded
@examples(
    "treesim convert run.npz run.mcap",
    'treesim convert one.npz two.npz dataset --fps 50 --task "stand up"',
)
def convert(
    paths: Annotated[list[Path], typer.Argument(metavar="RUN... TARGET", show_default=False)],
    fps: int = 50,
    task: str = "simulation",
    json: JsonOption = False,
) -> None:
    """Convert trajectories to other formats, for pandas, xarray, ROS 2, Foxglove, Rerun or LeRobot.

    Options
    -------
    paths
        Trajectories that `treesim simulate --out` wrote, followed by the target. If the target is a file, its suffix
        selects the format (.npz, .csv, .parquet, .nc, .mcap). If the target is a new folder, it becomes a
        LeRobotDataset with one episode for each trajectory.
    --fps
        Frames per second of a LeRobotDataset.
    --task
        Task description of a LeRobotDataset.
    """
    from ..formats import write_lerobot
    from ..simulation.trajectory import Trajectory

    *sources, target = paths
    if not sources:
        raise ArgumentError("convert needs a trajectory to read, and a file or folder to write")
    with progress_bar("converting"):
        runs = [Trajectory.load(source) for source in counted(sources, lambda source: source.name)]
        if not target.suffix:
            write_lerobot(runs, target, fps, task)
        elif len(runs) > 1:
            raise ArgumentError(f"{target} holds one trajectory, not {len(runs)}: name a folder for a LeRobotDataset")
        else:
            _write(sources[0], runs[0], target)
    if json:
        print_json({"runs": list(map(str, sources)), "target": str(target), "states": sum(map(len, runs))})
    else:
        output().print(f"wrote {target}: {sum(map(len, runs))} states", soft_wrap=True)


def _write(source: Path, run: Trajectory, target: Path) -> None:
    """Write one file; .mcap files include the robot's meshes, which the trajectory file does not store."""
    from ..formats import write_mcap
    from .view_recording import robot_of

    if target.suffix.lower() != ".mcap":
        run.save(target)
        return
    try:
        robot = robot_of(str(source), run, None, None)
    except ArgumentError as error:
        print_warning(f"{target} does not contain the robot's visuals: {error}")
        run.save(target)
    else:
        write_mcap(run, target, robot)
