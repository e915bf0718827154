"""Popov-Vereshchagin: forces and accelerations in one sweep inward and one outward."""

from __future__ import annotations

import numpy as np

from ..errors import SingularInertiaError
from ..kernels.constrained.pv_solver import constrained_dynamics_pv_states, tied_constrained_dynamics_pv_states
from .base import CompiledConstrained, ConstrainedAcceleration, Problem
from .force_space import constraint_terms, dependence, inverse_inertia


class PopovVereshchagin(CompiledConstrained):
    """Popov-Vereshchagin: forces and accelerations in one sweep inward and one outward, O(N + m^2 d + m^3)."""

    name = "pv"
    source = "Popov 1974, Vereshchagin 1989; Sathya, Bruyninckx, Decre, Pipeleers 2024"
    entry = constrained_dynamics_pv_states
    tied_entry = tied_constrained_dynamics_pv_states

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
