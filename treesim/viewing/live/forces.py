"""Forces on a live robot at points of bodies: position and Jacobian of a point, and constant external forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dynamics.operational.frames import frame_jacobian, frame_pose
from ...errors import ArgumentError
from ...model.matrices import cross_matrix
from ...model.tree import Tree
from ...validation.arrays import Argument, coerce
from ...validation.values import known_name


class BodyPoint:
    """Point of a body.

    robot: the tree. body: its name. point (3,): in the body's axes [m]. Raises ArgumentError, UnknownNameError
    for an invalid body or point.
    """

    def __init__(self, robot: Tree, body: Any, point: Any) -> None:
        self.robot, self.body = robot, known_name("body", body, robot.body_names, of=repr(robot.name))
        self.point = three_numbers("point", point, "m")

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the point's position (3,) [m] and Jacobian J (3, nv), in the world's axes, at q (nq,)."""
        pose = frame_pose(self.robot, q, self.body)
        J = frame_jacobian(self.robot, q, self.body)
        r = pose[:3, :3] @ self.point
        return pose[:3, 3] + r, J[:3] - cross_matrix(r) @ J[3:]


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
        return self.at(q)[1].T @ self.force

    def to_dict(self) -> dict[str, Any]:
        """Return body, point [m] and vector [N] for the page."""
        return {"body": self.body, "point": self.point.tolist(), "vector": self.force.tolist()}


def three_numbers(label: str, given: Any, unit: str) -> np.ndarray:
    """Return three finite numbers (3,) from a user's value; raises ArgumentError for anything else."""
    numbers = coerce(Argument(label, given, (3,)))
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise ArgumentError(f"{label} must be three finite numbers [{unit}]")
    return numbers.astype(float)
