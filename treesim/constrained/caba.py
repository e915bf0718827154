"""Proximal constrained articulated-body algorithm: no Λ⁻¹ at all, O(N + m) an iteration."""

from __future__ import annotations

from ..errors import UnsupportedError
from ..kernels.constrained.caba import constrained_dynamics_caba_states, tied_constrained_dynamics_caba_states
from .base import CompiledConstrained, ConstrainedAcceleration, Problem
from .constraints import LoopConstraint


class Caba(CompiledConstrained):
    """Proximal constrained articulated-body algorithm: no Λ⁻¹ at all, O(N + m) an iteration."""

    name = "caba"
    source = "Sathya, Carpentier 2024"
    entry = constrained_dynamics_caba_states
    tied_entry = tied_constrained_dynamics_caba_states

    def solve(self, problem: Problem) -> ConstrainedAcceleration:
        """Return accelerations and constraint forces; raises UnsupportedError for a loop."""
        for constraint in problem.tables.constraints:
            if isinstance(constraint, LoopConstraint):
                raise UnsupportedError(
                    f"method 'caba' cannot hold {constraint.label}, which couples two bodies outside the tree: "
                    f"use 'direct', 'proximal' or 'pv'"
                )
        return super().solve(problem)
