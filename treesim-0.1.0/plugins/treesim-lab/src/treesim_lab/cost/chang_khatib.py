"""Cost of the recursion of Chang and Khatib with the symmetry of Ω, which Featherstone 2010 leaves open.

Each block Ω_pq, p < q, is computed from Ω_pλ(q) by one transform (`dynamics/operational/omega_blocks.py`).
Costs of single steps are those of Table 4 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence

from treesim.model.topology import Topology

from .featherstone_2010 import OMEGA_PHI, OMEGA_TAUBAR, Block, omega, screws
from .operations import Operations


def required_blocks(tree: Topology, bodies: Sequence[int]) -> frozenset[Block]:
    """Return the blocks (p, q), p <= q, of Ω that Λ⁻¹ of `bodies` requires, without zero blocks. Cost O(N²)."""
    need = {(min(p, q), max(p, q)) for p in bodies for q in bodies if tree.nearest_common_ancestor(p, q)}
    for q in range(tree.n_bodies, 0, -1):
        source = int(tree.parent[q - 1])
        for p in range(q, 0, -1):
            if (p, q) in need and source:
                other = p if p < q else source
                need.add((min(other, source), max(other, source)))
    return frozenset(need)


def inverse_inertia_blocks(tree: Topology, blocks: frozenset[Block]) -> Operations:
    """Return the cost of these blocks of Ω: the diagonal ones as in eq. 40 of F10, the others one transform each."""
    screw = screws(tree)
    cost = omega(tree, frozenset((p, q) for p, q in blocks if p == q))
    for _, q in (block for block in blocks if block[0] != block[1]):
        cost += OMEGA_PHI[screw[q]] + OMEGA_TAUBAR
    return cost
