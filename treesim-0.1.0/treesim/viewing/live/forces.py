"""External forces on a live robot, constant in the world's axes, at points of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...model.tree import Tree
from .points import BodyPoint, three_numbers


class Force(BodyPoint):
    """Constant force (3,) [N] along the world's axes, at a point (3,) [m] of a body, in the body's axes.

    Raises ArgumentError, UnknownNameError for an invalid body, point or force.

    Examples
    --------
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
        """Return J^T f (nv,) at q (nq,) [N, N m]; v is unused."""
        tau: np.ndarray = self.at(q)[1].T @ self.force
        return tau

    def to_dict(self) -> dict[str, Any]:
        """Return body, point [m] and vector [N] for the page."""
        return {"body": self.body, "point": self.point.tolist(), "vector": self.force.tolist()}
