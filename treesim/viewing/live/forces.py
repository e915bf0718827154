"""External forces on a live robot: each holds on to a point of a body, and keeps its size and direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.tree import Tree
from .points import BodyPoint, three_numbers


class Force(BodyPoint):
    """A force (3,) [N], along the world's axes, on a point (3,) [m] of a body, in its axes; constant in time.

    Raises ArgumentError, UnknownNameError for what is no body, point or force.

    Example:
        >>> from treesim.viewing.live.forces import Force
        >>> robot = treesim.load("ur5")
        >>> tau = Force(robot, "wrist_3_link", (0, 0, 0), (0, 0, 10)).generalised(robot.neutral(), np.zeros(6))
        >>> tau[1:3].round(2)
        array([-8.17, -3.92])
    """

    def __init__(self, robot: Tree, body: Any, point: Any, force: Any) -> None:
        super().__init__(robot, body, point)
        self.force = three_numbers("force", force, "N")

    def generalised(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return J^T f (nv,) at q (nq,) [N, N m]; v has no part in it."""
        tau: np.ndarray = self.at(q)[1].T @ self.force
        return tau

    def to_dict(self) -> dict[str, Any]:
        """Return what a page shows of it: body, point [m], and the force's vector [N]."""
        return {"body": self.body, "point": self.point.tolist(), "vector": self.force.tolist()}
