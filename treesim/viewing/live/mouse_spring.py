"""Mouse spring: a spring and damper between a point of a link and a target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics.mass_matrix import mass_matrix
from ...model.tree import Tree
from .forces import BodyPoint, three_numbers

FREQUENCY = 10.0  # rad/s: natural frequency of a free point on the spring
STRONGEST = 3.0  # weights of the robot: largest force
LEAST_FORCE = 1.0  # N: largest force on robots without weight
SHORTEST = 1e-9  # m: a shorter spring has no direction
PART_OF_STABLE = 0.25  # of the gains at which a spring and damper, constant over a step, become unstable
G = 9.80665  # m/s^2


class MouseSpring(BodyPoint):
    """Spring and damper of limited force at one point of a body: f = k d - c v_p.

    d: vector from the point to its target. v_p: the point's velocity. |f| is at most three times the robot's
    weight. The gains are those of a critically damped effective mass 1 / (n . Λ^-1 n) along n = d / |d| (at
    most the robot's mass), at 10 rad/s. They are smaller where dt is too long for stability in the direction of
    least effective mass. The time constant is therefore the same for every link. All backends receive the same
    generalised force J^T f.

    robot: the tree. body: its name. point (3,): in the body's axes [m]. target (3,): in the world [m]. dt: time
    for which the force is constant [s]. Raises ArgumentError, UnknownNameError for an invalid body or point.

    Examples
    --------
    >>> from treesim.viewing.live.mouse_spring import MouseSpring
    >>> robot = treesim.load("ur5")
    >>> pull = MouseSpring(robot, "wrist_3_link", (0, 0, 0), (0.5, 0.5, 0.5), 1e-3)
    >>> tau = pull.generalised(robot.neutral(), np.zeros(6))
    >>> tau.shape, pull.force.shape
    ((6,), (3,))
    """

    def __init__(self, robot: Tree, body: Any, point: ArrayLike, target: ArrayLike, dt: float) -> None:
        super().__init__(robot, body, point)
        self.target, self.dt = three_numbers("target", target, "m"), dt
        self.strongest = max(STRONGEST * robot.mass * G, LEAST_FORCE)
        self.stiffness = self.damping = 0.0
        self.force = np.zeros(3)  # last force [N], along the world's axes

    def tune(self, q: np.ndarray) -> None:
        """Compute the gains for configurations near q (nq,). Cost O(N nv + nv^3)."""
        x, J = self.at(q)
        inverse = J @ np.linalg.lstsq(mass_matrix(self.robot, q), J.T, rcond=None)[0]  # Λ^-1 of the point
        d = self.target - x
        n = d / max(float(np.linalg.norm(d)), SHORTEST)
        mass = 1 / max(float(n @ inverse @ n), 1 / max(self.robot.mass, SHORTEST))
        lightest = 1 / max(float(np.linalg.eigvalsh(inverse)[-1]), SHORTEST)
        self.stiffness = min(mass * FREQUENCY**2, PART_OF_STABLE * lightest / self.dt**2)
        self.damping = min(2 * mass * FREQUENCY, PART_OF_STABLE * lightest / self.dt)

    def generalised(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return J^T f (nv,) at q (nq,), v (nv,) [N, N m]; stores f in `force`."""
        x, J = self.at(q)
        f = self.stiffness * (self.target - x) - self.damping * (J @ v)
        size = math.hypot(*f)  # which does not overflow
        self.force = f * min(1.0, self.strongest / size) if size > 0 else f
        return J.T @ self.force

    def to_dict(self) -> dict[str, Any]:
        """Return body, point [m], target [m], and magnitude and vector of the force [N] for the page."""
        size = math.hypot(*self.force)
        places = {"point": self.point.tolist(), "target": self.target.tolist()}
        return {"body": self.body, **places, "force": size, "vector": self.force.tolist()}
