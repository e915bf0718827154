"""Data of the figures of Featherstone 2005 and 2010: numbers of operations, all of equal weight."""

from __future__ import annotations

from collections.abc import Callable

from . import featherstone_2005 as f05
from . import featherstone_2010 as f10
from .operations import Operations
from .paper_trees import asimo, every_coordinate, floating_chain, humanoid

Bars = dict[str, dict[str, int]]  # a bar's name: the parts that it is made of, by name

LARGEST = 256  # degrees of freedom, of the largest trees of Figure 5
FAMILIES: dict[str, tuple[Callable[[int], tuple[int, int]], Callable[[int], int]]] = {
    "unbranched": (f05.unbranched_counts, lambda n: n),
    "short side branches": (f05.side_branch_counts, lambda k: 2 * k),
    "spanning tree of a grid": (f05.square_grid_counts, lambda k: k * k),
    "balanced binary tree": (f05.balanced_tree_counts, lambda k: 2**k - 1),
}
"""Of Table 2 of 2005: D1 and D2, and n, as functions of the table's n or m."""


def factorization_costs() -> dict[str, list[tuple[int, int]]]:
    """Return n and the cost of LTDL, D1 + 2 D2, for each family of trees (F05 Figure 5)."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, (counts, size) in FAMILIES.items():
        sizes = [k for k in range(2, LARGEST + 1) if size(k) <= LARGEST]
        found[name] = [(size(k), D1 + 2 * D2) for k in sizes for D1, D2 in [counts(k)]]
    return found


def forward_dynamics_costs() -> Bars:
    """Return the cost of forward dynamics by CRBA and by ABA, on the humanoid and on the chain (F05 Figure 7).

    Additions cost as much as multiplications, and so do divisions.
    """
    bars: Bars = {}
    for name, tree in (("humanoid", humanoid()), ("unbranched chain", floating_chain())):
        articulated = f05.aba(tree)
        assert articulated is not None  # both have a floating base
        solve = f05.ltdl_factorization(tree) + f05.ltdl_back_substitution(tree)
        parts = {"bias (RNEA)": f05.rnea(tree), "mass matrix (CRBA)": f05.crba(tree), "factor and solve (LTDL)": solve}
        bars[f"{name}, CRBA"] = _totals(parts)
        bars[f"{name}, ABA"] = _totals({"articulated bodies (ABA)": articulated})
    return bars


def accessed_elements() -> Bars:
    """Return the number of elements of the ASIMO example's Jacobian that the products of F10 Figures 5, 6, 7 read.

    Figure 7, which tests every element against zero, reads all; the arithmetic is the same.
    """
    robot = asimo()
    b = every_coordinate(robot.hands + robot.feet)
    nonzero = sum(f10.row_depths(robot.tree, b))
    return {
        "along paths\n(Figures 5, 6)": {"not zero": nonzero},
        "testing for zero\n(Figure 7)": {"not zero": nonzero, "zero": len(b) * robot.tree.n_dofs - nonzero},
    }


LABELS = {"Ld^-1(YD^T Lambda)": "J̄", "1 - Jbar J": "N", "J^T x": "Jᵀx", "J L^-1": "J L⁻¹", "Y Y^T": "Y Yᵀ"}


def operation_counts() -> dict[str, tuple[int, int]]:
    """Return the dense and sparse cost of each step of operational-space dynamics of ASIMO (F10 Figure 12).

    H and C are the same in both: the mass matrix is formed along paths anyway.
    """
    robot = asimo()
    pairs = f10.dense_and_sparse(robot.tree, every_coordinate(robot.hands + robot.feet))
    forming = (f05.crba(robot.tree) + f05.rnea(robot.tree)).total
    counts = {LABELS.get(name, name): (dense.total, sparse.total) for name, (dense, sparse) in pairs.items()}
    return {"H, C": (forming, forming), **counts}


def inverse_inertia_costs() -> Bars:
    """Return the cost of Λ⁻¹ of the ASIMO example by sparse factors and by the low-order algorithm (F10 Figure 13).

    The bias C, which both require, is left out.
    """
    robot = asimo()
    tree, bodies = robot.tree, robot.hands + robot.feet
    b = every_coordinate(bodies)
    factors = {
        "H": f05.crba(tree),
        "LTDL": f05.ltdl_factorization(tree),
        "J L_d⁻¹": f10.triangular_rows(tree, b),
        "Y_D Y_dᵀ": f10.gram_product(tree, b),
    }
    low_order = {"D⁻¹, τ̄": f10.articulated_inertias(tree), "Ω": f10.omega(tree, f10.required_blocks(tree, bodies))}
    return {"sparse factors": _totals(factors), "Rodriguez et al.": _totals(low_order)}


def _totals(parts: dict[str, Operations]) -> dict[str, int]:
    return {name: cost.total for name, cost in parts.items()}
