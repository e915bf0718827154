"""Which blocks of which stage the constraint-force method works on: its paths, laid out for a person to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
