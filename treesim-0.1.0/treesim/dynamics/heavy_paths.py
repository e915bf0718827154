"""Blocks of each stage of the constraint-force method, as listed by its table of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..kernels.published.parallel import heavy_paths as kernel

NAMES = {
    kernel.TRANSFORMS: "transforms",
    kernel.UP_SWEEP: "velocities, up-sweep",
    kernel.DOWN_SWEEP: "velocities, down-sweep",
    kernel.VELOCITIES: "velocities",
    kernel.BIASES: "biases",
    kernel.INERTIAS: "inertias",
    kernel.EQUATIONS: "equations",
    kernel.ELIMINATION: "elimination",
    kernel.HEADS: "heads of paths",
    kernel.STARTS: "first forces",
    kernel.SUBSTITUTION: "substitution",
    kernel.ACCELERATIONS: "accelerations",
    kernel.JOINTS: "joint accelerations",
}

# block(paths, turn, place): the number of bodies that an elimination's or substitution's block of work takes in
Block = Callable[[kernel.Paths, int, int], int]


def takes_part(sweep: int, h: int, number: int) -> bool:
    """Return whether a body adds the sum of the body h places before it on its path, in one pass of a prefix sum.

    number: the body's place on its path, from 1. The up-sweep adds pairs, pairs of pairs, ...; the down-sweep
    completes the sums of the other bodies.
    """
    return number % (2 * h) == 0 if sweep == kernel.UP_SWEEP else number > 2 * h and number % (2 * h) == h


def block_sizes(paths: kernel.Paths, stage: int, elimination: Block, substitution: Block) -> Iterator[tuple[int, int]]:
    """Yield the place at which each independent block of a stage begins, and its number of bodies."""
    what, turn, first, end = paths.stages[stage].tolist()
    for place in range(first, end):
        if what in (kernel.UP_SWEEP, kernel.DOWN_SWEEP):
            size = int(takes_part(what, 1 << turn, place - int(paths.start[place]) + 1))
        elif what in (kernel.HEADS, kernel.STARTS):
            size = int(paths.start[place] == place)
        elif what in (kernel.ELIMINATION, kernel.SUBSTITUTION):
            size = (elimination if what == kernel.ELIMINATION else substitution)(paths, turn, place)
        else:
            size = 1
        if size:
            yield place, size


def widths(paths: kernel.Paths, elimination: Block, substitution: Block) -> list[int]:
    """Return the number of independent blocks of every stage."""
    stages = range(int(paths.sizes[1]))
    return [sum(1 for _ in block_sizes(paths, stage, elimination, substitution)) for stage in stages]


def main_chains(paths: kernel.Paths, parent: np.ndarray) -> list[range]:
    """Return the places of every path that begins at the base and whose bodies have inertia.

    parent: λ with a row for the base.
    """
    heads = (k for k, i in enumerate(paths.order.tolist()) if paths.start[k] == k and parent[i] == 0 and paths.sound[i])
    return [range(k, int(paths.stop[k])) for k in heads]
