"""Cost formulas of Featherstone 2010: sparse operational-space quantities, and the low-order algorithm.

Source: R. Featherstone, "Exploiting sparsity in operational-space dynamics", Int. J. Robotics Research
29(10), 2010. A task is a list of bodies, b(1) ... b(m): the body on which each operational coordinate
depends. Table 1 assumes nothing about joints; Table 4 and its consequences assume revolute joints besides a
floating base.
"""

from __future__ import annotations

from collections.abc import Sequence

from treesim.model.topology import Topology

from . import featherstone_2005
from .operations import ADD, DIV, MUL, MUL_ADD, Operations

# ---- Table 1


def row_depths(tree: Topology, b: Sequence[int]) -> list[int]:
    """Return d_i, the number of degrees of freedom that move coordinate i (Table 1): the entries of row i of J."""
    return [_dof_depth(tree, body) for body in b]


def _dof_depth(tree: Topology, body: int) -> int:
    last = tree.last_dof[body]
    return int(tree.dof_depth[last - 1]) if last else 0


def common_depth(tree: Topology, p: int, q: int) -> int:
    """Return d_ij for bodies `p` and `q`: the number of degrees of freedom that move both (Table 1)."""
    return _dof_depth(tree, tree.nearest_common_ancestor(p, q))


def jacobian_product(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of J x (Table 1)."""
    return sum((d * MUL + max(0, d - 1) * ADD for d in row_depths(tree, b)), Operations())


def jacobian_transpose_product(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of Jᵀx (Table 1)."""
    return sum(row_depths(tree, b)) * MUL_ADD


def triangular_rows(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of Y = J L⁻¹, or of the pair Y_d = J L_d⁻¹ and Y_D = Y_d D⁻¹ (Table 1)."""
    return sum((d * DIV + d * (d - 1) // 2 * MUL_ADD for d in row_depths(tree, b)), Operations())


def gram_product(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of Λ⁻¹ = Y Yᵀ, or Y_D Y_dᵀ (Table 1); its lower triangle."""
    pairs = [common_depth(tree, b[i], b[j]) for i in range(len(b)) for j in range(i + 1)]
    return sum((d * MUL + max(0, d - 1) * ADD for d in pairs), Operations())


def weighted_inverse_ltl(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of J̄ = L⁻¹(YᵀΛ) with the LTL factor (Table 1)."""
    return weighted_inverse_ltdl(tree, b) + len(b) * tree.n_dofs * DIV


def weighted_inverse_ltdl(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of J̄ = L_d⁻¹(Y_DᵀΛ) with the LTDL factors (Table 1)."""
    return len(b) * (tree.D1 + sum(row_depths(tree, b))) * MUL_ADD


def null_space(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of N = 1 - J̄ J (Table 1)."""
    return tree.n_dofs * ADD + tree.n_dofs * sum(row_depths(tree, b)) * MUL_ADD


class Dense:
    """Table 1's other column: the same operations without sparsity.

    Matrices have `n` degrees of freedom and `m` coordinates; methods are named as the functions of this module.
    """

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m

    def ltdl_factorization(self) -> Operations:
        """Return the cost of LTDL."""
        D1, D2 = featherstone_2005.unbranched_counts(self.n)
        return D1 * DIV + D2 * MUL_ADD

    def jacobian_product(self) -> Operations:
        """Return the cost of J x."""
        return self.m * (self.n * MUL + (self.n - 1) * ADD)

    def jacobian_transpose_product(self) -> Operations:
        """Return the cost of Jᵀx."""
        return self.n * (self.m * MUL + (self.m - 1) * ADD)

    def triangular_rows(self) -> Operations:
        """Return the cost of J L⁻¹."""
        return self.m * self.n * DIV + self.m * (self.n * (self.n - 1) // 2) * MUL_ADD

    def gram_product(self) -> Operations:
        """Return the cost of Y Yᵀ."""
        return self.m * (self.m + 1) // 2 * (self.n * MUL + (self.n - 1) * ADD)

    def weighted_inverse_ltl(self) -> Operations:
        """Return the cost of L⁻¹(YᵀΛ)."""
        return self.weighted_inverse_ltdl() + self.m * self.n * DIV

    def weighted_inverse_ltdl(self) -> Operations:
        """Return the cost of L_d⁻¹(Y_DᵀΛ)."""
        triangle = self.n * (self.n - 1) // 2
        return self.m * (self.n * self.m + triangle) * MUL_ADD - self.m * self.n * ADD

    def null_space(self) -> Operations:
        """Return the cost of 1 - J̄ J."""
        return self.m * self.n**2 * MUL + ((self.m - 1) * self.n**2 + self.n) * ADD

    def inverse_inertia(self) -> Operations:
        """Return the cost of Λ⁻¹ from H and J (Table 2)."""
        return self.ltdl_factorization() + self.triangular_rows() + self.gram_product()


def dense_and_sparse(tree: Topology, b: Sequence[int]) -> dict[str, tuple[Operations, Operations]]:
    """Return the cost of each operation of Table 2, without and with the use of sparsity."""
    dense = Dense(tree.n_dofs, len(b))
    return {
        "LTDL": (dense.ltdl_factorization(), featherstone_2005.ltdl_factorization(tree)),
        "J x": (dense.jacobian_product(), jacobian_product(tree, b)),
        "J^T x": (dense.jacobian_transpose_product(), jacobian_transpose_product(tree, b)),
        "J L^-1": (dense.triangular_rows(), triangular_rows(tree, b)),
        "Y Y^T": (dense.gram_product(), gram_product(tree, b)),
        "Ld^-1(YD^T Lambda)": (dense.weighted_inverse_ltdl(), weighted_inverse_ltdl(tree, b)),
        "1 - Jbar J": (dense.null_space(), null_space(tree, b)),
    }


def inverse_inertia(tree: Topology, b: Sequence[int]) -> Operations:
    """Return the cost of Λ⁻¹ from H and J by LTDL (Table 2): factors, J L_d⁻¹, Y_D Y_dᵀ."""
    return featherstone_2005.ltdl_factorization(tree) + triangular_rows(tree, b) + gram_product(tree, b)


# ---- Appendix B: which blocks of Ω the low-order (RJK) algorithm needs

Block = tuple[int, int]


def required_blocks(tree: Topology, bodies: Sequence[int], literal: bool = False) -> frozenset[Block]:
    """Return the blocks (i, j), i <= j, of Ω that Λ⁻¹ of `bodies` requires (Figure 15, corrected). Cost O(N²).

    literal: as printed in the figure. It marks (λ(i), λ(j)) also if λ(i) > λ(j), below the diagonal, which
    Figure 14 never reads, so that required blocks are missing. Otherwise each pair is ordered, (min, max).
    """
    need = {(i, j) for i in bodies for j in bodies if i <= j}
    for i in range(tree.n_bodies, 0, -1):
        for j in range(tree.n_bodies, i - 1, -1):
            if (i, j) in need:
                sources = source_blocks(tree, i, j)
                need.update(sources if literal else (ordered_block(block) for block in sources))
    return frozenset((i, j) for i, j in need if i <= j)


def all_blocks(tree: Topology) -> frozenset[Block]:
    """Return every block (i, j), i <= j, of Ω: those required if only symmetry is used."""
    return frozenset((i, j) for i in range(1, tree.n_bodies + 1) for j in range(i, tree.n_bodies + 1))


def source_blocks(tree: Topology, i: int, j: int) -> list[Block]:
    """Return the block from which Figure 14 computes block (i, j), as written there; none at a root."""
    common = tree.nearest_common_ancestor(i, j)
    parent_i, parent_j = int(tree.parent[i - 1]), int(tree.parent[j - 1])
    if i == j:
        return [(parent_i, parent_i)] if parent_i else []
    if common == 0:
        return []
    return [(i if common == i else parent_i, parent_j)]


def ordered_block(block: Block) -> Block:
    """Return the block on or above the diagonal that stores block (i, j) or its transpose."""
    return min(block), max(block)


# ---- Table 4, equations 39 and 40, Table 3

D_INVERSE = DIV
TAUBAR = 5 * MUL
TAUBAR_P = Operations(15, 15)
PHI_P_PHI = {2: Operations(60, 62), 3: Operations(98, 102)}
P_SUM = 21 * ADD
PHI_OMEGA_PHI = {2: Operations(76, 80), 3: Operations(114, 120)}
TAUBAR_OMEGA_TAUBAR = Operations(35, 28)
OMEGA_SUM = ADD
OMEGA_PHI = {2: Operations(120, 72), 3: Operations(144, 108)}
OMEGA_TAUBAR = Operations(30, 24)


def screws(tree: Topology) -> dict[int, int]:
    """Return the number of axial screws in the transform from each body to its parent: 2 with a DH frame, else 3."""
    dh = featherstone_2005.dh_children(tree)
    return {i: 2 if i in dh else 3 for i in range(1, tree.n_bodies + 1)}


def inner_bodies(tree: Topology) -> list[int]:
    """Return the bodies that are not on the base."""
    return [i for i, parent in enumerate(tree.parent.tolist(), start=1) if parent]


def articulated_inertias(tree: Topology) -> Operations:
    """Return the cost of D_i⁻¹ and τ̄_i of all bodies (eq. 39)."""
    cost, screw = tree.n_bodies * D_INVERSE, screws(tree)
    for i in inner_bodies(tree):
        cost += TAUBAR + TAUBAR_P + PHI_P_PHI[screw[i]] + P_SUM
    return cost


def transformed_bodies(tree: Topology, block: Block) -> tuple[int, ...]:
    """Return the bodies whose one-sided transforms block (i, j), i < j, of Ω takes: none, j, or i and j (Figure 14)."""
    i, j = block
    common = tree.nearest_common_ancestor(i, j)
    if common == 0:
        return ()
    return (j,) if common == i else (i, j)


def omega(tree: Topology, blocks: frozenset[Block]) -> Operations:
    """Return the cost of these blocks of Ω (eq. 40)."""
    cost, screw = Operations(), screws(tree)
    inner = set(inner_bodies(tree))
    for i, j in blocks:
        if i != j:
            for body in transformed_bodies(tree, (i, j)):
                cost += OMEGA_PHI[screw[body]] + OMEGA_TAUBAR
        elif i in inner:
            cost += PHI_OMEGA_PHI[screw[i]] + TAUBAR_OMEGA_TAUBAR + OMEGA_SUM
    return cost


def low_order_ratio(tree: Topology, bodies: Sequence[int], literal: bool = False) -> float:
    """Return the cost of Λ⁻¹ of `bodies` by RJK over that by CRBA and LTDL, all operations equal (Table 3).

    literal: see `required_blocks`.
    """
    b = [body for body in bodies for _ in range(6)]
    low_order = articulated_inertias(tree) + omega(tree, required_blocks(tree, bodies, literal))
    return low_order.total / (featherstone_2005.crba(tree) + inverse_inertia(tree, b)).total
