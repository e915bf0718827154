"""Rollouts as a function with gradients, which plugins pass to the automatic differentiation of other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ..differentiation.operations import Arrays, Operation
from ..differentiation.tangent_gradients import along_velocities, in_numbers
from ..errors import ArgumentError
from ..model.tree import Tree
from ..simulation.world import World, as_world
from ..states.arguments import whole_number
from ..validation.arrays import Shape
from .gradient import Pullback, rollout_vjp
from .rollouts import Rollouts


class Rollout(Operation):
    """Recorded states of rollouts by `treesim.rollout_vjp`, as a function of q0, v0, and controls or parameters.

    policy: None for given controls. shape: of the controls, or of the policy's parameters; axes in front are those of a
    batch. Gradients run the rollouts again, so that no states are in memory between values and gradients.
    """

    def __init__(
        self, robot: Tree | World, policy: Callable[..., None] | None, shape: Shape, options: Mapping[str, Any]
    ) -> None:
        self.robot = as_world(robot).robot
        signature(rollout_vjp).bind(robot, None, None, **options)  # raises TypeError for an unknown name
        nq, nv = self.robot.nq, self.robot.nv
        if policy is None and len(shape) < 2:
            raise ArgumentError(f"control has shape {tuple(shape)}, but (..., steps, {nv}) is needed")
        if policy is not None and "steps" not in options:
            raise ArgumentError("give steps, the number of steps under a policy")
        steps = shape[-2] if policy is None else whole_number("steps", options["steps"])
        label, own = ("control", (steps, nv)) if policy is None else ("policy_parameters", tuple(shape[-1:]))
        self.policy, records = policy, min(1, steps) if options.get("keep") == "last" else steps
        call = partial(rollout_vjp, robot, control=policy, **options)
        super().__init__("rollout", call, {"q0": (nq,), "v0": (nv,), label: own}, (records, nq), (records, nv))

    @classmethod
    def of(cls, robot: Tree | World, control: Any, parameters: Any, options: Mapping[str, Any]) -> tuple[Rollout, Any]:
        """Return the operation, and its third argument: the controls, or the parameters of a policy."""
        if not callable(control):
            if parameters is not None:
                raise ArgumentError("policy_parameters are those of a policy: give a function as control, or none")
            return cls(robot, None, np.shape(control), options), control
        parameters = np.empty(0) if parameters is None else parameters
        return cls(robot, control, np.shape(parameters), options), parameters

    def values(self, *primals: np.ndarray) -> Arrays:
        """Return the configurations (..., K, nq) and velocities (..., K, nv); raises as `treesim.rollout_vjp`."""
        batch = np.broadcast_shapes(*self._batches(primals))
        runs, _ = self._run(primals, batch)
        return tuple(x.reshape(batch + own) for x, own in zip((runs.q, runs.v), self.results, strict=True))

    def gradients(self, weights: Sequence[np.ndarray], *primals: np.ndarray) -> Arrays:
        """Return the gradients in q0, v0, and controls or parameters."""
        on_q, on_v = weights
        batch = np.broadcast_shapes(*self._batches(primals), on_q.shape[:-2], on_v.shape[:-2])
        runs, pullback = self._run(primals, batch)
        w_q = along_velocities(self.robot, runs.q.reshape(batch + self.results[0]), on_q)
        found = pullback(*(np.broadcast_to(w, batch + w.shape[-2:]).reshape(runs.v.shape) for w in (w_q, on_v)))
        third = found.control if self.policy is None else found.policy_parameters
        assert third is not None
        shapes = [(self.robot.nv,), *list(self.shapes.values())[1:]]
        in_q0, in_v0, in_third = (
            x.reshape(batch + own) for x, own in zip((found.q0, found.v0, third), shapes, strict=True)
        )
        return in_numbers(self.robot, primals[0], in_q0), in_v0, in_third

    def _batches(self, primals: Sequence[np.ndarray]) -> list[Shape]:
        return [x.shape[: x.ndim - len(own)] for x, own in zip(primals, self.shapes.values(), strict=True)]

    def _run(self, primals: Sequence[np.ndarray], batch: Shape) -> tuple[Rollouts, Pullback]:
        """Return the rollouts of all states of a batch, in double precision, and the function of their gradients."""
        q0, v0, third = (
            np.broadcast_to(x.astype(float, copy=False), batch + own).reshape(math.prod(batch), *own)
            for x, own in zip(primals, self.shapes.values(), strict=True)
        )
        return self.call(q0, v0, **{list(self.shapes)[2]: third})
