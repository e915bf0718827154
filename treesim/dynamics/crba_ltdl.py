"""Mass matrix by CRBA, factored H = L' D L without fill-in."""

from __future__ import annotations

from ..kernels.dynamics.inertia_matrix_dynamics import forward_dynamics_ltdl_states
from .base import Capabilities, CompiledBackend


class CrbaLtdl(CompiledBackend):
    """Mass matrix by CRBA, factored H = L' D L without fill-in."""

    name = "crba_ltdl"
    capabilities = Capabilities(cost="O(n d^2)", source="Featherstone 2005, section 2")
    entry = forward_dynamics_ltdl_states
