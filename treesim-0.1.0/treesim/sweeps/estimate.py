"""Estimate of time and size of a sweep from a few timed samples."""

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
from .workers import Pool, TaskResult

TASK_SECONDS = 5.0  # of work in a chunk; 1 to 30 s are long compared with a scheduler's overhead, and cheap to lose
CHUNK_BYTES = 1 << 28  # of results in a chunk at most
LEAST, MOST = 64, 1 << 20  # samples of a chunk
TRIED = 256  # samples that are timed


@dataclass(frozen=True)
class Estimate:
    """Estimated computing time and result size of a sweep.

    Parameters
    ----------
    samples : int
        Samples to be computed.
    total : int
        Samples of the sweep.
    chunk : int
        Samples of a task.
    seconds : float
        Time with all workers [s].
    size : int
        Size of the results before compression [bytes].
    workers : int
        Number of tasks that run at a time.

    Examples
    --------
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
    """Return the bytes of one sample in columns (B, ...)."""
    return sum(column.dtype.itemsize * math.prod(column.shape[1:]) for column in columns.values())


def sample_seconds(pool: Pool, job: Job, plan: Plan) -> float:
    """Return a worker's time for one sample [s].

    Some samples are computed twice; the second time counts, since the first includes compilation. If they fail,
    the result is one second a sample.
    """
    tried = Task(0, min(TRIED, plan.samples), writes=False)
    for _ in range(2):
        ((_, outcome),) = pool.map(job, [tried])
    return outcome.record["seconds"] / tried.stop if isinstance(outcome, TaskResult) else 1.0


def chunk_size(seconds: float, size: int, samples: int, workers: int) -> int:
    """Return the samples of a task: a power of two, about TASK_SECONDS of work, few enough for all workers.

    seconds, size: time [s] and bytes of one sample.
    """
    wanted = min(TASK_SECONDS / max(seconds, 1e-9), CHUNK_BYTES / max(size, 1), samples / workers)
    return 1 << max(0, math.ceil(math.log2(min(max(wanted, LEAST), MOST))))


def check_disk(folder: Path, size: int) -> None:
    """Raise ArgumentError if results of `size` bytes, before compression, do not fit on the store's disk."""
    free = free_bytes(folder)
    if free is not None and size > free:
        raise ArgumentError(
            f"the results take {size:,} bytes before they are compressed, and {free:,} are free at {folder}: keep "
            f'less (keep="summary", a larger every=), or take another disk'
        )
