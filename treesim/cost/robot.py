"""The published formulas applied to a robot's topology."""

from __future__ import annotations

from typing import NamedTuple

from ..model.topology import Topology
from . import featherstone_2005 as f05
from .operations import Operations


class Formula(NamedTuple):
    """A calculation, its published cost (None where no formula applies), and where the formula stands."""

    name: str
    cost: Operations | None
    source: str


def formulas(tree: Topology) -> list[Formula]:
    """Return the published costs of the algorithms on `tree`, as Featherstone 2005 gives them."""
    if tree.n_bodies == 0:
        return []
    return [
        Formula("CRBA", f05.crba(tree), "eq. 20, 21"),
        Formula("RNEA", f05.rnea(tree), "section 6"),
        Formula("LTDL", f05.ltdl_factorization(tree), "Table 1"),
        Formula("LTDL solve", f05.ltdl_back_substitution(tree), "Table 1"),
        Formula("CRBA + RNEA + LTDL + solve", f05.forward_dynamics(tree), "section 6"),
        Formula("ABA", f05.aba(tree), "section 6"),
    ]


def assumptions(tree: Topology) -> list[str]:
    """Return what the formulas assume and `tree` does not meet; CRBA, RNEA and ABA are then only indicative."""
    notes = []
    root = f05.floating_base(tree)
    others = [i for i, dofs in enumerate(tree.dofs.tolist(), start=1) if dofs != 1 and i != root]
    if others:
        notes.append(
            f"CRBA, RNEA and ABA count every joint but a floating base as revolute; {len(others)} here are not "
            "single degrees of freedom"
        )
    if not root:
        notes.append("ABA: the paper prints its formula for a floating base only")
    return notes
