"""Controllers of simulations that evaluate policies."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..simulation.control import SampledPD
from ..validation.values import finite_vector
from .policy import Policy
from .servos import multiple

EARLY = 1e-6  # part of a period: times of steps contain rounding errors


class PolicyController(SampledPD):
    """Controller that evaluates a policy at its rate, and the actuators of its contract between.

    Its memory begins anew if the time jumps back, or by more than a period. A call at the time of the latest
    evaluation, with another state, repeats this evaluation.
    """

    def __init__(self, policy: Policy, dt: float, command: ArrayLike = ()) -> None:
        policy.steps(dt)
        explicit = policy.servos.period
        if explicit is not None:
            multiple(explicit, dt, f"the period of the actuators, {explicit:g} s")
        given = explicit is None
        super().__init__(policy.robot, policy.posture, kp=policy.kp * given, kd=policy.kd * given)
        self.policy, self.command = policy, command
        self._before = self._memory = policy.begin()
        self._sample: tuple[int, float, np.ndarray, np.ndarray] | None = None  # period, time and state
        self._held: tuple[int, np.ndarray] | None = None  # period of explicit gains, and torque
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
        self._before, self._memory, self._sample, self._held = other._before, other._memory, other._sample, other._held
        self._control, self.posture, self.command = other._control, other.posture.copy(), other.command

    def _law(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque (nv,) of the actuators, within their limits except for implicit gains."""
        changed = self._evaluate(t, q, v)
        period = self.policy.servos.period
        if period is None and self.policy.servos.has_gains:
            return super()._law(t, q, v)
        if period is None:
            return self.policy.torque(self._control, q, v)
        index = math.floor(t / period + EARLY)
        if changed or self._held is None or self._held[0] != index:
            self._held = index, self.policy.torque(self._control, q, v)
        return self._held[1]

    def _evaluate(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Evaluate the policy if a period begins, or at another state; return whether it was evaluated."""
        index, last = math.floor(t * self.policy.contract.rate + EARLY), self._sample
        if last is None or not last[0] <= index <= last[0] + 1 or t < last[1]:
            self._before = self.policy.begin()
        elif index == last[0] + 1:
            self._before = self._memory
        elif t > last[1] or (np.array_equal(q, last[2]) and np.array_equal(v, last[3])):
            return False
        self._control, self._memory = self.policy.step(t, q, v, self._command, self._before)
        self._sample = index, t, np.array(q), np.array(v)
        servos = self.policy.servos
        self.posture[servos.positions] = self._control[servos.driven]
        return True
