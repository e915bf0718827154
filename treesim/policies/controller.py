"""Controllers of simulations that evaluate policies."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..simulation.control import RobotController
from ..validation.values import finite_vector
from .policy import Policy

EARLY = 1e-6  # part of a period: times of steps contain rounding errors


class PolicyController(RobotController):
    """Controller that evaluates a policy at its rate, and returns the controls of the actuators of its robot.

    Its memory begins anew if the time jumps back, or by more than a period. A call at the time of the latest
    evaluation, with another state, repeats this evaluation.
    """

    def __init__(self, policy: Policy, dt: float, command: ArrayLike = (), noise: int | None = None) -> None:
        policy.steps(dt)
        self.robot, self.commanded_actuators = policy.robot, tuple(policy.actuators)
        self.policy, self.command, self._seed = policy, command, noise
        if noise is not None:
            policy.noise(0, noise)  # checks the seed
        self._before = self._memory = policy.begin()
        self._sample: tuple[int, float, np.ndarray, np.ndarray] | None = None  # period, time and state
        self._control = np.zeros(policy.robot.nv)

    @property
    def command(self) -> np.ndarray:
        """Command, which may be changed during a run."""
        return self._command

    @command.setter
    def command(self, value: ArrayLike) -> None:
        argument = self.policy.command_argument(value)
        self._command = finite_vector(argument.label, value, argument.shape[0])

    def __repr__(self) -> str:
        return f"<PolicyController: {self.policy!r}>"

    def go_on(self, other: PolicyController) -> None:
        """Continue where another controller of the same policy is."""
        self._before, self._memory, self._sample = other._before, other._memory, other._sample
        self._control, self.command = other._control, other.command

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the controls (nv,) of the actuators: target positions or velocities, or torques [N m, N]."""
        self._evaluate(t, q, v)
        return self._control

    def _evaluate(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Evaluate the policy if a period begins, or at another state."""
        index, last = math.floor(t * self.policy.contract.rate + EARLY), self._sample
        if last is None or not last[0] <= index <= last[0] + 1 or t < last[1]:
            self._before = self.policy.begin()
        elif index == last[0] + 1:
            self._before = self._memory
        elif t > last[1] or (np.array_equal(q, last[2]) and np.array_equal(v, last[3])):
            return
        noise = None if self._seed is None else self.policy.noise(max(index, 0), self._seed)
        self._control, self._memory = self.policy.step(t, q, v, self._command, self._before, noise)
        self._sample = index, t, np.array(q), np.array(v)
