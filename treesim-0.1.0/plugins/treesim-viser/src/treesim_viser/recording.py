"""Recording of a trajectory as one HTML file that replays from disk, in viser's own player."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

import treesim
from treesim import Tree
from treesim.simulation.trajectory import Trajectory
from treesim.system.files import checked_output, write_whole
from treesim.viewing.keyframes import keyframes

from .scene import add_ground, add_robot, move
from .server import close_server, look_at, open_server


def write_recording(robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
    """Write the motion of `robot` along `trajectory` to the HTML file `path` and return its path.

    About `fps` poses per second are stored, each with the time of its state. The trajectory's ground is shown,
    too; contact forces are not. Raises ArgumentError if fps is not positive, the trajectory is empty or of
    another robot, or `path` cannot be written.
    """
    target, index = checked_output(path, (".html", ".htm")), keyframes(robot, trajectory, fps)
    poses = np.broadcast_to(treesim.body_poses(robot, trajectory.q[index]), (len(index), robot.n_bodies + 1, 4, 4))
    text = _recording(robot, trajectory, np.diff(trajectory.t[index]), poses).encode()
    return write_whole(target, lambda stream: stream.write(text), len(text))


def _recording(robot: Tree, trajectory: Trajectory, pauses: np.ndarray, poses: np.ndarray) -> str:
    server, _ = open_server()
    try:
        center, radius = look_at(server, poses[0])
        frames, _ = add_robot(server.scene, robot, poses[0])
        add_ground(server.scene, trajectory.ground, center, 10 * radius, min(0.0, float(center[2] - radius)))
        recording = server.get_scene_serializer()
        for pause, now in zip(pauses, poses[1:], strict=True):
            recording.insert_sleep(float(pause))
            move(frames, now)
        return recording.as_html()
    finally:
        close_server(server)
