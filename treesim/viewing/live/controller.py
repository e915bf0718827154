"""Controller of a live simulation: joint control with variable targets, mouse spring, and external forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

import numpy as np

from ...model.parts import changed_joints
from ...model.tree import Tree
from ...simulation.control import PD, Controller, StatelessController, make_controller
from ...types import ControllerName
from .forces import Force
from .mouse_spring import MouseSpring


def without_effort_limits(robot: Tree) -> Tree:
    """Return the same tree without effort limits: the mouse spring is not limited by motors."""
    return robot._with(bodies=changed_joints(robot.bodies, lambda joint: {"effort_limit": np.inf}))


class Drive(StatelessController):
    """Controller within the robot's effort limits, plus a mouse spring and forces that are not limited.

    robot: with its effort limits; the simulated robot has none (`without_effort_limits`). name: of
    `treesim.control.make_controller`, with `target` (nq,), kp and kd. around: wraps the controller, for example
    in a push. `pull` and `forces`, by name, may be set at any time.
    """

    def __init__(
        self,
        robot: Tree,
        name: ControllerName,
        target: np.ndarray,
        kp: float,
        kd: float,
        around: Callable[[Controller], Controller] | None = None,
    ) -> None:
        self.inner = make_controller(name, robot, target, kp, kd)
        self._driven: Controller = self.inner if around is None else around(self.inner)
        zero = np.zeros(robot.nv)
        self._gains = getattr(self.inner, "stiffness", zero), getattr(self.inner, "damping", zero)
        self.stiffness, self.damping = self._gains
        self.pull: MouseSpring | None = None
        self.forces: Mapping[str, Force] = {}
        self._limit, self._motors, self._hands = robot.effort_limit, zero, zero

    def aim(self, target: np.ndarray) -> None:
        """Set the controller's target (nq,), if it has one."""
        if isinstance(self.inner, PD):
            self.inner.posture = target.copy()

    def share(self, other: Drive) -> None:
        """Copy target, mouse spring and forces from another drive of the same robot."""
        if isinstance(other.inner, PD):
            self.aim(other.inner.posture)
        self.pull, self.forces = copy(other.pull), other.forces

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) [N m, N] of controller, mouse spring and external forces."""
        tau = np.asarray(self._driven.torque(t, q, v))
        unsaturated = np.abs(tau) < self._limit
        self.stiffness, self.damping = (gain * unsaturated for gain in self._gains)
        self._motors, self._hands = tau, np.zeros(tau.shape)
        for hand in (*((self.pull,) if self.pull else ()), *self.forces.values()):
            self._hands = self._hands + hand.generalised(q, v)
        return tau + self._hands

    def limited(self, force: np.ndarray) -> np.ndarray | None:
        """Return the torque (nv,) with motors at their limits that exceed them by the mean `force` of a substep.

        Returns None if there are none.
        """
        motors = force - self._hands
        beyond = (np.abs(motors) > self._limit) & ((self.stiffness != 0) | (self.damping != 0))
        if not beyond.any():
            return None
        self.stiffness, self.damping = (gain * ~beyond for gain in (self.stiffness, self.damping))
        self._motors = np.where(beyond, np.copysign(self._limit, motors), self._motors)
        return self._motors + self._hands
