"""The states of a simulation as they come, and the trajectory that they make."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dynamics.functions import energy
from .engine.call.evaluate import specialized_first
from .errors import NonFiniteError
from .model.tree import Tree
from .trajectory import Trajectory


class Recording:
    """States as they come, in arrays laid out beforehand."""

    def __init__(self, robot: Tree, capacity: int) -> None:
        self.robot, self.count = robot, 0
        self.t = np.empty(capacity)
        self.q = np.empty((capacity, robot.nq))
        self.v = np.empty((capacity, robot.nv))
        self.tau = np.empty((capacity, robot.nv))

    def add(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray | None) -> None:
        """Keep a copy of one state, and its torque if one is known."""
        k = self.count
        self.t[k], self.q[k], self.v[k] = t, q, v
        self.tau[k] = 0.0 if tau is None else tau
        self.count = k + 1

    def fastest_joint(self) -> str:
        """Return the degree of freedom with the highest speed in the last state."""
        if not self.count or not self.robot.nv:
            return "(none)"
        return self.robot.dof_name(int(np.argmax(np.abs(self.v[self.count - 1]))))

    def trajectory(self, gravity: np.ndarray | None, metadata: dict[str, Any]) -> Trajectory:
        """Return the states so far, with their energies; gravity: (3,), the robot's if None."""
        n = self.count
        q, v = self.q[:n], self.v[:n]
        try:
            total = sum(specialized_first(energy, self.robot, q, v, gravity))
        except NonFiniteError:  # the last states before an overflow are finite, their squares need not be
            total = np.full(n, np.inf)
            for k in range(n):
                try:
                    total[k] = sum(specialized_first(energy, self.robot, q[k], v[k], gravity))
                except NonFiniteError:
                    break
        return Trajectory.of(self.robot, self.t[:n], q, v, self.tau[:n], total, metadata)
