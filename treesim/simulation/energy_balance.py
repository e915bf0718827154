"""Energy balance of a run: energies, work, and the integrator's error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import plugins
from ..dynamics.energy import energy, momentum
from ..dynamics.physics import ModelParameters
from ..engine.call.evaluate import specialized_first
from ..errors import DivergedWarning, EnergyWarning, NonFiniteError
from ..kernels.stepping.rules import IN_PYTHON, RULES
from ..model.tree import Tree
from ..system.user_warnings import warn
from .step_settings import speed_hint
from .trajectory import Trajectory

TOLERATED = 0.01  # of the energy range: a larger error is warned of
NONSENSE = 0.5  # of the energy range: a run with a larger error has failed
ROUNDING = 1e-9  # of kinetic energy: a smaller energy range counts as none
FREE = 6  # degrees of freedom of a robot without joints but the floating one
LEAST_HEIGHT = 1e-3  # m: smallest energy range, as height of the robot's weight; for rest, and for single steps


class Energies(NamedTuple):
    """Kinetic and potential energy (K,) of K states, and the energy range `energy_range`, one number [J].

    The energy range is what could turn into joint motion: the largest kinetic energy, without that of the centre of
    mass of a free robot with joints. A robot on a fixed base adds the range of its potential energy. At least
    LEAST_HEIGHT times the weight.
    """

    kinetic: np.ndarray
    potential: np.ndarray
    energy_range: float


def energies(robot: Tree, q: np.ndarray, v: np.ndarray, gravity: np.ndarray | None) -> Energies:
    """Return the energies of states q (K, nq), v (K, nv), K > 0; infinite where they overflow."""
    try:
        kinetic, potential = specialized_first(energy, robot, q, v, gravity=gravity)
    except NonFiniteError:  # squares of the last states before an overflow may be infinite
        kinetic, potential = np.full((2, len(q)), np.inf)
        for k in range(len(q)):
            try:
                kinetic[k], potential[k] = specialized_first(energy, robot, q[k], v[k], gravity=gravity)
            except NonFiniteError:
                break
        return Energies(kinetic, potential, np.inf)
    return Energies(kinetic, potential, float(energy_range(robot, q, v, kinetic, potential, gravity)))


def energy_range(
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
    """Return the energy range (...) [J] of runs of states q (..., K, nq), v (..., K, nv).

    kinetic, potential: energies (..., K) [J]. gravity: (..., 3), or its magnitude (..., 1) for each run
    [m/s^2]. rounding: smallest energy range, relative to the kinetic energy. mass: (...), each run's mass [kg].
    model_parameters: each run's other parameters.
    """
    most = kinetic.max(axis=-1)
    total = robot.mass if mass is None else mass
    weight = total * np.linalg.norm(robot.gravity if gravity is None else gravity, axis=-1)
    floor = np.maximum(np.maximum(LEAST_HEIGHT * weight, np.finfo(float).tiny), rounding * most)
    if [body.joint.type for body in robot.bodies if body.parent == 0] == ["floating"] and np.all(total > 0):
        if robot.nv == FREE:
            return np.maximum(most, floor)
        if model_parameters is None:
            carried = specialized_first(momentum, robot, q, v)[..., :3]
        else:
            carried = momentum(robot, q, v, model_parameters=model_parameters)[..., :3]
        inner = kinetic - (carried * carried).sum(axis=-1) / (2 * np.asarray(total)[..., None])
        return np.maximum(inner.max(axis=-1), floor)
    return np.maximum(most + np.ptp(potential, axis=-1), floor)


def work_of(robot: Tree, t: np.ndarray, v: np.ndarray, tau: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the work (K, 2) of torques and of joint damping up to each state [J], by the trapezoidal rule.

    Used for integrators that do not integrate the work themselves. tau: (K, nv). start: (2,), work at the first
    state [J].
    """
    power = np.stack([(tau * v).sum(axis=1), -(robot.damping * v * v).sum(axis=1)], axis=1)
    steps = (power[1:] + power[:-1]) / 2 * np.diff(t)[:, None]
    return np.cumsum(np.concatenate([np.broadcast_to(start, (min(1, len(t)), 2)), steps]), axis=0)


def checked_energy(trajectory: Trajectory, robot: Tree, soft: bool = False) -> Trajectory:
    """Return a finished run with its energy checked: marked as stopped for an absurd error; warns of a large one.

    soft: whether any surface is. Semi-implicit Euler then loses energy of first order in every bounce, and no run is
    marked for it.
    """
    error, energy_range = trajectory.energy_error, trajectory.metadata["energy_range"]
    if not (np.isfinite(energy_range) and np.isfinite(error).all()):
        return untrusted(trajectory, "its energy is too large for a number")
    worst = int(np.argmax(np.abs(error)))
    if not abs(error[worst]) > TOLERATED * energy_range:
        return trajectory
    made: Any = trajectory.metadata
    details = off_by(error[worst], trajectory.t[worst], energy_range)
    remedy = remedy_of(robot, made["dt"], made["integrator"], made.get("backend"))
    dissipative = RULES.get(made["integrator"], IN_PYTHON).theta == 1  # on soft surfaces
    expected = soft and dissipative and error[worst] < 0
    if abs(error[worst]) > NONSENSE * energy_range and not expected:
        return untrusted(trajectory, f"{details}; {remedy}")
    warn(f"{details}: {remedy}", EnergyWarning)
    return trajectory


def untrusted(trajectory: Trajectory, reason: str) -> Trajectory:
    """Return a run that is marked as stopped, since its energy is absurd; warns."""
    stopped = f"the motion is not to be trusted: {reason}"
    warn(stopped, DivergedWarning)
    return trajectory.with_metadata(stopped=stopped)


def off_by(error: float, t: float, energy_range: float) -> str:
    """Return a sentence with the energy error [J] at time t [s], relative to the energy range `energy_range` [J]."""
    part = f"{abs(error) / energy_range:.2g} of the {energy_range:.3g} J energy range"
    return f"the energy is off by {error:+.3g} J at t = {t:.6g} s, {part}"


def remedy_of(robot: Tree, dt: float, integrator: str, backend: str | None = None) -> str:
    """Return advice for a run with a large energy error; backend: name of the one that was used."""
    other = "" if integrator == plugins.DEFAULT_INTEGRATOR else f", or the integrator {plugins.DEFAULT_INTEGRATOR!r}"
    is_own = backend is None or backend in plugins.BUILT_IN["dynamics"]
    own = "" if is_own else f", or see what treesim.testing.check_dynamics finds in the backend {backend!r}"
    return f"take a smaller dt than {dt:g} s{other}{speed_hint(robot)}{own}"
