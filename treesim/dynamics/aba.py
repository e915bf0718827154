"""Articulated-body algorithm without precomputed bias (Jain 1991, Lemma 6.5), O(N); the default."""

from __future__ import annotations

from ..kernels.aba import forward_dynamics_states
from ..model.schedule import Schedule, levels
from ..model.tree import Tree
from .base import Capabilities, CompiledBackend


class Aba(CompiledBackend):
    """Articulated-body algorithm without precomputed bias (Jain 1991, Lemma 6.5), O(N); the default."""

    name = "aba"
    capabilities = Capabilities(cost="O(N)", source="RBDA Table 7.1; Jain 1991, Lemma 6.5")
    entry = forward_dynamics_states

    def schedule(self, robot: Tree) -> Schedule:
        """Return the bodies by level of the tree, deepest first: what could run at the same time, and here does not."""
        return levels(self.name, robot.topology.body_depth.tolist())
