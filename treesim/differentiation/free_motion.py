"""Derivatives of steps along directions of the state and the control, for any integrator.

Derivatives of the parts of a step are multiplied by those of the forward dynamics between them, which are analytic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.derivatives import forward_dynamics_derivatives
from ..dynamics.forward_dynamics import forward_dynamics
from ..simulation.stepper import Stepper
from .step_parts import step_parts


class Directions(NamedTuple):
    """Directions (B, K, nv) of a state and a control; those of q are displacements (`Tree.integrate`)."""

    q: np.ndarray
    v: np.ndarray
    control: np.ndarray


class FreeMotion(NamedTuple):
    """Unconstrained motion of steps from states (B, n), and its derivatives.

    mean, end: velocities (B, nv) in the joints' axes at the start of the step (`step_parts.StepParts.motion`). along:
    their derivatives (2, B, K, nv). armature (B, nv): diagonal that the step adds to the mass matrix. tau (B, nv),
    tau_along (B, K, nv): force of the last call of the forward dynamics, and its derivatives.
    """

    mean: np.ndarray
    end: np.ndarray
    along: np.ndarray
    armature: np.ndarray
    tau: np.ndarray
    tau_along: np.ndarray

    def of(self, states: Any) -> FreeMotion:
        """Return that of some states."""
        mean, end, along, *others = self
        return FreeMotion(mean[states], end[states], along[:, states], *(x[states] for x in others))


def free_motion(stepper: Stepper, q: np.ndarray, v: np.ndarray, control: np.ndarray, along: Directions) -> FreeMotion:
    """Return the unconstrained motion of a step from states q, v (B, n), and its derivatives."""
    parts, given = step_parts(stepper.robot, stepper.rule), [q, v, _repeated(stepper.settings.table, q), control]
    directions = [*along]
    for part in parts.calls:
        call = part(*given)
        in_q, in_v, in_tau = part.along(given, call, *directions)
        qdd, along_qdd = acceleration(stepper, call, (in_q, in_v, in_tau))
        given.append(qdd)
        directions.append(along_qdd)
    mean, end = parts.motion(*given)
    return FreeMotion(mean, end, parts.motion.along(given, (), *directions), call[3], call[2], in_tau)


def end_of_step(
    stepper: Stepper,
    q: np.ndarray,
    motion: tuple[np.ndarray, np.ndarray],
    displacement: np.ndarray,
    along: Any,
    duration: float | None = None,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the state at the end of a step with the given motion (mean and end velocity), and its derivatives.

    displacement: directions (B, K, nv) of q. along (2, B, K, nv): those of the motion. duration [s]: of the step.
    """
    end, h = step_parts(stepper.robot, stepper.rule).end, stepper.settings.table[0] if duration is None else duration
    given = [q, *motion, np.full((len(q), 1), h)]
    state = end(*given)
    return state, end.along(given, state, displacement, *along)


def acceleration(stepper: Stepper, call: Sequence[np.ndarray], along: Sequence[np.ndarray]) -> Any:
    """Return the accelerations (B, nv) of a call of the forward dynamics (`step_parts.Call`), and their derivatives.

    along: directions (B, K, nv) of q, v and tau.
    """
    q, v, tau, armature = call
    options: dict[str, Any] = {"gravity": stepper.gravity}
    armature = np.maximum(armature, 0.0)  # of mimic joints, the sum of inertias may be rounded below 0
    if (armature == armature[0]).all():
        options["armature"] = armature[0]
    else:  # the forces of some states are at their limits, so that gains add nothing
        options["model_parameters"] = {"armature": armature}
    qdd = forward_dynamics(stepper.robot, q, v, tau, **options)
    found = forward_dynamics_derivatives(stepper.robot, q, v, tau, **options)
    return qdd, sum(x @ np.swapaxes(D, -1, -2) for x, D in zip(along, found, strict=True))


def _repeated(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, (len(q), x.size))
