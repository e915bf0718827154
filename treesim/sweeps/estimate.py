"""What a sweep will take, before it starts: a few samples are computed, and timed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import ArgumentError
from ..system.files import free_bytes
from .chunk import Job, Task
from .plan import Plan
from .workers import Done, Pool

TASK_SECONDS = 5.0  # of work in a chunk; tasks of 1 to 30 s are long beside what a scheduler takes, and short to lose
CHUNK_BYTES = 1 << 28  # of results in a chunk at most
LEAST, MOST = 64, 1 << 20  # samples of a chunk
TRIED = 256  # samples that are timed


@dataclass(frozen=True)
class Estimate:
    """samples: how many are to be computed, of `total`; chunk: how many of them are one task. seconds: how long it
    will take with all workers; size [bytes]: of the results, before they are compressed; workers: how many tasks run
    at a time.

    Example:
        >>> treesim.sweeps.Estimate(1000, 1000, 64, seconds=2.0, size=80_000, workers=2).size
        80000
    """

    samples: int
    total: int
    chunk: int
    seconds: float
    size: int
    workers: int


def sample_bytes(columns: Mapping[str, np.ndarray]) -> int:
    """Return the bytes of the columns (B, ...) for one sample."""
    return sum(column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns.values())


def sample_seconds(pool: Pool, job: Job, plan: Plan) -> float:
    """Return the seconds that a worker takes for one sample: of the second time that some are computed, since code is
    compiled in the first. Samples that cannot be computed are found later, and count as a second each."""
    tried = Task(0, min(TRIED, plan.samples), writes=False)
    for _ in range(2):
        ((_, outcome),) = pool.map(job, [tried])
    return outcome.record["seconds"] / tried.stop if isinstance(outcome, Done) else 1.0


def chunk_size(seconds: float, size: int, samples: int, workers: int) -> int:
    """Return how many samples are a task: a power of two, of about TASK_SECONDS; so few that all workers have some.

    seconds, size: time and bytes of one sample.
    """
    wanted = min(TASK_SECONDS / max(seconds, 1e-9), CHUNK_BYTES / max(size, 1), samples / workers)
    return 1 << max(0, math.ceil(math.log2(min(max(wanted, LEAST), MOST))))


def check_disk(folder: Path, size: int) -> None:
    """Raise ArgumentError if so many bytes of results do not fit where the store is. They are compressed, by how much
    nobody knows before."""
    free = free_bytes(folder)
    if free is not None and size > free:
        raise ArgumentError(
            f"the results take {size:,} bytes before they are compressed, and {free:,} are free at {folder}: keep "
            f'less (keep="summary", a larger every=), or take another disk'
        )
