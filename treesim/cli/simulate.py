"""`treesim simulate`: simulate a robot, summarize, and write the result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ArgumentError, DivergedWarning, EnergyWarning, TreesimError
from ..system.progress import progress_bar
from . import common
from .common import OUTPUT, JsonOption, QuietOption, RecordOption, WorldArgument, examples, guarded, option
from .policies import ContractOptions, contract_policy
from .simulation_options import RunOptions, build_simulation, checked_steps
from .world_files import is_world_file

if TYPE_CHECKING:
    import numpy as np

    from ..model.tree import Tree
    from ..simulation.simulation import Simulation
    from ..simulation.trajectory import Trajectory
    from ..simulation.world import World


@dataclass(frozen=True)
class Outputs:
    """Requested output files, checked before the run; None if not requested."""

    out: Path | None
    plot: Path | None
    html: Path | None
    record: Path | None
    recorder: Any

    @classmethod
    def checked(
        cls, out: Path | None, plot: Path | None, html: Path | None, record: Path | None, viewer: str | None
    ) -> Outputs:
        """Return the outputs if each can be written; otherwise raises ArgumentError or PluginError."""
        from ..formats import suffixes
        from ..plotting import PLOT_SUFFIXES, require_matplotlib
        from ..system.files import checked_output

        for path, allowed in ((out, suffixes()), (plot, PLOT_SUFFIXES), (html, (".html", ".htm"))):
            if path is not None:
                checked_output(path, allowed)
        if plot is not None:
            require_matplotlib()
        if viewer is not None and html is None and record is None:
            raise ArgumentError("--viewer selects the recorder of the motion: name a file with --html or --record too")
        recorder = None if html is None and record is None else common.get_recorder(viewer)
        if record is not None:
            common.check_record(recorder, record)
        return cls(out, plot, html, record, recorder)

    def write(self, robot: Tree, trajectory: Trajectory) -> tuple[list[str], list[str]]:
        """Write every file, the data first; return the written paths, and the messages of failures."""

        def record(path: Path) -> object:
            return self.recorder.record(robot, trajectory, path, fps=common.FRAMES_PER_SECOND)

        written, failed = [], []
        for path, write in (
            (self.out, trajectory.save),
            (self.plot, lambda path: trajectory.plot(path=path)),
            (self.html, record),
            (self.record, record),
        ):
            if path is None:
                continue
            try:
                write(path)
                written.append(str(path))
            except TreesimError as error:
                failed.append(str(error))
            except MemoryError as error:
                failed.append(f"cannot write {path}: not enough memory: {error}")
        return written, failed


@guarded
@examples(
    "treesim simulate ur5 --q0 shoulder_lift_joint=-1 --duration 2",
    "treesim simulate go2 --ground --controller hold --push 50,0,0 -o run.npz",
    "treesim simulate go2 --ground --policy walk.onnx --contract walk.toml",
    "treesim simulate ur5 --q0 shoulder_lift_joint=-1 --with cube@1.2,0,0 --ground",
    "treesim simulate world.py --duration 10",
)
def simulate(
    context: typer.Context,
    robot: WorldArgument,
    duration: Annotated[float, option(panel=common.INTEGRATOR_PANEL)] = 5.0,
    options: RunOptions = RunOptions(),  # noqa: B008
    network: ContractOptions = ContractOptions(),  # noqa: B008
    out: Annotated[Path | None, option("--out", "-o", panel=OUTPUT)] = None,
    plot: Annotated[Path | None, option(panel=OUTPUT)] = None,
    html: Annotated[Path | None, option(panel=OUTPUT)] = None,
    record: RecordOption = None,
    viewer: Annotated[str | None, option(panel=OUTPUT)] = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Simulate ROBOT, and report run time and errors of conserved quantities.

    Ctrl-C ends the simulation; the steps up to then are reported and saved.

    Options
    -------
    robot
        A URDF file or its URL, the name of an installed robot, or a Python file that defines a World.
    --duration
        Simulation time (s).
    --out
        File to which the trajectory is written: .npz, .csv, .parquet, .nc or .mcap.
    --plot
        File to which the trajectory is plotted: .png, .svg or .pdf.
    --html
        .html file to which the motion is written.
    --viewer
        Viewer that records the motion. Default: meshcat if installed, otherwise another installed viewer.
    """
    from ..rollouts.replay import source_digest
    from ..simulation.durations import check_room
    from ..viewing.protocols import drawables

    policy = contract_policy(network, options)
    if policy is not None:
        options = policy.with_step(options, context)
    steps = checked_steps(duration, options.dt)
    outputs = Outputs.checked(out, plot, html, record, viewer)
    setup = build_simulation(robot, options, policy)
    tree, q, v, simulation = setup.robot, setup.q, setup.v, setup.simulation
    check_room(tree, steps, "take a shorter --duration or a larger --dt")
    show = not (quiet or json)
    made = _metadata(robot, options, setup.controller if policy is None else "policy")
    if policy is not None:
        made |= vars(network)
    if outputs.out is not None:
        made["sha256"] = source_digest(robot)
    if outputs.recorder is not None:
        drawables(tree)  # warns before the run about shapes that cannot be drawn
    # the end of the command reports a motion that diverges
    with _kept(outputs, tree, made), warnings.catch_warnings(action="ignore", category=DivergedWarning):
        first_call_s = _first_call(simulation, q, v, show)
        with progress_bar("simulating", show) as progress:
            began = time.perf_counter()
            trajectory = simulation.run(duration, q, v, progress=progress)
            wall_s = time.perf_counter() - began
    trajectory = trajectory.with_metadata(**made)

    with progress_bar("writing files", show):
        written, failed = outputs.write(tree, trajectory)
    try:
        _report(simulation.world, trajectory, made["controller"], (wall_s, first_call_s), written, failed, quiet, json)
    finally:
        for message in failed:
            common.print_error(message)
    raise typer.Exit(_exit_code(trajectory.stopped, failed))


