"""Bias by RNEA, then the articulated quantities of Rodriguez, Jain and Kreutz-Delgado."""

from __future__ import annotations

from ..kernels.rjk import forward_dynamics_rjk_states
from .base import Capabilities, CompiledBackend


class Rjk(CompiledBackend):
    """Bias by RNEA, then the articulated quantities of Rodriguez, Jain and Kreutz-Delgado."""

    name = "rjk"
    capabilities = Capabilities(cost="O(N)", source="Jain 1991, eq. 45, 46, 55; Featherstone 2010, appendix B")
    entry = forward_dynamics_rjk_states
