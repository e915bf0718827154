"""Mass matrix by CRBA, factored H = L' L without fill-in."""

from __future__ import annotations

from ..kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltl_states
from .base import Capabilities, CompiledBackend


class CrbaLtl(CompiledBackend):
    """Mass matrix by CRBA, factored H = L' L without fill-in."""

    name = "crba_ltl"
    capabilities = Capabilities(cost="O(n d^2)", source="Featherstone 2005, section 2")
    entry = forward_dynamics_ltl_states
