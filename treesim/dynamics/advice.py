"""Choice of a forward-dynamics backend for a robot."""

from __future__ import annotations

from typing import NamedTuple

from ..model.tree import Tree
from ..validation.values import known_name

PURPOSES = ("speed", "mass_matrix")
LONGEST_FACTORED = 300  # degrees of freedom on one path beyond which factors of H have fewer than ten correct digits


class Advice(NamedTuple):
    """Name of an implementation, and the reason for choosing it."""

    name: str
    reason: str


def advise(robot: Tree, purpose: str = "speed") -> Advice:
    """Return the backend that suits `robot`.

    purpose: "speed", the least time for one call; or "mass_matrix", if H and its factors at the same state are needed
    too. Raises UnknownNameError for another purpose. Cost O(N); callers should store the result.

    The choice is based on measurements. `treesim cost --advice` times every backend on chains, branched trees and
    robots. `treesim bench accuracy` shows how factors of the mass matrix lose digits along chains.
    """
    purpose = known_name("purpose", purpose, PURPOSES)
    tree = robot.dof_topology  # of the matrix that is factored: with mimic joints not the spanning tree's
    depth = int(tree.dof_depth.max(initial=0))
    if purpose == "mass_matrix" and depth <= LONGEST_FACTORED:
        return Advice(
            "crba_ltdl",
            f"it computes H and its factors anyway; with {depth} degrees of freedom on the longest path they are "
            f"accurate, and cost D1 = {tree.D1} divisions and D2 = {tree.D2} multiply-adds",
        )
    return Advice("aba", _why_articulated_bodies(robot.nv, depth, tree.D2))


def _why_articulated_bodies(nv: int, depth: int, D2: int) -> str:
    if depth > LONGEST_FACTORED:
        return (
            f"O(N), and accurate: with {depth} degrees of freedom on one path the mass matrix is so ill-conditioned "
            "that its factors are accurate to fewer than ten digits"
        )
    return (
        f"O(N), one pass less than the methods that form the bias first; with {nv} degrees of freedom, "
        f"at most {depth} on a path, factors of H would take D2 = {D2} multiply-adds more and be no more accurate"
    )
