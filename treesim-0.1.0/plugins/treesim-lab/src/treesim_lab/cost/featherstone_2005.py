"""Cost formulas of Featherstone 2005: sparse factorization, mass matrix, and forward dynamics.

Source: R. Featherstone, "Efficient factorization of the joint-space inertia matrix for branched kinematic
trees", Int. J. Robotics Research 24(6), 2005. The counts of factorization use the expanded graph (one node
per degree of freedom) and apply to all joints. The others use the original one (one node per body) and
assume revolute joints besides a floating base.
"""

from __future__ import annotations

from typing import NamedTuple

from treesim.model.topology import Topology

from .operations import DIV, MUL, MUL_ADD, SQRT, Operations

FLOATING_DOFS = 6

# ---- Table 1: factorization, products and solves


def ltl_factorization(tree: Topology) -> Operations:
    """Return the cost of H = LᵀL (Table 1)."""
    return tree.n_dofs * SQRT + tree.D1 * DIV + tree.D2 * MUL_ADD


def ltdl_factorization(tree: Topology) -> Operations:
    """Return the cost of H = LᵀDL (Table 1)."""
    return tree.D1 * DIV + tree.D2 * MUL_ADD


def ltl_back_substitution(tree: Topology) -> Operations:
    """Return the cost of solving H x = y with the LTL factor (Table 1)."""
    return 2 * ltl_triangular_solve(tree)


def ltdl_back_substitution(tree: Topology) -> Operations:
    """Return the cost of solving H x = y with the LTDL factors (Table 1)."""
    return tree.n_dofs * DIV + 2 * ltdl_triangular_solve(tree)


def ltl_product(tree: Topology) -> Operations:
    """Return the cost of L x or Lᵀx with the LTL factor (Table 1)."""
    return tree.n_dofs * MUL + tree.D1 * MUL_ADD


def ltdl_product(tree: Topology) -> Operations:
    """Return the cost of L x or Lᵀx with the unit factor of LTDL (Table 1)."""
    return tree.D1 * MUL_ADD


def ltl_triangular_solve(tree: Topology) -> Operations:
    """Return the cost of L⁻¹x or L⁻ᵀx with the LTL factor (Table 1)."""
    return tree.n_dofs * DIV + tree.D1 * MUL_ADD


def ltdl_triangular_solve(tree: Topology) -> Operations:
    """Return the cost of L⁻¹x or L⁻ᵀx with the unit factor of LTDL (Table 1)."""
    return tree.D1 * MUL_ADD


# ---- Table 2: D1 and D2 of four families


def unbranched_counts(n: int) -> tuple[int, int]:
    """Return D1, D2 of a chain of `n` bodies (Table 2)."""
    return (n**2 - n) // 2, (n**3 - n) // 6


def side_branch_counts(k: int) -> tuple[int, int]:
    """Return D1, D2 of a chain of `k` bodies, each with one more body attached (Table 2)."""
    return k**2, (2 * k**3 + 3 * k**2 + k) // 6


def balanced_tree_counts(k: int) -> tuple[int, int]:
    """Return D1, D2 of the balanced binary tree with `k` levels (Table 2)."""
    return sum(i * 2**i for i in range(1, k)), sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, k))


def square_grid_counts(k: int) -> tuple[int, int]:
    """Return D1, D2 of a shortest-path spanning tree of the k x k grid, rooted in a corner (Table 2)."""
    return k**3 - k**2, (7 * k**4 - 6 * k**3 - k**2) // 12


# ---- the frames that make transforms cheap

# Cost of transforming a rigid-body inertia (RX) or a spatial vector (VX), and of adding two inertias (section 5)
RX_DH, VX_DH = Operations(32, 33), Operations(20, 12)
RX_GENERAL, VX_GENERAL = Operations(47, 48), Operations(24, 18)
RX_FLOATING_SAVING, VX_FLOATING_SAVING = Operations(18, 21), Operations(12, 8)
RIGID_BODY_ADD = Operations(add=10)


def subtree_sizes(tree: Topology) -> list[int]:
    """Return |ν(i)| for i = 0 ... N. Cost O(N)."""
    sizes = [1] * (tree.n_bodies + 1)
    for i in range(tree.n_bodies, 0, -1):
        sizes[int(tree.parent[i - 1])] += sizes[i]
    return sizes


def dh_children(tree: Topology) -> frozenset[int]:
    """Return the bodies with a Denavit-Hartenberg frame: of each body's children the one with the largest subtree.

    A body's frame can be placed so that the transform to one child takes two axial screws instead of three.
    Choosing the largest subtree makes the mass matrix cheapest. Ties are resolved by number.
    """
    size = subtree_sizes(tree)
    chosen: dict[int, int] = {}
    for i, parent in enumerate(tree.parent.tolist(), start=1):
        if parent not in chosen or size[i] > size[chosen[parent]]:
            chosen[parent] = i
    return frozenset(chosen.values())


