"""Springs of joints: their forces and energy."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..engine.graph.trace import is_traced
from ..model.named_axes import coordinate_argument
from ..model.tree import Tree
from ..validation.arrays import coerce


@lru_cache(maxsize=64)
def sprung(robot: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices in q and in v of joints with springs, which have one coordinate each."""
    v = np.flatnonzero(robot.stiffness)
    return coordinates_of(robot, v), v


def coordinates_of(robot: Tree, dofs: np.ndarray) -> np.ndarray:
    """Return the indices in q of degrees of freedom of joints with one coordinate each."""
    return np.array([robot.q_index[robot.dof_joint(int(k))].start for k in dofs], int)


def spring_forces(robot: Tree, q: np.ndarray) -> np.ndarray:
    """Return the forces -k (q - rest) (nv,) of joint springs at q (nq,)."""
    (at, v), forces = sprung(robot), np.zeros(robot.nv)
    forces[v] = robot.stiffness[v] * (robot.rest[v] - q[at])
    return forces


def with_spring_energy(robot: Tree, q: Any, energy: Any) -> Any:
    """Return energies (...) [J] with those of joint springs, k (q - rest)^2 / 2, added; both may be traced."""
    at, v = sprung(robot)
    if not v.size:
        return energy
    values = np.asarray(q) if is_traced(q) else coerce(coordinate_argument(robot, "q", q))
    stretched = values[..., at] - robot.rest[v]
    found = (robot.stiffness[v] / 2 * stretched * stretched).sum(axis=-1)
    is_number = isinstance(energy, np.ndarray | np.floating) and energy.dtype != object  # else traced
    return energy + (found.astype(energy.dtype) if is_number else found)
