"""Methods of constrained dynamics: direct, proximal, caba and pv."""

from __future__ import annotations

import numpy as np

from ...errors import SingularInertiaError, UnsupportedError
from ...kernels.algebra.cholesky import SMALL_ENTRY, VANISHING
from ...kernels.constrained.caba import constrained_dynamics_caba_states, mimic_constrained_dynamics_caba_states
from ...kernels.constrained.pv_solver import constrained_dynamics_pv_states, mimic_constrained_dynamics_pv_states
from .base import CompiledConstrained, ConstrainedAcceleration, Problem, not_converged
from .constraints import LoopConstraint
from .force_space import ForceSpaceMethod, constraint_terms, dependence, inverse_inertia


class Direct(ForceSpaceMethod):
    """Constraint forces by a Cholesky factor of Λ⁻¹; raises ConstraintError for dependent constraints."""

    name = "direct"
    source = "Featherstone 2010, section 4, with any method for the inverse operational inertia"

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f = Λ gamma (..., m), and ones; raises ConstraintError naming a row that depends on others."""
        if not is_definite(inverse):
            error = dependence(problem, inverse)
            if error is not None:
                raise error
        return np.linalg.solve(inverse, gamma[..., None])[..., 0], np.ones(gamma.shape[:-1], dtype=int)


def is_definite(inverse: np.ndarray) -> bool:
    """Return whether no pivot of any state's Λ⁻¹ vanishes."""
    try:
        pivots = np.diagonal(np.linalg.cholesky(inverse), axis1=-2, axis2=-1) ** 2
    except np.linalg.LinAlgError:
        return False
    entries = np.diagonal(inverse, axis1=-2, axis2=-1)
    least = np.maximum(entries, SMALL_ENTRY * entries.max(axis=-1, keepdims=True))
    return bool((pivots > VANISHING * least).all())


class Proximal(ForceSpaceMethod):
    """Constraint forces by the iteration f <- f + (Λ⁻¹ + mu diag Λ⁻¹)⁻¹ (gamma - Λ⁻¹ f), independent of rows' units."""

    name = "proximal"
    source = "the proximal point method; Carpentier, Budhiraja, Mansard 2021"

    def forces(self, problem: Problem, inverse: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (..., m) and iterations (...); raises ConvergenceError if gamma is not in the range of Λ⁻¹."""
        step = np.linalg.inv(inverse + problem.mu * positive_diagonal(inverse)[..., None] * np.eye(problem.m))
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


def positive_diagonal(inverse: np.ndarray) -> np.ndarray:
    """Return the diagonal (..., m) of Λ⁻¹, with vanishing entries replaced by the largest one, or 1."""
    entries = np.diagonal(inverse, axis1=-2, axis2=-1)
    largest = entries.max(axis=-1, keepdims=True)
    return np.where(entries > SMALL_ENTRY * largest, entries, np.where(largest > 0, largest, 1.0))


class Caba(CompiledConstrained):
    """Proximal constrained articulated-body algorithm, without Λ⁻¹: O(N + m) an iteration."""

    name = "caba"
    source = "Sathya, Carpentier 2024"
    entry = constrained_dynamics_caba_states
    mimic_entry = mimic_constrained_dynamics_caba_states

    def solve(self, problem: Problem) -> ConstrainedAcceleration:
        """Return accelerations and constraint forces; raises UnsupportedError for a loop."""
        for constraint in problem.tables.constraints:
            if isinstance(constraint, LoopConstraint):
                raise UnsupportedError(
                    f"method 'caba' does not support {constraint.label}, which couples two bodies outside the tree: "
                    f"use 'direct', 'proximal' or 'pv'"
                )
        return super().solve(problem)


class PopovVereshchagin(CompiledConstrained):
    """Popov-Vereshchagin algorithm: one backward and one forward sweep, O(N + m^2 d + m^3)."""

    name = "pv"
    source = "Popov 1974, Vereshchagin 1989; Sathya, Bruyninckx, Decre, Pipeleers 2024"
    entry = constrained_dynamics_pv_states
    mimic_entry = mimic_constrained_dynamics_pv_states

    def explain(self, problem: Problem, named: dict[str, np.ndarray]) -> Exception:
        """Return the error for finite arguments whose results are not finite."""
        error = super().explain(problem, named)
        return error if isinstance(error, SingularInertiaError) else _dependence(problem) or error

    def failure(self, problem: Problem, found: ConstrainedAcceleration) -> Exception:
        """Return the error for constraints that depend on each other."""
        return _dependence(problem) or super().failure(problem, found)


def _dependence(problem: Problem) -> Exception | None:
    at_rest = np.zeros(problem.robot.nv)
    return dependence(problem, inverse_inertia(problem, constraint_terms(problem, at_rest)[1]))
