"""Gradients through many steps with contact, from the last step to the first, of many states together."""

from __future__ import annotations

import numpy as np

from ..engine.graph.policies import Policy
from ..simulation.step import StepCode
from ..simulation.stepper import Stepper
from .part_pullback import PartModel, PartPullback, PartTape
from .step_sweep import BatchedPlaces, Fixed, Gradients, PolicyPullback, Steps

BLOCK = 256  # states whose contact points are in memory at a time


class ContactSweep:
    """Gradients through steps with contact.

    code: of the steps, whose model parameters `batched` may be those of each state.
    """

    def __init__(self, stepper: Stepper, policy: Policy | None, batched: BatchedPlaces, code: StepCode) -> None:
        self._substeps, self._part, self._numbers = (
            stepper.substeps,
            PartPullback(stepper, batched, code),
            sum(map(len, batched)),
        )
        self._policy = None if policy is None else PolicyPullback(stepper.robot, policy)

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        before = self._impulses(fixed, steps, impulses)
        for k in reversed(range(controls.shape[1])):
            step = Steps(*(x[:, k] for x in steps))
            weights = after.state + np.concatenate([step.on_q, step.on_v], axis=1)
            found = [
                self._through(
                    step.q[own], step.v[own], step.control[own], self._part.model(fixed.numbers[own]), weights[own], x
                )
                for own, x in zip(_blocks(len(weights)), before[k], strict=True)
            ]
            state, controls[:, k], numbers = (np.concatenate(x) for x in zip(*found, strict=True))
            after, parameters = after._replace(numbers=after.numbers + numbers), after.parameters
            if self._policy is not None:
                given = step.t, step.q, step.v, fixed.parameters, controls[:, k] + step.on_control
                *more, in_p = self._policy(*given)
                state, parameters = state + np.concatenate(more, axis=1), parameters + in_p
            after = after._replace(state=state, parameters=parameters)
        return after

    def _impulses(self, fixed: Fixed, steps: Steps, impulses: np.ndarray | None) -> list[list[np.ndarray | None]]:
        """Return the impulses before each step, by blocks of states."""
        found: list[list[np.ndarray | None]] = [
            [None if impulses is None else impulses[own] for own in _blocks(len(steps.q))]
        ]
        for k in range(steps.q.shape[1] - 1):
            ends = []
            for own, before in zip(_blocks(len(steps.q)), found[-1], strict=True):
                (q, v), model = (steps.q[own, k], steps.v[own, k]), self._part.model(fixed.numbers[own])
                for _ in range(self._substeps):
                    result = self._part.solved(q, v, steps.control[own, k], model, before).result
                    q, v, before = result.q, result.v, result.warm_start
                ends.append(before)
            found.append(ends)
        return found

    def _through(
        self,
        q: np.ndarray,
        v: np.ndarray,
        u: np.ndarray,
        model: PartModel,
        weights: np.ndarray,
        before: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the state (B, 2 nv) at the start of a step, in its control, and in the numbers."""
        parts, now = list[PartTape](), (q, v)
        for _ in range(self._substeps):
            parts.append(self._part.tape(*now, u, model, before))
            result = parts[-1].solved.result
            now, before = (result.q, result.v), result.warm_start
        state, control, numbers = (
            weights[:, None],
            np.zeros((len(q), 1, v.shape[1])),
            np.zeros((len(q), 1, self._numbers)),
        )
        for part in reversed(parts):
            state, in_control, in_numbers = self._part.back(part, state)
            control, numbers = control + in_control, numbers + in_numbers
        return state[:, 0], control[:, 0], numbers[:, 0]


def _blocks(count: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, count, BLOCK)]
