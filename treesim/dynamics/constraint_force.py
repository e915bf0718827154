"""The constraint-force method: block-tridiagonal systems for the forces across the joints, along paths of any tree."""

from __future__ import annotations

from ..kernels.constraint_force_cr import forward_dynamics_constraint_force_cr_states
from ..kernels.constraint_force_pcr import forward_dynamics_constraint_force_pcr_states
from ..kernels.constraint_force_serial import forward_dynamics_constraint_force_states
from .base import Capabilities, CompiledBackend

SOURCE = "Fijany and Featherstone 2013; heavy paths on trees"


class ConstraintForce(CompiledBackend):
    """Heavy paths, each solved by elimination from its tip."""

    name = "constraint_force"
    capabilities = Capabilities(cost="O(N)", source=SOURCE, error_factor=100)
    entry = forward_dynamics_constraint_force_states


class ConstraintForceCr(CompiledBackend):
    """Heavy paths, each solved by cyclic reduction."""

    name = "constraint_force_cr"
    capabilities = Capabilities(cost="O(N), O(log^2 N) stages", source=SOURCE, error_factor=100)
    entry = forward_dynamics_constraint_force_cr_states


class ConstraintForcePcr(CompiledBackend):
    """Heavy paths, each solved by parallel cyclic reduction."""

    name = "constraint_force_pcr"
    capabilities = Capabilities(cost="O(N log N), O(log^2 N) stages", source=SOURCE, error_factor=200)
    entry = forward_dynamics_constraint_force_pcr_states
