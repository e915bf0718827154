"""Selection of the states of a trajectory for a recording."""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, quoted
from ..model.tree import Tree
from ..simulation.trajectory import Trajectory


def keyframes(robot: Tree, trajectory: Trajectory, fps: float) -> np.ndarray:
    """Return indices (K,) of the states nearest to the frames of a recording, including the first and last state.

    fps: frames per second. Raises ArgumentError if it is not positive, or the trajectory is empty or of another
    robot.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise ArgumentError(f"fps must be a positive number of poses per second, got {fps}")
    q, t = trajectory.q, trajectory.t
    if q.shape[1] != robot.nq:
        raise ArgumentError(f"trajectory: q has shape {q.shape}, but {quoted(robot.name)} has nq = {robot.nq}")
    if len(t) == 0:
        raise ArgumentError("trajectory: it is empty, there is nothing to record")
    t = t - t[0]
    wanted = np.arange(0.0, t[-1], 1.0 / fps)
    right = np.searchsorted(t, wanted)
    nearest = right - (wanted - t[np.maximum(right - 1, 0)] < t[right] - wanted)
    return np.unique(np.concatenate([np.maximum(nearest, 0), [len(t) - 1]]))
