"""The energy that a run should have: what it had, and the work of controls, damping and friction."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.functions import energy, momentum
from ..dynamics.physics import ModelParameters
from ..engine.call.evaluate import specialized_first
from ..errors import EnergyWarning, NonFiniteError
from ..model.tree import Tree
from .step_settings import speed_hint
from .trajectory import Trajectory

TOLERATED = 0.01  # of the energy in play: a larger error is warned of
NONSENSE = 0.5  # of the energy in play: a run with a larger error has failed
ROUNDING = 1e-9  # of kinetic energy: less than that in play is none
LEAST_HEIGHT = 1e-3  # m: so far the robot's weight may always fall; what is in play at rest, or in one step


class Energies(NamedTuple):
    """Of K states: kinetic and potential energy (K,), and that in play, one number [J].

    In play is what could turn into motion of the joints: the largest kinetic energy, beyond that of a free robot's
    centre of mass, and, where the base is held, the span of the potential energy; LEAST_HEIGHT of the weight at least.
    """

    kinetic: np.ndarray
    potential: np.ndarray
    in_play: float


def energies(robot: Tree, q: np.ndarray, v: np.ndarray, gravity: np.ndarray | None) -> Energies:
    """Return the energies of states q (K, nq), v (K, nv), K > 0; infinite where they are too large for a number."""
    try:
        kinetic, potential = specialized_first(energy, robot, q, v, gravity=gravity)
    except NonFiniteError:  # the last states before an overflow are finite, their squares need not be
        kinetic, potential = np.full((2, len(q)), np.inf)
        for k in range(len(q)):
            try:
                kinetic[k], potential[k] = specialized_first(energy, robot, q[k], v[k], gravity=gravity)
            except NonFiniteError:
                break
        return Energies(kinetic, potential, np.inf)
    return Energies(kinetic, potential, float(in_play(robot, q, v, kinetic, potential, gravity)))


def in_play(
    robot: Tree,
    q: np.ndarray,
    v: np.ndarray,
    kinetic: np.ndarray,
    potential: np.ndarray,
    gravity: np.ndarray | None = None,
    rounding: float = ROUNDING,
    mass: np.ndarray | None = None,
    model_parameters: ModelParameters | None = None,
) -> np.ndarray:
    """Return the energy in play (...) of runs of states q (..., K, nq), v (..., K, nv) with energies (..., K) [J];
    rounding: of kinetic energy; gravity: (..., 3), or of each run its size (..., 1); mass (...): of each run's robot,
    with other numbers of its own."""
    most = kinetic.max(axis=-1)
    total = robot.mass if mass is None else mass
    weight = total * np.linalg.norm(robot.gravity if gravity is None else gravity, axis=-1)
    floor = np.maximum(np.maximum(LEAST_HEIGHT * weight, np.finfo(float).tiny), rounding * most)
    if [body.joint.type for body in robot.bodies if body.parent == 0] == ["floating"] and np.all(total > 0):
        if model_parameters is None:
            carried = specialized_first(momentum, robot, q, v)[..., :3]
        else:
            carried = momentum(robot, q, v, model_parameters=model_parameters)[..., :3]
        inner = kinetic - (carried * carried).sum(axis=-1) / (2 * np.asarray(total)[..., None])
        return np.maximum(inner.max(axis=-1), floor)
    return np.maximum(most + np.ptp(potential, axis=-1), floor)


def work_of(robot: Tree, t: np.ndarray, v: np.ndarray, tau: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the work (K, 2) of torques tau (K, nv), and of joint damping, up to each state, by the trapezoidal rule;
    for integrators that do not count it themselves. start: (2,), the work up to the first state [J]."""
    power = np.stack([(tau * v).sum(axis=1), -(robot.damping * v * v).sum(axis=1)], axis=1)
    steps = (power[1:] + power[:-1]) / 2 * np.diff(t)[:, None]
    return np.cumsum(np.concatenate([np.broadcast_to(start, (min(1, len(t)), 2)), steps]), axis=0)


def judged(trajectory: Trajectory, robot: Tree) -> Trajectory:
    """Return the trajectory of a robot's run that came to its end, as stopped where its energy tells that it is
    nonsense; warn of a large error."""
    error, in_play = trajectory.energy_error, trajectory.metadata["energy_in_play"]
    if not (np.isfinite(in_play) and np.isfinite(error).all()):
        return trajectory.with_metadata(stopped="the motion is not to be trusted: its energy is too large for a number")
    worst = int(np.argmax(np.abs(error)))
    if not abs(error[worst]) > TOLERATED * in_play:
        return trajectory
    made: Any = trajectory.metadata
    details, remedy = (
        off_by(error[worst], trajectory.t[worst], in_play),
        remedy_of(robot, made["dt"], made["integrator"]),
    )
    if abs(error[worst]) > NONSENSE * in_play:
        return trajectory.with_metadata(stopped=f"the motion is not to be trusted: {details}; {remedy}")
    warnings.warn(f"{details}: {remedy}", EnergyWarning, stacklevel=4)
    return trajectory


def off_by(error: float, t: float, in_play: float) -> str:
    """Return how large an error [J] at a time [s] is, in words."""
    part = f"{abs(error) / in_play:.2g} of the {in_play:.3g} J in play"
    return f"the energy is off by {error:+.3g} J at t = {t:.6g} s, {part}"


def remedy_of(robot: Tree, dt: float, integrator: str) -> str:
    """Return what to do about a large error of a run, in words."""
    other = "" if integrator == "implicit_midpoint" else ", or the integrator 'implicit_midpoint'"
    return f"take a smaller dt than {dt:g} s{other}{speed_hint(robot)}"
