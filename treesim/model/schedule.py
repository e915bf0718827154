"""What runs when: the stages of a level-parallel algorithm, and the independent blocks of work in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..display import Shown
from .frozen import record


@record()
class Stage(Shown):
    """Blocks of work that may run at the same time: none waits for another.

    name: what the stage does. blocks: the bodies that each block works on, bodies by index from 1.
    """

    name: str
    blocks: tuple[tuple[int, ...], ...]

    def __repr__(self) -> str:
        return f"<Stage {self.name!r}: blocks {self.width}, bodies in the longest {self.longest_block}>"

    def _facts(self) -> list[tuple[Any, ...]]:
        return [(k, block) for k, block in enumerate(self.blocks)]

    @property
    def width(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @property
    def longest_block(self) -> int:
        """Number of bodies of the largest block."""
        return max((len(block) for block in self.blocks), default=0)


@record()
class Schedule(Shown):
    """Stages in the order in which they run, each waiting for the one before it.

    method: name of the algorithm that runs by this schedule. stages: its stages, first to last.
    """

    method: str
    stages: tuple[Stage, ...]

    def __repr__(self) -> str:
        return f"<Schedule of {self.method!r}: {self.critical_path} stages, {self.blocks} blocks, {self.width} at most>"

    def _facts(self) -> list[tuple[Any, ...]]:
        return [(stage.name, stage.blocks) for stage in self.stages]

    @property
    def critical_path(self) -> int:
        """Number of stages: the time with a processor for every block, in blocks."""
        return len(self.stages)

    @property
    def blocks_per_stage(self) -> tuple[int, ...]:
        """Number of blocks of each stage."""
        return tuple(stage.width for stage in self.stages)

    @property
    def blocks(self) -> int:
        """Number of blocks altogether: the time with one processor, in blocks."""
        return sum(self.blocks_per_stage)

    @property
    def width(self) -> int:
        """Number of blocks of the widest stage: more processors are of no use."""
        return max(self.blocks_per_stage, default=0)

    @property
    def parallelism(self) -> float:
        """Blocks per stage on average: how much faster than one processor the widest machine can be."""
        return self.blocks / self.critical_path if self.stages else 1.0


def levels(method: str, depth: Sequence[int]) -> Schedule:
    """Return the schedule of a sweep from the leaves to the base: every body is a block, every level a stage.

    depth: number of joints between the base and each body. O(N).
    """
    bodies: dict[int, list[tuple[int, ...]]] = {}
    for i, d in enumerate(map(int, depth), start=1):
        bodies.setdefault(d, []).append((i,))
    return Schedule(method, tuple(Stage(f"depth {d}", tuple(bodies[d])) for d in sorted(bodies, reverse=True)))
