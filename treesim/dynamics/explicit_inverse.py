"""Explicit inverse factors: qdd = [1 - H psi K]' D^-1 [1 - H psi K] (tau - C)."""

from __future__ import annotations

from ..kernels.published.innovations import forward_dynamics_explicit_states
from .base import Capabilities, CompiledBackend


class ExplicitInverse(CompiledBackend):
    """Explicit inverse factors: qdd = [1 - H psi K]' D^-1 [1 - H psi K] (tau - C)."""

    name = "explicit_inverse"
    capabilities = Capabilities(cost="O(n d)", source="Jain 1991, Lemma 6.3 and 6.4")
    entry = forward_dynamics_explicit_states
