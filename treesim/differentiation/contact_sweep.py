"""Gradients through many steps with contact, from the last step to the first, by the matrices of each step."""

from __future__ import annotations

import numpy as np

from ..engine.graph.policies import Policy
from ..simulation.stepper import Stepper
from .free_motion import Directions
from .step_sweep import Fixed, Gradients, PolicyPullback, Steps
from .step_tangents import StepTangents


class ContactSweep:
    """Gradients through steps with contact, one state after the other."""

    def __init__(self, stepper: Stepper, policy: Policy | None) -> None:
        self._stepper = stepper
        self._policy = None if policy is None else PolicyPullback(stepper.robot, policy)

    def run(self, after: Gradients, fixed: Fixed, steps: Steps, controls: np.ndarray) -> Gradients:
        """Return the gradients at the start, see `Sweep`."""
        for k in reversed(range(controls.shape[1])):
            step = Steps(*(x[:, k] for x in steps))
            weights = after.state + np.concatenate([step.on_q, step.on_v], axis=1)
            state, controls[:, k] = self._through(step, weights)
            parameters = after.parameters
            if self._policy is not None:
                given = step.t, step.q, step.v, fixed.parameters, controls[:, k] + step.on_control
                *more, in_p = self._policy(*given)
                state, parameters = state + np.concatenate(more, axis=1), parameters + in_p
            after = after._replace(state=state, parameters=parameters)
        return after

    def _through(self, step: Steps, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients in the state (B, 2 nv) at the start of a step, and in its control."""
        nv = self._stepper.robot.nv
        unit = np.broadcast_to(np.eye(3 * nv), (len(weights), 3 * nv, 3 * nv))
        directions = Directions(unit[..., :nv], unit[..., nv : 2 * nv], unit[..., 2 * nv :])
        along = StepTangents(self._stepper, step.q, step.v, step.control, directions).along
        back = np.einsum("bkn,bn->bk", np.concatenate([along.q, along.v], axis=-1), weights)
        return back[:, : 2 * nv], back[:, 2 * nv :]
