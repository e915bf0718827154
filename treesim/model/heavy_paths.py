"""Which blocks of which stage the constraint-force method works on: its paths, laid out for a person to see."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..kernels import heavy_paths as kernel
from .schedule import Schedule, Stage

NAMES = {
    kernel.INERTIAS: "inertias",
    kernel.EQUATIONS: "equations",
    kernel.ELIMINATION: "elimination",
    kernel.HEADS: "heads of paths",
}

# works_at(paths, turn, place): whether a block of the elimination's turn is worked on at a place
WorksAt = Callable[[kernel.Paths, int, int], bool]


def blocks_of(paths: kernel.Paths, stage: int, works_at: WorksAt) -> Iterator[tuple[int, ...]]:
    """The bodies that each independent block of a stage works on."""
    what, turn, first, end = paths.stages[stage].tolist()
    if what == kernel.VELOCITIES:
        yield tuple(range(1, paths.order.size + 1))
        return
    for place in range(first, end):
        if what in (kernel.ELIMINATION, kernel.SUBSTITUTION):
            active = works_at(paths, turn, place)
        else:
            active = what not in (kernel.HEADS, kernel.STARTS) or paths.start[place] == place
        if active:
            yield (int(paths.order[place]),)


def widths(paths: kernel.Paths, works_at: WorksAt) -> list[int]:
    """Return the number of independent blocks of every stage, those on the way back included."""
    return [sum(1 for _ in blocks_of(paths, stage, works_at)) for stage in range(int(paths.sizes[1]))]


def schedule(method: str, paths: kernel.Paths, works_at: WorksAt) -> Schedule:
    """Return the stages on the way in, from inertias to the heads of the last level's paths."""
    stages = [
        Stage(NAMES[what], tuple(blocks_of(paths, s, works_at)))
        for s, what in enumerate(paths.stages[: int(paths.sizes[1]), 0].tolist())
        if what in NAMES
    ]
    return Schedule(method, tuple(stage for stage in stages if stage.blocks))
