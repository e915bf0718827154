"""Divide and conquer: halves are joined along every heavy path, branches first."""

from __future__ import annotations

from ..model.tree import Tree
from . import contraction
from .assemblies import AssembliesBackend, solid_bodies
from .base import Capabilities


class DivideAndConquer(AssembliesBackend):
    """Divide and conquer: halves are joined along every heavy path, branches first."""

    name = "divide_and_conquer"
    capabilities = Capabilities(
        cost="O(N), O(log N) in parallel on a chain, O(log^2 N) on any tree",
        source="Featherstone 1999, Parts 1 and 2",
        error_factor=100.0,
    )

    def plan(self, robot: Tree) -> contraction.Plan:
        """Return the levels of balanced joining along the heavy paths."""
        return contraction.divide_and_conquer(robot.parent.tolist(), solid_bodies(robot))
