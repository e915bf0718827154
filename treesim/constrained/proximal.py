"""Constraint forces by proximal iterations on Λ⁻¹, for constraints that may be redundant."""

from __future__ import annotations

import numpy as np

from .base import ConstrainedAcceleration, Problem, not_converged
from .force_space import ForceSpaceMethod


class Proximal(ForceSpaceMethod):
    """Constraint forces by f <- f + (Λ⁻¹ + mu 1)⁻¹ (gamma - Λ⁻¹ f): of all that do, the smallest."""

    name = "proximal"
    source = "the proximal point method; Carpentier, Budhiraja, Mansard 2021"

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (..., m) and iterations (...); raises ConvergenceError when gamma is out of Λ⁻¹'s reach."""
        mean = np.trace(inverse, axis1=-2, axis2=-1)[..., None, None] / problem.m
        mu = problem.mu * np.where(mean > 0, mean, 1.0)
        step = np.linalg.inv(inverse + mu * np.eye(problem.m))
        enough = problem.tolerance * np.maximum(1.0, np.abs(gamma).max(axis=-1))
        f, residual, going = np.zeros_like(gamma), gamma, np.ones(gamma.shape[:-1], dtype=bool)
        iterations = np.zeros(going.shape, dtype=int)
        while going.any() and iterations.max() < problem.max_iterations:
            iterations += going
            f = f + np.einsum("...ij,...j->...i", step, residual) * going[..., None]
            residual = gamma - np.einsum("...ij,...j->...i", inverse, f)
            going = ~(np.abs(residual).max(axis=-1) <= enough)
        if going.any():
            raise not_converged(problem, ConstrainedAcceleration(gamma, f, residual, iterations))
        return f, iterations
