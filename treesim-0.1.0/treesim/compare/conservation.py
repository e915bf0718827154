"""Conservation in free motion: energy, and momentum of a floating-base robot less the impulse of gravity."""

from __future__ import annotations

import numpy as np

from ..dynamics.energy import momentum
from ..dynamics.operational.motion import center_of_mass
from ..model.tree import Tree
from ..simulation.energy_balance import energies
from .measures import Scales
from .report import Conservation, Curve, as_curve


def conservation(run: str, robot: Tree, q: np.ndarray, v: np.ndarray, dt: float) -> Conservation:
    """Return the errors of energy and momentum along q (K, nq), v (K, nv), up to the first state that is not finite."""
    finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
    K = len(q) if finite.all() else int(np.argmin(finite))
    q, v, t = q[:K], v[:K], dt * np.arange(K)
    if K == 0:
        return Conservation(run, (), ())
    kinetic, potential, energy_range = energies(robot, q, v, None)
    E = kinetic + potential
    kept = _momenta(robot, q, v, t) if robot.base == "floating" and robot.mass > 0 else ()
    return Conservation(run, as_curve(t), as_curve((E - E[0]) / energy_range), *kept)


def _momenta(robot: Tree, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> tuple[Curve, Curve]:
    h = momentum(robot, q, v)
    p, L = h[:, :3], h[:, 3:]
    falling = p - t[:, None] * robot.mass * np.array(robot.gravity)
    about_centre = L - np.cross(center_of_mass(robot, q), p)
    largest = float(np.linalg.norm(falling, axis=1).max())
    turning = max(float(np.linalg.norm(about_centre, axis=1).max()), Scales.of(robot).length * largest)
    return _drift(falling, largest), _drift(about_centre, turning)


def _drift(x: np.ndarray, scale: float) -> Curve:
    return as_curve(np.linalg.norm(x - x[0], axis=1) / max(scale, np.finfo(float).tiny))
