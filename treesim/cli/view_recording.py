"""`treesim view run.npz`: replay of a recorded motion in a viewer."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError, TreesimError, listed, quoted
from ..system.progress import progress_bar
from . import common
from .simulation_options import DT
from .view_reference import Start, recorded_reference

if TYPE_CHECKING:
    import typer

    from ..model.tree import Tree
    from ..simulation.trajectory import Trajectory
    from ..viewing.live import Replay

KNOWN = {"robot", "base", "mimic", "reference", "duration", "speed", "viewer", "port", "no_browser", "json", "record"}


def is_recording(source: str) -> bool:
    """Return whether the source is a trajectory file rather than a robot."""
    from ..formats import suffixes

    return Path(source).suffix.lower() in suffixes()


def checked_options(context: typer.Context) -> set[str]:
    """Return the given options of `view`; raises ArgumentError for those that do not apply to recordings."""
    given = common.given_options(context)
    foreign = sorted(map(common.option_name, given - KNOWN))
    if foreign:
        raise ArgumentError(f"{listed(foreign)}: a recorded motion is played as it is; this is for simulations")
    return given


def open_replay(
    path: str, window: Any, base: str | None, mimic: str | None, speed: float, reference: str | None
) -> Replay:
    """Load a trajectory and its robot, and show its first state.

    base: that of the recording by default. reference: a motion to compare with.
    """
    import numpy as np

    from ..viewing.live import Replay
    from ..viewing.live.recorded import check_fits

    robot, trajectory = _loaded(path, base, mimic)
    check_fits(robot, trajectory)
    references = {}
    if reference is not None:
        steps = np.diff(trajectory.t[:2])
        start = Start(trajectory.q[0], trajectory.v[0], float(steps[0]) if len(steps) else DT, float(trajectory.t[0]))
        name, motion = recorded_reference(reference, robot, start)
        references[name] = motion
    return Replay(robot, trajectory, window, speed, references=references)


def write_record(path: str, record: Path, viewer: str, base: str | None, mimic: str | None, json: bool) -> None:
    """Write a trajectory as a film, a picture, a page or glTF, by the file's suffix, and report it."""
    recorder = common.get_recorder(viewer)
    common.check_record(recorder, record)
    robot, trajectory = _loaded(path, base, mimic)
    with progress_bar("recording", not json):
        recorder.record(robot, trajectory, record, fps=common.FRAMES_PER_SECOND)
    common.report_file(robot, "record", record, json)


def _loaded(path: str, base: str | None, mimic: str | None) -> tuple[Tree, Trajectory]:
    """Return the robot of a trajectory file, and the trajectory."""
    from ..simulation.trajectory import Trajectory

    trajectory = Trajectory.load(path)
    return robot_of(path, trajectory, base, mimic), trajectory


def robot_of(path: str, trajectory: Trajectory, base: str | None, mimic: str | None) -> Tree:
    """Return the robot of a recording from its metadata; raises ArgumentError if it cannot be loaded."""
    made = trajectory.metadata
    if "source" not in made and base is None and mimic is None:
        recorded = _recorded_robot(trajectory)
        if recorded is not None:
            return recorded
    source = str(made.get("source") or trajectory.robot_name)
    try:
        return common.load_robot(source, base or str(made.get("base") or "fixed"), mimic or made.get("mimic"))
    except TreesimError as error:
        raise ArgumentError(
            f"{path} was made with the robot {quoted(source)}, which cannot be loaded here: {error}; in Python, "
            "treesim.viewing.live.Replay(robot, trajectory, viewer) takes any"
        ) from error


def _recorded_robot(trajectory: Trajectory) -> Tree | None:
    """Return the robot from the provenance of a recording made in Python; None if it contains none.

    A robot whose visuals are meshes gets them from an installed robot of the same name with the same dynamics.
    """
    from ..rollouts.replay import recorded_robot

    robot = recorded_robot(trajectory)
    if robot is None or robot.visuals:
        return robot
    base = "floating" if trajectory.joint_types[:1] == ("floating",) else "fixed"
    with suppress(TreesimError), warnings.catch_warnings(action="ignore"):
        installed = common.load_robot(robot.name, base, None)
        if _moves_alike(installed, robot):
            return installed
    common.print_warning(
        f"the recording does not contain visuals of {robot.name!r}, and no installed robot of that name is the same: "
        "it is drawn as a stick figure. To draw meshes, call viewer.record(robot, run, path) in Python with your robot"
    )
    return robot


def _moves_alike(one: Tree, other: Tree) -> bool:
    """Return whether two robots have the same dynamics; visuals and collision shapes may differ."""
    a, b = one.spanning, other.spanning
    names = (a.body_names, a.dof_names) == (b.body_names, b.dof_names)
    mimics = [[body.joint.mimic for body in robot.bodies] for robot in (one, other)]
    return names and mimics[0] == mimics[1] and (a.ints.tobytes(), a.reals.tobytes()) == (
        b.ints.tobytes(), b.reals.tobytes()
    )  # fmt: skip


def play(replay: Replay, duration: float | None) -> float:
    """Play until the duration [s] is over, or Ctrl-C; return the played seconds of the motion."""
    began = replay.t
    with suppress(KeyboardInterrupt):  # the way to end; what was shown needs no saving
        replay.run(duration)
    return replay.t - began