def _metadata(source: str, options: RunOptions, controller: str) -> dict[str, Any]:
    """Return what a recording states of the command line."""
    of_robot = () if is_world_file(source) else ("base", "mimic")  # a world's file defines them
    made: dict[str, Any] = {"source": source} | {name: getattr(options, name) for name in (*of_robot, "seed")}
    others = {"with": list(options.others)} if options.others else {}
    return {**made, **others, "controller": controller}


@contextmanager
def _kept(outputs: Outputs, robot: Tree, made: dict[str, Any]) -> Iterator[None]:
    """Context that writes the requested files if a run raises an exception with a partial trajectory."""
    try:
        yield
    except Exception as error:
        trajectory = getattr(error, "trajectory", None)
        if trajectory is not None:
            for path in outputs.write(robot, trajectory.with_metadata(**made))[0]:
                common.print_warning(f"{path} holds the {len(trajectory)} states before the error")
        raise


def _first_call(simulation: Simulation, q: np.ndarray, v: np.ndarray, show: bool) -> float:
    """Return the duration [s] of a first step, which loads or compiles kernels."""
    began = time.perf_counter()
    with progress_bar("preparing kernels", show), warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyWarning)  # the run itself warns of it
        step = simulation.run(simulation.dt, q, v)
    if step.stopped == "interrupted":
        raise KeyboardInterrupt
    return time.perf_counter() - began


def _report(
    world: World,
    trajectory: Trajectory,
    controller: str,
    seconds: tuple[float, float],
    written: list[str],
    failed: list[str],
    quiet: bool,
    json: bool,
) -> None:
    from .summary import summary, summary_table

    if quiet and not json:
        return
    account: dict[str, Any] = summary(world, trajectory, controller, *seconds)
    if json:
        common.print_json({**account, "files": written, "not_written": failed})
    else:
        common.output().print(summary_table(account, written))


def _exit_code(stopped: str | None, failed: list[str]) -> int:
    if stopped == "interrupted":
        return common.exit_code()
    if stopped is not None:
        common.print_error(f"the simulation stopped early: {stopped}")
        return common.FAILED
    return common.FAILED if failed else 0
