"""What drives the joints of a live simulation: a controller whose targets move, the hand that pulls, and forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

import numpy as np

from ...model.tree import Tree
from ...simulation.control import Controller, Pure, make_controller
from ...types import ControllerName
from .forces import Force
from .mouse_spring import Pull


def without_effort_limits(robot: Tree) -> Tree:
    """Return the same tree whose joints take any force: what a hand does to a robot, its motors do not limit."""
    bodies = [replace(body, joint=replace(body.joint, effort=np.inf)) for body in robot.bodies]
    frames = tuple(robot.frames.values())[robot.n_bodies :]
    return Tree(robot.name, bodies, frames, robot.visuals, robot.gravity, robot.notes, robot.shapes, robot.loops)


class Drive(Pure):
    """A controller within the robot's effort limits, and beside it a pull and forces, which these do not limit.

    robot: with its effort limits; what is stepped has none (`without_effort_limits`). name: of
    `treesim.control.make_controller`, which `target` (nq,), kp and kd are given to. around: what is put around it, such
    as a push. `pull` and `forces`, by name, may be set at any time.
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
        self.pull: Pull | None = None
        self.forces: Mapping[str, Force] = {}
        self._limit = robot.effort_limit

    def aim(self, target: np.ndarray) -> None:
        """Let the controller, if there is one, go to another target (nq,)."""
        if hasattr(self.inner, "target"):
            self.inner.target = target.copy()

    def share(self, other: Drive) -> None:
        """Take the targets, the pull and the forces of another drive of the same robot."""
        if hasattr(other.inner, "target"):
            self.aim(other.inner.target)
        self.pull, self.forces = copy(other.pull), other.forces

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controller's torque and what pull and forces are in the joints (nv,) [N m, N]."""
        tau = np.asarray(self._driven.torque(t, q, v))
        unsaturated = np.abs(tau) < self._limit
        self.stiffness, self.damping = (gain * unsaturated for gain in self._gains)
        for hand in (*((self.pull,) if self.pull else ()), *self.forces.values()):
            tau = tau + hand.generalised(q, v)
        return tau
