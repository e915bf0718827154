"""Derivatives of steps along directions of the state and the control, for any integrator.

Derivatives of the parts of a step are multiplied by those of the forward dynamics between them, which are analytic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.derivatives import ForwardDynamicsDerivatives, forward_dynamics_derivatives
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
    their derivatives (2, B, K, nv). armature (B, nv): diagonal that the step adds to the mass matrix.
    """

    mean: np.ndarray
    end: np.ndarray
    along: np.ndarray
    armature: np.ndarray


def free_motion(stepper: Stepper, q: np.ndarray, v: np.ndarray, control: np.ndarray, along: Directions) -> FreeMotion:
    """Return the unconstrained motion of a step from states q, v (B, n), and its derivatives."""
    parts, given = step_parts(stepper.robot, stepper.rule), [q, v, _repeated(stepper.settings.table, q), control]
    directions = [*along]
    for part in parts.calls:
        call = part(*given)
        in_q, in_v, in_tau = part.along(given, call, *directions)
        qdd, derivatives = _forward_dynamics(stepper, *call)
        given.append(qdd)
        directions.append(
            _product(in_q, derivatives.dqdd_dq)
            + _product(in_v, derivatives.dqdd_dv)
            + _product(in_tau, derivatives.Minv)
        )
    mean, end = parts.motion(*given)
    return FreeMotion(mean, end, parts.motion.along(given, (), *directions), call[3])


def end_of_step(
    stepper: Stepper, q: np.ndarray, motion: tuple[np.ndarray, np.ndarray], displacement: np.ndarray, along: Any
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the state at the end of a step with the given motion (mean and end velocity), and its derivatives.

    displacement: directions (B, K, nv) of q. along (2, B, K, nv): those of the motion.
    """
    end, h = step_parts(stepper.robot, stepper.rule).end, _repeated(stepper.settings.table[:1], q)
    given = [q, *motion, h]
    state = end(*given)
    return state, end.along(given, state, displacement, *along)


def _forward_dynamics(
    stepper: Stepper, q: np.ndarray, v: np.ndarray, tau: np.ndarray, armature: np.ndarray
) -> tuple[np.ndarray, ForwardDynamicsDerivatives]:
    options: dict[str, Any] = {"gravity": stepper.gravity}
    armature = np.maximum(armature, 0.0)  # of mimic joints, the sum of inertias may be rounded below 0
    if (armature == armature[0]).all():
        options["armature"] = armature[0]
    else:  # the forces of some states are at their limits, so that gains add nothing
        options["model_parameters"] = {"armature": armature}
    qdd = forward_dynamics(stepper.robot, q, v, tau, **options)
    return qdd, forward_dynamics_derivatives(stepper.robot, q, v, tau, **options)


def _product(directions: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """Return the derivatives (B, K, n) along directions, from a matrix (B, n, n)."""
    return directions @ np.swapaxes(derivative, -1, -2)


def _repeated(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, (len(q), x.size))
