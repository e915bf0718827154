"""Bounds on the cost of a mass matrix by topology, and the rule of thumb of Featherstone 2005.

D1 and D2 count the work of factorization on the expanded graph, with n degrees of freedom; D0 that of the
composite-rigid-body algorithm on the original one, with N bodies. All are 0 if every body is connected to
the base by one degree of freedom, and largest for a chain.
"""

from __future__ import annotations

from treesim.model.topology import Topology

from .featherstone_2005 import branch_counts, ltdl_back_substitution, ltdl_factorization, unbranched_counts


def largest_counts(n: int) -> tuple[int, int]:
    """Return the largest D1, D2 of trees with `n` degrees of freedom (F05 eq. 10, 11), those of the chain.

    Example:
        >>> from treesim_lab.cost import bounds
        >>> bounds.largest_counts(30)
        (435, 4495)
    """
    return unbranched_counts(n)


def largest_counts_at_depth(n: int, depth: int) -> tuple[int, int]:
    """Return limits of D1, D2 for trees with `n` degrees of freedom, at most `depth` on a path (F05 eq. 12, 13).

    They are linear in n: a limited depth limits the cost of each degree of freedom. No tree of a depth above 1
    reaches them, as bodies on the way to the deepest are less deep. The deficit is at least depth (depth - 1) /
    2 of D1 and depth (depth - 1) (2 depth - 1) / 6 of D2, for any n.

    Example:
        >>> from treesim_lab.cost import bounds
        >>> bounds.largest_counts_at_depth(30, 12)
        (330, 1980)
    """
    return n * (depth - 1), n * (depth * (depth - 1) // 2)


def transformed_inertias(tree: Topology) -> int:
    """Return D0, the number of bodies not connected to the base (F05 eq. 15): composite inertias to transform.

    Example:
        >>> from treesim_lab.cost import bounds
        >>> bounds.transformed_inertias(treesim.Topology([0, 1, 1, 0]))
        2
    """
    counts = branch_counts(tree)
    return counts.D0a + counts.D0b


def most_transformed_inertias(n_bodies: int) -> int:
    """Return the largest D0 of trees with `n_bodies` bodies, N - 1 (F05 eq. 16), with one body on the base.

    Example:
        >>> from treesim_lab.cost import bounds
        >>> bounds.most_transformed_inertias(30)
        29
    """
    return max(0, n_bodies - 1)


# ---- the rule of thumb (F05 section 4.1)


def density(tree: Topology) -> float:
    """Return α, the fraction of the mass matrix's entries that can be nonzero: (2 D1 + n) / n²; 1 for n = 0.

    Example:
        >>> from treesim_lab.cost import bounds
        >>> round(bounds.density(treesim.Topology([0, 1, 1])), 3)
        0.778
    """
    n = tree.n_dofs
    return (2 * tree.D1 + n) / n**2 if n else 1.0


def factorization_by_rule(tree: Topology) -> float:
    """Return the operations of LTDL by the rule of thumb: α² times those of a dense matrix (F05 section 4.1).

    It exceeds the true number by at most a third, up to n / 3 operations. For a deep branch among many shallow
    ones it is too small, by any factor.

    Example:
        >>> from treesim_lab.cost import bounds, featherstone_2005
        >>> humanoid = treesim.model.generators.featherstone_2005_humanoid().topology
        >>> round(bounds.factorization_by_rule(humanoid)), featherstone_2005.ltdl_factorization(humanoid).total
        (2549, 2297)
    """
    return density(tree) ** 2 * ltdl_factorization(_dense(tree)).total


def back_substitution_by_rule(tree: Topology) -> float:
    """Return the operations of solving with the factors by the rule of thumb: α times those of a dense matrix.

    It is too large by the diagonal's part, (1 - α) n operations (F05 section 4.1).

    Example:
        >>> from treesim_lab.cost import bounds, featherstone_2005
        >>> humanoid = treesim.model.generators.featherstone_2005_humanoid().topology
        >>> round(bounds.back_substitution_by_rule(humanoid)), featherstone_2005.ltdl_back_substitution(humanoid).total
        (920, 906)
    """
    return density(tree) * ltdl_back_substitution(_dense(tree)).total


def _dense(tree: Topology) -> Topology:
    """Return the chain with as many degrees of freedom, whose mass matrix is dense."""
    return Topology(range(tree.n_dofs))
