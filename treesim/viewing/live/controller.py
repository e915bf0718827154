"""Controller of a live simulation: joint control with variable targets, mouse spring, and external forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import cast

import numpy as np

from ...kernels.algebra.limits import UNLIMITED
from ...kernels.stepping.rules import Rule
from ...kernels.stepping.step import Settings
from ...model.parts import changed_joints
from ...model.tree import Tree
from ...policies.controller import PolicyController
from ...simulation.control import PD, ActuatorCommands, Controller, RobotController, StatelessController, Zero
from ...simulation.external_forces import ExternalForce
from ...simulation.step_settings import StepSettings, compliance, has_limited_gains, lightest
from ...simulation.world import World
from ...simulation.wrapped_controllers import unlimited_torque
from .forces import Force
from .mouse_spring import MouseSpring


def without_effort_limits(robot: Tree) -> Tree:
    """Return the same tree without effort limits: the mouse spring is not limited by motors."""
    return robot._with(bodies=changed_joints(robot.bodies, lambda joint: {"effort_limit": np.inf}))


class LiveController:
    """Controller of a live robot, with a mouse spring and forces, both of which may be set at any time.

    inner: the controller. controller: that of the simulation. pull, forces: the mouse spring, and forces by name.
    """

    controller: Controller

    def __init__(self, inner: Zero | PD | PolicyController) -> None:
        self.inner, self.pull = inner, cast(MouseSpring | None, None)
        self.forces: Mapping[str, Force] = {}

    def aim(self, target: np.ndarray) -> None:
        """Set the controller's target (nq,), if it has one."""
        if isinstance(self.inner, PD):
            self.inner.posture = target.copy()

    def share(self, other: LiveController) -> None:
        """Copy target or command, mouse spring and forces from another controller of the same robot."""
        if isinstance(self.inner, PolicyController) and isinstance(other.inner, PolicyController):
            self.inner.command = other.inner.command
        elif isinstance(other.inner, PD):
            self.aim(other.inner.posture)
        self.pull, self.forces = copy(other.pull), other.forces

    def go_on(self, other: LiveController) -> None:
        """Continue with the memory of another controller's policy, if both have one."""
        if isinstance(self.inner, PolicyController) and isinstance(other.inner, PolicyController):
            self.inner.go_on(other.inner)

    @property
    def hands(self) -> list[MouseSpring | Force]:
        """The mouse spring, if there is one, and the forces."""
        return [*((self.pull,) if self.pull else ()), *self.forces.values()]


class Commands(LiveController, RobotController):
    """Controller of a world with actuators: target positions of servos, or the controls of a policy.

    world: with the actuators. inner: of a policy, or of the other joints. around: wraps the controller, for example in
    a push. The mouse spring and forces are external forces of steps.
    """

    def __init__(
        self, world: World, inner: Zero | PD | PolicyController, around: Callable[[Controller], Controller] | None
    ) -> None:
        super().__init__(inner)
        self.robot = inner.robot
        self.controller = self if around is None else around(self)
        self._law = inner if isinstance(inner, PolicyController) else ActuatorCommands(world, inner)
        self.stiffness, self.damping = (getattr(self._law, name, 0.0) for name in ("stiffness", "damping"))

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controls (nv,) of a policy, or targets of servos and torques of joints without actuators."""
        return self._law.torque(t, q, v)

    def motors(self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray | None) -> np.ndarray:
        """Return the forces (nv,) of the actuators in the step before; zeros before the first step."""
        return np.zeros(len(v)) if applied is None else applied

    def external_forces(self, others: Sequence[ExternalForce]) -> Callable[..., list[ExternalForce] | None]:
        """Return the function of (t, q, v) that returns other external forces, the mouse spring and forces."""

        def acting(t: float, q: np.ndarray, v: np.ndarray) -> list[ExternalForce] | None:
            found = [*others]
            for hand in self.hands:
                hand.generalised(q, v)  # computes the force of a spring
                found.append(ExternalForce(hand.body, hand.force, point=hand.point))
            return found or None

        return acting


class Drive(LiveController, StatelessController):
    """Controller within the robot's effort limits, plus a mouse spring and forces that are not limited.

    robot: with its effort limits; the simulated robot has none (`without_effort_limits`). inner: the controller.
    around: wraps it, for example in a push.
    """

    def __init__(
        self,
        robot: Tree,
        inner: Zero | PD | PolicyController,
        around: Callable[[Controller], Controller] | None = None,
    ) -> None:
        super().__init__(inner)
        self.controller, self._driven = self, inner if around is None else around(inner)
        zero = np.zeros(robot.nv)
        self._gains = getattr(self.inner, "stiffness", zero), getattr(self.inner, "damping", zero)
        self.stiffness, self.damping = self._gains
        self._limit, self._motors, self._hands = robot.effort_limit, zero, zero
        self._robot, self._settings = robot, cast(StepSettings | None, None)
        self._prediction: tuple[np.ndarray, ...] = zero.astype(bool), zero, zero  # see `begin`

    def begin(self, settings: StepSettings, rule: Rule) -> None:
        """Prepare the prediction of mean forces in substeps (`kernels.stepping.step.is_within_limits`)."""
        if settings is self._settings:
            return
        self._settings, robot, (kp, kd) = settings, self._robot, self._gains
        limited = has_limited_gains(robot, rule, kp, kd, np.minimum(self._limit, UNLIMITED))
        c = compliance(lightest(robot) if limited.any() else self._limit, limited)
        theta = settings.columns[Settings._fields.index("theta") - 1, robot.kept()[1]]
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
        for hand in self.hands:
            self._hands = self._hands + hand.generalised(q, v)
        return tau + self._hands

    def motors(self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray | None) -> np.ndarray:
        """Return the torque (nv,) of the controller at a state, without mouse spring and forces."""
        return np.asarray(self.inner.torque(t, q, v))

    def external_forces(self, others: Sequence[ExternalForce]) -> Sequence[ExternalForce]:
        """Return the other external forces; the mouse spring and forces are in the torque."""
        return others

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
