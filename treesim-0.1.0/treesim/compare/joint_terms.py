"""Additional joint forces proportional to the motion: rotor inertia, damping, friction, spring, constant load."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..model.tree import Tree

Regressor = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
TERMS: dict[str, tuple[str, str, str, Regressor]] = {  # name: (what acts, angular unit, linear unit, per unit)
    "armature": ("a rotor inertia", "kg m^2", "kg", lambda q, v, a: a),
    "damping": ("viscous damping", "N m s/rad", "N s/m", lambda q, v, a: v),
    "joint_friction": ("Coulomb friction", "N m", "N", lambda q, v, a: np.sign(v)),
    "spring": ("a spring", "N m/rad", "N/m", lambda q, v, a: q),
    "load": ("a constant force", "N m", "N", lambda q, v, a: np.ones_like(v)),
}


def positions(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return the coordinate (K, nv) of each degree of freedom; 0 for joints with several."""
    found = np.zeros((len(q), robot.nv))
    for name, where in robot.v_index.items():
        if where.stop - where.start == 1:
            found[:, where] = q[:, robot.q_index[name]]
    return found


def forces_of_terms(
    terms: Mapping[str, np.ndarray], robot: Tree, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Return the forces (K, nv) of coefficients {term: (nv,) or (K, nv)} at states q (K, nq), v, a (K, nv)."""
    at, total = positions(robot, q), np.zeros_like(v)
    for name, sizes in terms.items():
        total += TERMS[name][3](at, v, a) * sizes
    return total


def joint_of(robot: Tree, k: int) -> str:
    """Return the name of the joint with degree of freedom k."""
    return next(name for name, where in robot.v_index.items() if where.start <= k < where.stop)
