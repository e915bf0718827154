"""Recording of a trajectory as one HTML file that replays from disk, without server or network."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import treesim
from treesim import Tree
from treesim.simulation.trajectory import Trajectory
from treesim.system.files import write_whole
from treesim.viewing.keyframes import keyframes

from .encoding import pose_rows, to_json
from .forces import ROOT, G, arrow_material, arrow_mesh, contact_arrows
from .pages import page
from .scene import in_front, object_commands, robot_parts, scene_message
from .shapes import MeshGeometry


def write_recording(robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
    """Write the motion of `robot` along `trajectory` to the HTML file `path` and return its path.

    About `fps` poses per second are stored, each with the time of its state, so that the recording has the
    duration of the motion. The page interpolates between them, starts by itself and repeats. It also shows the
    trajectory's ground, and an arrow for the contact force on every body that touches. Raises ArgumentError if
    fps is not positive, the trajectory is empty or of another robot, or `path` cannot be written.
    """
    target = Path(path)
    text = recording_html(robot, trajectory, fps).encode()
    return write_whole(target, lambda stream: stream.write(text), len(text))


def recording_html(robot: Tree, trajectory: Trajectory, fps: float = 30) -> str:
    """Return the text of the HTML file that `write_recording` writes; same arguments and errors."""
    index = keyframes(robot, trajectory, fps)
    times, q = trajectory.t[index] - trajectory.t[0], trajectory.q[index]
    poses = np.broadcast_to(treesim.body_poses(robot, q), (len(q), robot.n_bodies + 1, 4, 4))
    title = f"{robot.name}, {times[-1]:.4g} s"
    message = scene_message(robot, robot_parts(robot), poses, title, trajectory.ground)
    message["links"] = [{"name": "base"}, *({"name": body.name, "parent": body.parent} for body in robot.bodies)]
    message["animation"] = {"times": times.astype(np.float32), "poses": pose_rows(poses)}
    _add_arrows(message, robot, trajectory, index, poses)
    return page("recording", title, scene=to_json(message))


def _add_arrows(
    message: dict[str, Any], robot: Tree, trajectory: Trajectory, index: np.ndarray, poses: np.ndarray
) -> None:
    """Add the arrows of contact forces to a scene, and their scale to its title. Modifies the message."""
    length = message["view"]["weight"]
    names, rows = contact_arrows(robot, trajectory, index, poses, length)
    if not names:
        return
    paths = [f"/{ROOT}/{k} {name.replace('/', '_')}" for k, name in enumerate(names)]
    geometry, material = MeshGeometry(arrow_mesh()), arrow_material()
    for path in paths:
        message["commands"] += object_commands(geometry, material, np.eye(4), path, message["geometries"])
        message["commands"].append(in_front(path))
    message["animation"]["forces"] = {"paths": paths, "rows": rows}
    message["title"] += f"; forces: {length:g} m is its weight, {robot.mass * G:.4g} N"
