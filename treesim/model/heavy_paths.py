"""Which blocks of which stage the constraint-force method works on: its paths, laid out for a person to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from ..kernels import heavy_paths as kernel
from .schedule import Schedule, Stage

NAMES = {
    kernel.INERTIAS: "inertias",
    kernel.EQUATIONS: "equations",
    kernel.ELIMINATION: "elimination",
    kernel.HEADS: "heads of paths",
}

# block(paths, turn, place): the number of bodies that an elimination's or substitution's block of work takes in
Block = Callable[[kernel.Paths, int, int], int]


def blocks_of(paths: kernel.Paths, stage: int, elimination: Block, substitution: Block) -> Iterator[tuple[int, ...]]:
    """The bodies that each independent block of a stage works on."""
    what, turn, first, end = paths.stages[stage].tolist()
    for place in range(first, end):
        if what == kernel.VELOCITIES:
            size = paths.order.size
        elif what in (kernel.HEADS, kernel.STARTS):
            size = int(paths.start[place] == place)
        elif what in (kernel.ELIMINATION, kernel.SUBSTITUTION):
            size = (elimination if what == kernel.ELIMINATION else substitution)(paths, turn, place)
        else:
            size = 1
        if size:
            yield tuple(paths.order[place : place + size].tolist())


def widths(paths: kernel.Paths, elimination: Block, substitution: Block) -> list[int]:
    """Return the number of independent blocks of every stage, there and back."""
    stages = range(int(paths.sizes[1]))
    return [sum(1 for _ in blocks_of(paths, stage, elimination, substitution)) for stage in stages]


def schedule(method: str, paths: kernel.Paths, elimination: Block, substitution: Block) -> Schedule:
    """Return the stages on the way in, from inertias to the heads of the last level's paths."""
    stages = [
        Stage(NAMES[what], tuple(blocks_of(paths, s, elimination, substitution)))
        for s, what in enumerate(paths.stages[: int(paths.sizes[1]), 0].tolist())
        if what in NAMES
    ]
    return Schedule(method, tuple(stage for stage in stages if stage.blocks))


def main_chains(paths: kernel.Paths, parent: np.ndarray) -> list[list[int]]:
    """Return the bodies of every chain that begins at the base; `parent` has a row for the base itself."""
    heads = (k for k in range(paths.order.size) if paths.start[k] == k and parent[paths.order[k]] == 0)
    return [paths.order[k : paths.stop[k]].tolist() for k in heads]


def branches_first_schedule(method: str, paths: kernel.Paths, parent: np.ndarray) -> Schedule:
    """Return the stages on the way in: the bodies of side branches, level by level, then the main chains."""
    chains = main_chains(paths, parent)
    bodies = tuple((i,) for chain in chains for i in chain)
    on_main = {i for chain in chains for i in chain}
    edges = paths.level_start[: int(paths.sizes[0]) + 1].tolist()
    levels = [paths.order[a:b].tolist() for a, b in pairwise(edges)]
    branches = [Stage("side branches", tuple((i,) for i in level if i not in on_main)) for level in levels]
    main = [Stage("inertias", bodies), Stage("equations", bodies), Stage("elimination", tuple(map(tuple, chains)))]
    return Schedule(method, tuple(stage for stage in branches + main if stage.blocks))


def grouped_schedule(method: str, paths: kernel.Paths, parent: np.ndarray) -> Schedule:
    """Return the stages on the way in: all equations, then the groups of every main chain from its tip to its base."""
    chains = main_chains(paths, parent)
    owner = {i: i for chain in chains for i in chain}
    groups: dict[int, list[int]] = {i: [] for i in owner}
    for i in range(1, parent.size):
        owner[i] = owner.get(i, owner.get(int(parent[i]), 0))
        groups[owner[i]].append(i)
    all_bodies = tuple((i,) for i in range(1, parent.size))
    turns = range(max(map(len, chains), default=0))
    stages = [Stage("inertias", all_bodies), Stage("equations", all_bodies)]
    for turn in turns:
        blocks = tuple(tuple(groups[chain[-1 - turn]]) for chain in chains if turn < len(chain))
        stages.append(Stage("elimination", blocks))
    return Schedule(method, tuple(stage for stage in stages if stage.blocks))
