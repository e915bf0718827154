"""Triangularised dynamics: M = [1 + H phi K] D [1 + H phi K]' from articulated quantities."""

from __future__ import annotations

from ..kernels.published.innovations import forward_dynamics_innovations_states
from .base import Capabilities, CompiledBackend


class Innovations(CompiledBackend):
    """Triangularised dynamics: M = [1 + H phi K] D [1 + H phi K]' from articulated quantities."""

    name = "innovations"
    capabilities = Capabilities(cost="O(n d)", source="Jain 1991, section 4 and Lemma 6.2")
    entry = forward_dynamics_innovations_states
