"""Tree contraction: branches hang and runs are joined in O(log N) rounds on any tree."""

from __future__ import annotations

from ..model.tree import Tree
from . import contraction
from .assemblies import AssembliesBackend, solid_bodies
from .base import Capabilities


class TreeContraction(AssembliesBackend):
    """Tree contraction: branches hang and runs are joined in O(log N) rounds on any tree."""

    name = "tree_contraction"
    capabilities = Capabilities(
        cost="O(N), O(log N) in parallel",
        source="Featherstone 1999 on the rounds of Miller and Reif 1985",
        error_factor=100.0,
    )

    def plan(self, robot: Tree) -> contraction.Plan:
        """Return the rounds of rake and compress."""
        return contraction.tree_contraction(robot.parent.tolist(), solid_bodies(robot))
