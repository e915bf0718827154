"""Schedules of level-parallel algorithms: stages of independent blocks of work."""

from __future__ import annotations

from typing import Any

from ..model.frozen import record
from ..system.display import ReprMixin


@record()
class Stage(ReprMixin):
    """Independent blocks of work, which may run at the same time.

    name: of the computation. blocks: the bodies of each block, numbered from 1. operations: of each block; products,
    sums, quotients, roots, sines and cosines count as one each.
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
        """Operations of the largest block: the time of the stage with one processor per block."""
        return max(self.operations, default=0)


@record()
class Schedule(ReprMixin):
    """Stages of an algorithm, which run one after the other.

    method: name of the algorithm. stages: first to last. depth: operations in the longest chain of dependent ones, the
    time with one processor per operation and without stages.
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
        """Total number of operations: the time with one processor."""
        return sum(sum(stage.operations) for stage in self.stages)

    @property
    def critical_path(self) -> int:
        """Sum of the longest blocks' operations over all stages: the time with one processor per block."""
        return sum(stage.longest_block for stage in self.stages)

    @property
    def blocks_per_stage(self) -> tuple[int, ...]:
        """Number of blocks of each stage."""
        return tuple(stage.width for stage in self.stages)

    @property
    def blocks(self) -> int:
        """Total number of blocks."""
        return sum(self.blocks_per_stage)

    @property
    def width(self) -> int:
        """Number of blocks of the widest stage: the largest number of processors that is useful."""
        return max(self.blocks_per_stage, default=0)

    @property
    def parallelism(self) -> float:
        """Ratio of all operations to those on the critical path: the largest speed-up by parallel processors."""
        return self.operations / self.critical_path if self.critical_path else 1.0
