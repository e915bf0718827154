"""Gradients through many steps with contact, from the last step to the first, of many states together."""

from __future__ import annotations

import numpy as np

from ..contact.lanes import begin_info
from ..engine.graph.policies import Policy
from ..simulation.step import StepCode
from ..simulation.stepper import Stepper
from .part_pullback import PartModel, PartPullback
from .solved_part import SolvedPart, joined
from .step_sweep import BatchedPlaces, Fixed, Gradients, PolicyPullback, Steps

BLOCK = 256  # states whose contact points are in memory at a time, in all steps
TAPED = 512  # states whose rows of contact are in memory at a time, in some of the steps: about those of a cache


class ContactSweep:
    """Gradients through steps with contact.

    code: of the steps, whose model parameters `batched` may be those of each state.
    """

    def __init__(self, stepper: Stepper, policy: Policy | None, batched: BatchedPlaces, code: StepCode) -> None:
        self._substeps, self._part = stepper.substeps, PartPullback(stepper, batched, code)
        self._impulses = stepper.world.touching.warm_start_size
        self._policy = None if policy is None else PolicyPullback(stepper.robot, policy)

    def run(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray | None = None
    ) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        count, found = len(controls), list[Gradients]()
        impulses = np.zeros((count, self._impulses)) if impulses is None else impulses
        for own in (slice(first, first + BLOCK) for first in range(0, count, BLOCK)):
            given = (
                Gradients(*(x[own] for x in after)),
                Fixed(*(x[own] for x in fixed)),
                Steps(*(x[own] for x in steps)),
            )
            found.append(self._through(*given, controls[own], impulses[own]))
        return Gradients(*map(np.concatenate, zip(*found, strict=True)))

    def _through(
        self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray, impulses: np.ndarray
    ) -> Gradients:
        """Return the gradients of a block of states."""
        count, parts = len(controls), self._solved(fixed, steps, impulses)
        several, models = max(1, TAPED // count), dict[int, PartModel]()
        control = np.zeros(0)
        for first in reversed(range(0, len(parts), several)):
            group = parts[first : first + several]
            if len(group) not in models:
                models[len(group)] = self._part.model(np.tile(fixed.numbers, (len(group), 1)))
            tape = self._part.tape(joined(group), models[len(group)])
            for j in reversed(range(len(group))):
                k, part = divmod(first + j, self._substeps)
                if part == self._substeps - 1:
                    after = after._replace(
                        state=after.state + np.concatenate([steps.on_q[:, k], steps.on_v[:, k]], axis=1)
                    )
                    control = np.zeros(controls[:, k].shape)
                state, in_control, numbers = self._part.back(
                    tape.of(slice(j * count, (j + 1) * count)), after.state[:, None]
                )
                after = after._replace(state=state[:, 0], numbers=after.numbers + numbers[:, 0])
                control = control + in_control[:, 0]
                if part == 0:
                    controls[:, k] = control
                    after = self._through_policy(after, fixed, Steps(*(x[:, k] for x in steps)), control)
        return after

    def _solved(self, fixed: Fixed, steps: Steps, before: np.ndarray) -> list[SolvedPart]:
        """Take all parts of steps; before: impulses of contact."""
        model, found, info = self._part.model(fixed.numbers), list[SolvedPart](), begin_info(len(before))
        for k in range(steps.q.shape[1]):
            q, v = steps.q[:, k], steps.v[:, k]
            for _ in range(self._substeps):
                part = self._part.solved(q, v, steps.control[:, k], model, before, info)
                found.append(part._replace(result=part.result._replace(warm_start=None)))
                q, v, before = part.result.q, part.result.v, part.result.warm_start
                info = info if part.info is None else part.info
        return found

    def _through_policy(self, after: Gradients, fixed: Fixed, step: Steps, control: np.ndarray) -> Gradients:
        """Add the gradients through a policy; control: in its controls, without their weights."""
        if self._policy is None:
            return after
        given = step.t, step.q, step.v, fixed.parameters, control + step.on_control
        *more, in_p = self._policy(*given)
        return after._replace(state=after.state + np.concatenate(more, axis=1), parameters=after.parameters + in_p)
