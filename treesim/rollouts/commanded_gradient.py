"""Gradients of rollouts whose actuators have memory: those under their commands, passed back through delays and lags.

The commands of all substeps follow from the controls alone. So the rollout is one of actuators without memory, whose
steps are the substeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..differentiation.command_gradient import CommandGradient, refuse_memory, without_memory
from ..errors import UnsupportedError
from ..simulation.options import StepOptions
from .arguments import Method, RolloutInput, Start
from .rollouts import Rollouts, times


class CommandedReverse:
    """Rollouts under commands, and their gradients.

    method, start: of the rollouts. reverse: makes the gradients of rollouts without memory, as `gradient.Reverse`.
    """

    def __init__(
        self, reverse: Callable[..., Any], method: Method, start: Start, given: RolloutInput, options: StepOptions,
        everything: bool,
    ) -> None:  # fmt: skip
        memory, world = method.memory, method.world
        assert memory is not None
        refuse_memory(world)
        if start.law is not None:
            raise UnsupportedError("policies that control actuators with delay, lag or rate limit have no gradients")
        self._layout, self._start, self._parts, self._gradient = memory, start, memory.substeps, CommandGradient(memory)
        now, u = memory.begin(np.asarray(start.q, float)), start.u
        self._memory, commands = [], []
        for step in range(start.steps):
            control = np.array(u[:, step], dtype=float, order="C")
            for k in range(self._parts):
                self._memory.append(now)
                now, command = memory.command(k, now, start.q, start.v, control)
                commands.append(command)
        given = given._replace(control=np.stack(commands, axis=1) if commands else u, steps=None)
        options = replace(options, dt=options.dt / self._parts, substeps=1)
        self._inner = reverse(without_memory(world), given, options, everything)
        self._everything = everything
        self.rollouts = self._of_steps(self._inner.rollouts, method.dt)

    def _of_steps(self, found: Rollouts, dt: float) -> Rollouts:
        """Return the rollouts with the records at the ends of whole steps."""
        own = slice(self._parts - 1, None, self._parts) if self._everything else slice(None)
        t = times(dt, 1, self._start.steps) if self._everything else times(dt, self._start.steps, found.q.shape[1])
        done, first = (x // self._parts if self._everything else x for x in (found.done, found.diverged_at))
        return replace(found, t=t, q=found.q[:, own], v=found.v[:, own], done=done, diverged_at=first)

    def pullback(
        self, w_q: ArrayLike | None = None, w_v: ArrayLike | None = None, w_control: ArrayLike | None = None
    ) -> Any:
        """Return the gradients of sum(w_q * dq) + sum(w_v * v) + sum(w_control * u), see `rollout_vjp`."""
        parts, memory = self._parts, self._layout
        found = self._inner.pullback(self._of_parts(w_q), self._of_parts(w_v))
        on_memory, q0 = np.zeros((len(found.q0), memory.size)), found.q0.copy()
        control = np.zeros(self._start.u.shape) if w_control is None else np.array(w_control, float)
        for step in reversed(range(self._start.steps)):
            for k in reversed(range(parts)):
                own = step * parts + k
                given = k, self._memory[own], np.array(self._start.u[:, step], float), on_memory, found.control[:, own]
                on_memory, in_control = self._gradient.back(*given)
                control[:, step] += in_control
        for part, coordinate in memory.starts:  # commands before the first are positions at the start
            q0[:, memory.dof_of(coordinate)] += on_memory[:, part].sum(axis=1)
        return found._replace(q0=q0, control=control)

    def _of_parts(self, weights: ArrayLike | None) -> Any:
        """Return weights of recorded states as those of all parts of steps."""
        if weights is None or np.ndim(weights) != 3 or not self._everything:
            return weights
        given = np.asarray(weights, float)
        wide = np.zeros((given.shape[0], given.shape[1] * self._parts, given.shape[2]))
        wide[:, self._parts - 1 :: self._parts] = given
        return wide
