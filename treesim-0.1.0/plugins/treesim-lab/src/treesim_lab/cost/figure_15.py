"""How often Figure 15 of Featherstone 2010, as printed, leaves out blocks of Ω that Figure 14 reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from treesim.model.topology import Topology

from .featherstone_2010 import ordered_block, required_blocks, source_blocks

SAMPLES, SEED = 500, 0  # random trees where there are too many to try all


def misses_blocks(tree: Topology, bodies: Sequence[int]) -> bool:
    """Return whether Figure 14 reads a block that Figure 15 as printed does not mark."""
    marked = required_blocks(tree, bodies, literal=True)
    return any(ordered_block(source) not in marked for i, j in marked for source in source_blocks(tree, i, j))


def fraction_missing(n_bodies: int) -> float:
    """Return the fraction of regular numberings λ(1) ... λ(N) for which `misses_blocks` holds, with frames on all tips.

    Each λ(i) is uniform in 0 ... i - 1. All N! numberings up to N = 6, beyond that a sample of 500.
    """
    trees = list(_every_tree(n_bodies) if n_bodies <= 6 else _random_trees(n_bodies))
    return sum(misses_blocks(tree, tips(tree)) for tree in trees) / len(trees)


def tips(tree: Topology) -> list[int]:
    """Return the bodies without children."""
    parents = set(tree.parent.tolist())
    return [i for i in range(1, tree.n_bodies + 1) if i not in parents]


def _every_tree(n_bodies: int) -> Iterator[Topology]:
    return (Topology(parents) for parents in product(*(range(i) for i in range(1, n_bodies + 1))))


def _random_trees(n_bodies: int) -> Iterator[Topology]:
    rng = np.random.default_rng(SEED)
    return (Topology([int(rng.integers(0, i)) for i in range(1, n_bodies + 1)]) for _ in range(SAMPLES))
