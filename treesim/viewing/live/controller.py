"""Controller of a live simulation: joint control with variable targets, mouse spring, and external forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import cast

import numpy as np

from ...kernels.algebra.limits import UNLIMITED
from ...kernels.stepping.rules import Rule
from ...kernels.stepping.step import COLUMNS, Settings
from ...model.parts import changed_joints
from ...model.tree import Tree
from ...policies.controller import PolicyController
from ...simulation.control import PD, Controller, StatelessController, make_controller, unlimited_torque
from ...simulation.step_settings import StepSettings, compliance, has_limited_gains, lightest
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
    in a push. policy: in place of the named controller. `pull` and `forces`, by name, may be set at any time.
    """

    def __init__(
        self,
        robot: Tree,
        name: ControllerName,
        target: np.ndarray,
        kp: float,
        kd: float,
        around: Callable[[Controller], Controller] | None = None,
        policy: PolicyController | None = None,
    ) -> None:
        self.inner = make_controller(name, robot, target, kp, kd) if policy is None else policy
        self._driven: Controller = self.inner if around is None else around(self.inner)
        zero = np.zeros(robot.nv)
        self._gains = getattr(self.inner, "stiffness", zero), getattr(self.inner, "damping", zero)
        self.stiffness, self.damping = self._gains
        self.pull: MouseSpring | None = None
        self.forces: Mapping[str, Force] = {}
        self._limit, self._motors, self._hands = robot.effort_limit, zero, zero
        self._robot, self._settings = robot, cast(StepSettings | None, None)
        self._prediction: tuple[np.ndarray, ...] = zero.astype(bool), zero, zero  # see `begin`

    def aim(self, target: np.ndarray) -> None:
        """Set the controller's target (nq,), if it has one."""
        if isinstance(self.inner, PD) and not isinstance(self.inner, PolicyController):
            self.inner.posture = target.copy()

    def share(self, other: Drive) -> None:
        """Copy target or command, mouse spring and forces from another drive of the same robot."""
        if isinstance(self.inner, PolicyController) and isinstance(other.inner, PolicyController):
            self.inner.command = other.inner.command
        elif isinstance(other.inner, PD):
            self.aim(other.inner.posture)
        self.pull, self.forces = copy(other.pull), other.forces

    def go_on(self, other: Drive) -> None:
        """Continue with the memory of another drive's policy, if both have one."""
        if isinstance(self.inner, PolicyController) and isinstance(other.inner, PolicyController):
            self.inner.go_on(other.inner)

    def begin(self, settings: StepSettings, rule: Rule) -> None:
        """Prepare the prediction of mean forces in substeps (`kernels.stepping.step.is_within_limits`)."""
        if settings is self._settings:
            return
        self._settings, robot, (kp, kd) = settings, self._robot, self._gains
        limited = has_limited_gains(robot, rule, kp, kd, np.minimum(self._limit, UNLIMITED))
        c = compliance(lightest(robot) if limited.any() else self._limit, limited)
        theta = settings.table[1:].reshape(COLUMNS, -1)[Settings._fields.index("theta") - 1, robot.kept()[1]]
        lead = settings.table[0] * theta
        self._prediction = c > 0, lead * kp, (1 + c * (lead * (kd + lead * kp))) * self._limit

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) [N m, N] of controller, mouse spring and external forces."""
        law, (predicted, gain, most) = np.asarray(unlimited_torque(self._driven)(t, q, v)), self._prediction
        within = predicted & (np.abs(law - gain * v) < most)
        tau = np.where(within, law, np.clip(law, -self._limit, self._limit))
        unsaturated = within | (np.abs(tau) < self._limit)
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
