"""Constraint forces by a Cholesky factor of Λ⁻¹, which refuses constraints that depend on each other."""

from __future__ import annotations

import numpy as np

from ..kernels.algebra.cholesky import SMALL_ENTRY, VANISHING
from .base import Problem
from .force_space import ForceSpaceMethod, dependence


class Direct(ForceSpaceMethod):
    """Constraint forces by a Cholesky factor of Λ⁻¹, which refuses constraints that depend on each other."""

    name = "direct"
    source = "Featherstone 2010, section 4, with any method for the inverse operational inertia"

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f = Λ gamma (..., m), and ones; raises ConstraintError naming a row that depends on others."""
        if not _is_definite(inverse):
            error = dependence(problem, inverse)
            if error is not None:
                raise error
        return np.linalg.solve(inverse, gamma[..., None])[..., 0], np.ones(gamma.shape[:-1], dtype=int)


def _is_definite(inverse: np.ndarray) -> bool:
    """Whether no pivot of any state's Λ⁻¹ vanishes."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(inverse), axis1=-2, axis2=-1) ** 2
    except np.linalg.LinAlgError:
        return False
    entries = np.diagonal(inverse, axis1=-2, axis2=-1)
    least = np.maximum(entries, SMALL_ENTRY * entries.max(axis=-1, keepdims=True))
    return bool((pivots > VANISHING * least).all())
