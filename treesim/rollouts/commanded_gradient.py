"""Gradients of rollouts whose actuators have memory: those under their commands, passed back through delays and lags.

The commands of all substeps follow from the controls alone. So the rollout is one of actuators without memory, whose
steps are the substeps. The controls of a policy are those at the states that the rollout under it records. Gradients
pass back through one substep after the other, since a control depends on the state at the start of its step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..differentiation.command_gradient import CommandGradient, refuse_memory, without_memory
from ..differentiation.step_sweep import PolicyPullback
from ..engine.call.expression_code import columns_of
from ..engine.graph.policies import Policy
from ..errors import ArgumentError
from ..simulation.options import StepOptions
from .arguments import Method, RolloutInput, Start
from .rollout import roll_out
from .rollouts import Rollouts, times
from .save_at import SaveAt


def controls_of(policy: Policy, t: np.ndarray, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the controls (B, n, nv) of a policy in n steps."""
    count, n = q.shape[:2]
    each = np.broadcast_to(p[:, None], (count, n, p.shape[1]))
    found = columns_of(policy, "auto")(*(x.reshape(count * n, x.shape[2]) for x in (t, q, v, each)))
    return found.reshape(count, n, -1)


class CommandedReverse:
    """Rollouts under commands, and their gradients.

    method, start: of the rollouts. reverse: makes the gradients of rollouts without memory, as `gradient.Reverse`.
    policy: traced, None under given controls.
    """

    def __init__(
        self, reverse: Callable[..., Any], method: Method, start: Start, given: RolloutInput, options: StepOptions,
        everything: bool, policy: Policy | None,
    ) -> None:  # fmt: skip
        memory, world = method.memory, method.world
        assert memory is not None
        refuse_memory(world)
        self._policy = None if policy is None else PolicyPullback(world.robot, policy)
        if policy is not None:
            runs = roll_out(world, given, options, SaveAt())
            q, v = (np.concatenate([x[:, None], y[:, :-1]], 1) for x, y in ((start.q, runs.q), (start.v, runs.v)))
            t = np.broadcast_to(method.dt * np.arange(start.steps)[:, None], (*q.shape[:2], 1))
            self._starts = t, q, v
            start = start._replace(u=controls_of(policy, t, q, v, start.p))
            given = given._replace(policy_parameters=None)
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
        one_by_one = policy is not None
        self._inner = reverse(without_memory(world), given, options, everything or one_by_one, one_by_one)
        self._everything, self._shows_all = everything or one_by_one, everything
        self.rollouts = self._of_steps(self._inner.rollouts, method.dt)

    def _of_steps(self, found: Rollouts, dt: float) -> Rollouts:
        """Return the rollouts with the records at the ends of whole steps."""
        steps, parts = self._start.steps, self._parts
        every = 1 if self._shows_all else max(1, steps)
        own = slice(every * parts - 1, None, every * parts) if self._everything else slice(None)
        t = times(dt, every, steps if self._shows_all else found.q[:, own].shape[1])
        done, first = (x // (every * parts) if self._everything else x for x in (found.done, found.diverged_at))
        return replace(found, t=t, q=found.q[:, own], v=found.v[:, own], done=done, diverged_at=first)

    def pullback(
        self, w_q: ArrayLike | None = None, w_v: ArrayLike | None = None, w_control: ArrayLike | None = None
    ) -> Any:
        """Return the gradients of sum(w_q * dq) + sum(w_v * v) + sum(w_control * u), see `rollout_vjp`."""
        if self._policy is not None:
            return self._through_policy(w_q, w_v, w_control)
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
        return found._replace(q0=self._with_starts(q0, on_memory), control=control)

    def _with_starts(self, q0: np.ndarray, on_memory: np.ndarray) -> np.ndarray:
        """Add the gradients of commands before the first one, which are positions at the start."""
        for part, coordinate in self._layout.starts:
            q0[:, self._layout.dof_of(coordinate)] += on_memory[:, part].sum(axis=1)
        return q0

    def _through_policy(self, w_q: ArrayLike | None, w_v: ArrayLike | None, w_control: ArrayLike | None) -> Any:
        """Return the gradients under a policy."""
        (t, q, v), start, policy = self._starts, self._start, self._policy
        on_memory, in_p = np.zeros((len(q), self._layout.size)), np.zeros(start.p.shape)
        control = np.zeros(start.u.shape) if w_control is None else np.array(w_control, float)
        if control.shape != start.u.shape:
            raise ArgumentError(f"w_control has shape {control.shape}, but {start.u.shape} is needed")

        def through_commands(own: int, on_state: np.ndarray, on_command: np.ndarray) -> np.ndarray:
            nonlocal on_memory, in_p
            step, k = divmod(own, self._parts)
            on_memory, in_control = self._gradient.back(k, self._memory[own], start.u[:, step], on_memory, on_command)
            control[:, step] += in_control
            if k:
                return on_state
            assert policy is not None
            *in_state, on_p = policy(t[:, step], q[:, step], v[:, step], start.p, control[:, step])
            in_p = in_p + on_p
            return on_state + np.concatenate(in_state, axis=1)

        found = self._inner.pullback(self._of_parts(w_q), self._of_parts(w_v), before=through_commands)
        q0 = self._with_starts(found.q0.copy(), on_memory)
        return found._replace(q0=q0, control=None, policy_parameters=in_p)

    def _of_parts(self, weights: ArrayLike | None) -> Any:
        """Return weights of recorded states as those of all parts of steps."""
        if weights is None or np.ndim(weights) != 3 or not self._everything:
            return weights
        given = np.asarray(weights, float)
        if not self._shows_all and given.shape[1] == 1:
            return given[:, 0]
        wide = np.zeros((given.shape[0], given.shape[1] * self._parts, given.shape[2]))
        wide[:, self._parts - 1 :: self._parts] = given
        return wide
