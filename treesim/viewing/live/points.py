"""Point of a body: position and Jacobian."""

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


def three_numbers(label: str, given: Any, unit: str) -> np.ndarray:
    """Return three finite numbers (3,) from a user's value; raises ArgumentError for anything else."""
    numbers = coerce(Argument(label, given, (3,)))
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise ArgumentError(f"{label} must be three finite numbers [{unit}]")
    return numbers.astype(float)
