"""Constraint forces by proximal iterations on Λ⁻¹, for constraints that may be redundant."""

from __future__ import annotations

import numpy as np

from ..kernels.algebra.cholesky import SMALL_ENTRY
from .base import Problem, not_converged
from .force_space import ForceSpaceMethod


class Proximal(ForceSpaceMethod):
    """Constraint forces by f <- f + (Λ⁻¹ + mu diag Λ⁻¹)⁻¹ (gamma - Λ⁻¹ f), in which units of rows do not matter."""

    name = "proximal"
    source = "the proximal point method; Carpentier, Budhiraja, Mansard 2021"

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (..., m) and iterations (...); raises ConvergenceError when gamma is out of Λ⁻¹'s reach."""
        step = np.linalg.inv(inverse + problem.mu * _diagonal(inverse)[..., None] * np.eye(problem.m))
        enough = problem.tolerance * np.maximum(1.0, np.abs(gamma).max(axis=-1))
        f, residual, going = np.zeros_like(gamma), gamma, np.ones(gamma.shape[:-1], dtype=bool)
        iterations = np.zeros(going.shape, dtype=int)
        while going.any() and iterations.max() < problem.max_iterations:
            iterations += going
            f = f + np.einsum("...ij,...j->...i", step, residual) * going[..., None]
            residual = gamma - np.einsum("...ij,...j->...i", inverse, f)
            going = ~(np.abs(residual).max(axis=-1) <= enough)
        if going.any():
            raise not_converged(problem, residual, iterations)
        return f, iterations


def _diagonal(inverse: np.ndarray) -> np.ndarray:
    """The diagonal (..., m) of Λ⁻¹; where nothing yields, the largest entry stands in, or 1."""
    entries = np.diagonal(inverse, axis1=-2, axis2=-1)
    largest = entries.max(axis=-1, keepdims=True)
    return np.where(entries > SMALL_ENTRY * largest, entries, np.where(largest > 0, largest, 1.0))
