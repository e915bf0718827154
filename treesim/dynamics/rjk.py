"""Articulated-body algorithm with precomputed bias: C by RNEA, then Jain 1991, eq. 45 and 46; O(N)."""

from __future__ import annotations

from ..kernels.dynamics.rjk import forward_dynamics_rjk_states
from .base import Capabilities, CompiledBackend


class Rjk(CompiledBackend):
    """Articulated-body algorithm with precomputed bias: C by RNEA, then Jain 1991, eq. 45 and 46; O(N)."""

    name = "rjk"
    capabilities = Capabilities(cost="O(N)", source="Jain 1991, eq. 45, 46, 55; Featherstone 2010, appendix B")
    entry = forward_dynamics_rjk_states
