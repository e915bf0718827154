"""World and initial state of a live simulation, with what controls the robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...errors import ArgumentError, quoted
from ...export.description import commands
from ...policies.controller import PolicyController
from ...policies.policy import Policy
from ...simulation.control import Controller
from ...simulation.world import World
from ...states.arguments import short_repr
from ...validation.values import known_name
from .panel import POLICY, is_number


class Scene(NamedTuple):
    """World and initial state of a live simulation.

    Parameters
    ----------
    world : World
        The world.
    q : ndarray, shape (nq,)
        Initial configuration.
    v : ndarray, shape (nv,)
        Initial velocity.
    base : str
        Type of the base, "fixed" or "floating".
    push : callable, optional
        Function that wraps the controller, for example to add a push.
    external_forces : sequence of ExternalForce
        External forces on links.
    policy : Policy, optional
        Policy that controls the robot if the controller of the settings is "policy".
    command : array_like
        Command of the policy at the start.
    noise : int, optional
        Seed of the noise of the policy's observations.
    """

    world: World
    q: np.ndarray
    v: np.ndarray
    base: str = ""
    push: Callable[[Controller], Controller] | None = None  # wrapper of the controller
    external_forces: Any = ()
    policy: Policy | None = None
    command: Any = ()
    noise: int | None = None

    @property
    def commands(self) -> dict[str, tuple[float, float]]:
        """Ranges of the numbers of the policy's command, by name."""
        return {} if self.policy is None else self.policy.command_ranges

    def policy_controller(self, dt: float, command: np.ndarray) -> PolicyController:
        """Return the controller of the policy; raises ArgumentError without a policy, or for an unsuitable dt [s]."""
        if self.policy is None:
            raise ArgumentError(f"controller {quoted(POLICY)}: no policy was loaded with this robot")
        return self.policy.controller(dt, command, self.noise)

    @property
    def panel(self) -> dict[str, Any]:
        """What pages offer for the policy: numbers of its command."""
        return {} if self.policy is None else {"commands": commands(self.policy)}

    def checked_command(self, values: Any) -> dict[str, float]:
        """Return validated numbers {name: value} of a command; raises ArgumentError, UnknownNameError."""
        if not isinstance(values, Mapping):
            raise ArgumentError(f"command must be {{name: number}}, got {short_repr(values)}")
        ranges = self.commands
        for name, value in values.items():
            low, high = ranges[known_name("number of the command", name, tuple(ranges))]
            if not is_number(value) or not low <= value <= high:
                raise ArgumentError(f"command {quoted(name)} goes from {low:g} to {high:g}, not {short_repr(value)}")
        return {name: float(value) for name, value in values.items()}
