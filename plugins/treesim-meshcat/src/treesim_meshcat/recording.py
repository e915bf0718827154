"""A trajectory as one HTML file that replays from disk, without server, network or screen."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import treesim
from treesim import Tree
from treesim.errors import ArgumentError
from treesim.files import write_whole
from treesim.trajectory import Trajectory

from .encoding import pose_rows, to_json
from .pages import page
from .scene import robot_parts, scene_message


def write_recording(robot: Tree, trajectory: Trajectory, path: str | PathLike[str], fps: float = 30) -> Path:
    """Write the motion of `robot` along `trajectory` to the HTML file `path` and return its path.

    About `fps` poses per second are kept, each at the time of the state it comes from, so that the recording lasts as
    long as the motion; the page interpolates between them, starts by itself and repeats.
    Raises ArgumentError if fps is not positive, the trajectory is empty or of another robot, or `path` cannot be
    written.
    """
    target = Path(path)
    text = recording_html(robot, trajectory, fps).encode()
    return write_whole(target, lambda stream: stream.write(text), len(text))


def recording_html(robot: Tree, trajectory: Trajectory, fps: float = 30) -> str:
    """Return the text of the HTML file that `write_recording` writes; same arguments and errors."""
    times, q = _keyframes(robot, trajectory, fps)
    poses = np.broadcast_to(treesim.body_poses(robot, q), (len(q), robot.n_bodies + 1, 4, 4))
    title = f"{robot.name}, {times[-1]:.4g} s"
    message = scene_message(robot, robot_parts(robot), poses, title)
    message["animation"] = _animation(times, poses)
    return page("recording", title, scene=to_json(message))


def _keyframes(robot: Tree, trajectory: Trajectory, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """Times (K,) from 0 [s] and configurations (K, nq): of each frame the state nearest to it, first and last too."""
    if not (np.isfinite(fps) and fps > 0):
        raise ArgumentError(f"fps must be a positive number of poses per second, got {fps}")
    q, t = np.asarray(trajectory.q), np.asarray(trajectory.t)
    if q.ndim != 2 or q.shape[1] != robot.nq:
        raise ArgumentError(f"trajectory: q has shape {q.shape}, but {robot.name!r} has nq = {robot.nq}")
    if len(t) == 0:
        raise ArgumentError("trajectory: it is empty, there is nothing to record")
    t = t - t[0]
    wanted = np.arange(0.0, t[-1], 1.0 / fps)
    right = np.searchsorted(t, wanted)
    nearest = right - (wanted - t[np.maximum(right - 1, 0)] < t[right] - wanted)
    index = np.unique(np.concatenate([np.maximum(nearest, 0), [len(t) - 1]]))
    return t[index], q[index]


def _animation(times: np.ndarray, poses: np.ndarray) -> dict[str, Any]:
    """Times (K,) and poses (K, n_bodies + 1, 7) as the page turns them into clips of meshcat."""
    return {"times": times.astype(np.float32), "poses": pose_rows(poses)}
