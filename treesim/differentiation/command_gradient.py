"""Gradients through the commands of actuators with memory: delays, rate limits and lags."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..actuators.base import BEFORE
from ..engine.graph import derivatives
from ..engine.graph.expressions import Expression
from ..errors import UnsupportedError, quoted
from ..kernels.stepping.command import commands
from ..simulation.actuator_memory import ActuatorMemory, has_memory
from ..simulation.step_traces import empty
from ..simulation.world import World
from .step_pullback import Function, Numbers


class CommandGradient:
    """Gradients of a weighted sum of commands and memory after a substep, in the memory before and the control."""

    def __init__(self, memory: ActuatorMemory) -> None:
        robot, size = memory.robot, memory.size
        places, rates = memory.bound.constants[-2:]

        def after(substep: Numbers, before: Numbers, u: Numbers) -> Numbers:
            kept, command, unread = empty(size), empty(robot.nv), np.zeros(robot.nq)
            commands(places, rates, substep, before, unread, unread, u, kept, command)
            return np.concatenate([kept, command])

        gradients = derivatives.gradients_of(Expression([1, size, robot.nv], after), [False, True, True])
        self._function = Function([1, size, robot.nv, size + robot.nv], gradients, [size, robot.nv])
        self._memory = memory

    def back(
        self, k: int, before: np.ndarray, u: np.ndarray, on_memory: np.ndarray, on_command: np.ndarray
    ) -> list[np.ndarray]:
        """Return the gradients in the memory (B, na) before the k-th substep and in the control u (B, nv).

        on_memory (B, na), on_command (B, nv): weights, or (B, K, n) for K sums.
        """
        substep = np.full((len(u), 1), float(k))
        return self._function.back((substep, before, u), np.concatenate([on_memory, on_command], axis=-1))


def refuse_memory(world: World) -> None:
    """Raise UnsupportedError for actuators whose steps have no derivatives."""
    for name, actuator in ({} if world.actuator_table is None else world.actuator_table.by_joint).items():
        late = actuator._late
        refused = {
            "a period": actuator._period, "inductance": actuator._time_constant,
            "a delay of each rollout": late.most > late.least, 'before="first"': late.before == BEFORE.index("first"),
        }  # fmt: skip
        for what, found in refused.items():
            if found and has_memory(actuator):
                raise UnsupportedError(f"joint {quoted(name)}: steps under an actuator with {what} have no derivatives")


def without_memory(world: World) -> World:
    """Return the world with actuators that get their commands at once."""
    given = {
        name: replace(actuator, delay=0.0, interpolate=False, before=None, lag=0.0, rate_limit=None)
        for name, actuator in world.actuators.items()
    }
    return World(world.alone, world._given(), **world._options() | {"actuators": given})
