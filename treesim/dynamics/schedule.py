"""What runs when: the stages of a level-parallel algorithm, and the independent blocks of work in each."""

from __future__ import annotations

from typing import Any

from ..model.frozen import record
from ..system.display import ReprMixin


@record()
class Stage(ReprMixin):
    """Blocks of work that may run at the same time: none waits for another.

    name: what the stage does. blocks: the bodies that each block works on, by index from 1. operations: of each block,
    arithmetic operations (products, sums, quotients, roots, sines and cosines, each as one).
    """

    name: str
    blocks: tuple[tuple[int, ...], ...]
    operations: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Stage {self.name!r}: blocks {self.width}, operations in the longest {self.longest_block}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        return list(zip(range(self.width), self.operations, self.blocks, strict=True))

    @property
    def width(self) -> int:
        """Number of blocks."""
        return len(self.blocks)

    @property
    def longest_block(self) -> int:
        """Operations of the largest block: the time of the stage with a processor for every block."""
        return max(self.operations, default=0)


@record()
class Schedule(ReprMixin):
    """Stages in the order in which they run, each waiting for the one before it.

    method: name of the algorithm that runs by this schedule. stages: its stages, first to last. depth: operations in
    the longest chain of them that wait for one another: the time with a processor for every operation, without stages.
    """

    method: str
    stages: tuple[Stage, ...]
    depth: int

    def __repr__(self) -> str:
        numbers = f"{self.operations} operations, {self.critical_path} on the critical path"
        return f"<Schedule of {self.method!r}: {len(self.stages)} stages, {numbers}>"

    def _repr_fields(self) -> list[tuple[Any, ...]]:
        return [(stage.name, stage.width, stage.longest_block) for stage in self.stages]

    @property
    def operations(self) -> int:
        """Operations altogether: the time with one processor."""
        return sum(sum(stage.operations) for stage in self.stages)

    @property
    def critical_path(self) -> int:
        """Operations of the longest blocks of all stages: the time with a processor for every block."""
        return sum(stage.longest_block for stage in self.stages)

    @property
    def blocks_per_stage(self) -> tuple[int, ...]:
        """Number of blocks of each stage."""
        return tuple(stage.width for stage in self.stages)

    @property
    def blocks(self) -> int:
        """Number of blocks altogether."""
        return sum(self.blocks_per_stage)

    @property
    def width(self) -> int:
        """Number of blocks of the widest stage: more processors are of no use."""
        return max(self.blocks_per_stage, default=0)

    @property
    def parallelism(self) -> float:
        """Operations by those on the critical path: how much faster than one processor the widest machine can be."""
        return self.operations / self.critical_path if self.critical_path else 1.0