def floating_base(tree: Topology) -> int:
    """Return the number of the first floating body (six degrees of freedom, on the base); 0 if there is none."""
    return next(
        (
            i
            for i, (parent, dofs) in enumerate(zip(tree.parent.tolist(), tree.dofs.tolist(), strict=True), start=1)
            if parent == 0 and dofs == FLOATING_DOFS
        ),
        0,
    )


class BranchCounts(NamedTuple):
    """D0 and D1 of the original graph, split as in section 5 (eq. 19, 21).

    a: bodies with a DH frame; b: with a general one; c: those of a whose parent is a floating base. D0 counts
    bodies that are not on the base, D1 sums |ν(i)| over them.
    """

    D0a: int
    D1a: int
    D0b: int
    D1b: int
    D0c: int
    D1c: int


def branch_counts(tree: Topology) -> BranchCounts:
    """Return D0 and D1 of the original graph (section 5). Cost O(N)."""
    size, dh, root = subtree_sizes(tree), dh_children(tree), floating_base(tree)
    inner = [(i, p) for i, p in enumerate(tree.parent.tolist(), start=1) if p != 0]
    a = [size[i] for i, _ in inner if i in dh]
    b = [size[i] for i, _ in inner if i not in dh]
    c = [size[i] for i, p in inner if i in dh and p == root]
    return BranchCounts(len(a), sum(a), len(b), sum(b), len(c), sum(c))


# ---- equations 20 and 21, and section 6


def crba(tree: Topology) -> Operations:
    """Return the cost of the mass matrix by the composite-rigid-body algorithm (eq. 20; eq. 21 on a floating base)."""
    counts = branch_counts(tree)
    cost = counts.D0a * (RX_DH + RIGID_BODY_ADD) + counts.D1a * VX_DH
    cost += counts.D0b * (RX_GENERAL + RIGID_BODY_ADD) + counts.D1b * VX_GENERAL
    return cost - counts.D0c * RX_FLOATING_SAVING - counts.D1c * VX_FLOATING_SAVING


RNEA_FLOATING = Operations(7, 13)
RNEA_GENERAL_FRAME = Operations(4, 8)
ABA_GENERAL_FRAME = Operations(66, 57)


def rnea_chain(n: int) -> Operations:
    """Return the cost of inverse dynamics of a chain of `n` bodies on a fixed base (section 6)."""
    return Operations(93 * n - 69, 81 * n - 66)


def rnea(tree: Topology) -> Operations:
    """Return the cost of inverse dynamics, or of bias forces, by the recursive Newton-Euler algorithm (section 6)."""
    cost = rnea_chain(tree.n_bodies) + branch_counts(tree).D0b * RNEA_GENERAL_FRAME
    return cost + RNEA_FLOATING if floating_base(tree) else cost


def aba_floating_chain(r: int) -> Operations:
    """Return the cost of the articulated-body algorithm on a floating chain with `r` revolute joints (section 6).

    The paper writes n for `r` without defining it. This reading reproduces its numbers, with the 24 revolute
    joints of its examples and not their 25 bodies.
    """
    return Operations(224 * r - 30, 205 * r - 37)


def aba(tree: Topology) -> Operations | None:
    """Return the cost of the articulated-body algorithm on a floating base (section 6); None without one.

    The paper contains no formula for a fixed base.
    """
    joints = tree.n_bodies - 1
    if not floating_base(tree) or joints < 1:
        return None
    return aba_floating_chain(joints) + branch_counts(tree).D0b * ABA_GENERAL_FRAME


def forward_dynamics(tree: Topology) -> Operations:
    """Return the cost of forward dynamics by CRBA, RNEA, LTDL and back-substitution (section 6)."""
    return crba(tree) + rnea(tree) + ltdl_factorization(tree) + ltdl_back_substitution(tree)


def forward_dynamics_dense(tree: Topology) -> Operations:
    """Return the cost of forward dynamics by CRBA, RNEA and dense Cholesky (section 6; Table 1 without branches)."""
    dense = Topology(range(tree.n_dofs))
    return crba(tree) + rnea(tree) + ltl_factorization(dense) + ltl_back_substitution(dense)


def forward_dynamics_ltl(tree: Topology) -> Operations:
    """Return the cost of forward dynamics by CRBA, RNEA, LTL and back-substitution (section 6 with Table 1's LTL)."""
    return crba(tree) + rnea(tree) + ltl_factorization(tree) + ltl_back_substitution(tree)
