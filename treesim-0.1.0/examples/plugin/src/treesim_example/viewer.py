"""A viewer that prints the heights of the bodies."""

from __future__ import annotations

import numpy as np

import treesim


class TextViewer:
    """Prints one line for each configuration."""

    def __init__(self) -> None:
        self._robot: treesim.Tree | None = None

    def show(self, robot: treesim.Tree, q: np.ndarray) -> None:
        """Print the robot's name, and its configuration."""
        self._robot = robot
        print(robot)
        self.update(q)

    def update(self, q: np.ndarray) -> None:
        """Print a configuration (nq,)."""
        if self._robot is None:
            raise treesim.ArgumentError("nothing is shown: call show(robot, q) before update(q)")
        heights = treesim.body_poses(self._robot, q)[:, 2, 3]  # refuses a wrong shape and NaN, naming q
        print("z [m]:", np.array2string(heights, precision=3))

    def close(self) -> None:
        """Forget the robot."""
        self._robot = None
