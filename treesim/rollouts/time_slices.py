"""Slice scheduler of rollouts: between slices of bounded time Python handles Ctrl-C, progress and records.

A slice is a number of whole rollouts if these are short, else some steps of a few rollouts. Their times are
measured, and sizes chosen such that each takes a fraction of a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..engine.call.generic import runs_compiled
from ..engine.call.steps import Arrays, RolloutSegment
from ..engine.threads import thread_count

SECONDS = 0.2  # approximate time of a slice
FIRST_WORK = 2_000_000  # degrees of freedom times steps in the first slice: 0.2 s on the slowest compiled engine
INTERPRETED = 1000  # ratio of the times of plain Python and compiled code
GROWTH = 32  # largest ratio of the work of successive slices
ROWS = 64  # rollouts for each thread: smaller slices have fewer steps instead
VECTOR = 16  # rollouts: slices are multiples of a vector


class Progress(NamedTuple):
    """Progress: number of `complete` rollouts, and `records` records of each of the next `partial` ones."""

    complete: int = 0
    partial: int = 0
    records: int = 0


class RolloutSlice(NamedTuple):
    """Computed slice: its rollouts, its steps, whether all states are finite, and the progress after it."""

    rows: slice
    steps: slice
    finite: bool
    done: Progress


class SliceScheduler:
    """Slice scheduler: work of a slice, in rollouts times steps, estimated from the slices before."""

    def __init__(self, nv: int) -> None:
        self.work = max(1, FIRST_WORK // max(1, nv) // (1 if runs_compiled() else INTERPRETED))

    def learn(self, work: int, seconds: float) -> None:
        """Update the estimate after a slice of `work` that took `seconds`."""
        fitting = work * SECONDS / max(seconds, 1e-9)
        self.work = max(1, int(min(fitting, GROWTH * self.work)))

    def rows(self, left: int, steps: int, most: int) -> int:
        """Return the number of rollouts of the next slice, of `left` ones; slices are of about equal size."""
        wanted = min(max(self.work // max(1, steps), ROWS * thread_count()), most, left)
        parts = -(-left // wanted)
        equal = -(-left // parts)
        return min(left, wanted, -(-equal // VECTOR) * VECTOR)

    def end(self, step: int, last: int, rows: int, every: int) -> int:
        """Return the step at which a slice from `step` ends: after whole records, or within a long one."""
        steps = max(1, self.work // rows)
        if step % every == 0 and steps >= every:
            return min(step + steps // every * every, max(last // every * every, step + every), last)
        return min(step + steps, step - step % every + every, last)


def slices(
    piece: RolloutSegment,
    states: Arrays,
    results: Sequence[np.ndarray],
    every: int,
    most: int,
    pace: SliceScheduler,
    last: int,
) -> Iterator[RolloutSlice]:
    """Step states (count, n) through `last` steps, slice by slice, and yield the slices.

    results: arrays (count, records, n), overwritten by one record after every `every` steps. most: largest
    number of rollouts of a slice.
    """
    count, first = len(results[0]), 0
    while first < count:
        number, step = pace.rows(count - first, last, most), 0
        rows = slice(first, first + number)
        now: Arrays = [x[rows] for x in states]
        while step < last:
            steps = slice(step, pace.end(step, last, number, every))
            began = time.perf_counter()
            own, own_every = _places(rows, steps, results, every)
            now, finite = piece(rows, steps, now, own, own_every)
            pace.learn(number * (steps.stop - step), time.perf_counter() - began)
            step = steps.stop
            done = Progress(rows.stop) if step == last else Progress(first, number, step // every)
            yield RolloutSlice(rows, steps, finite, done)
        first = rows.stop


def _places(rows: slice, steps: slice, results: Sequence[np.ndarray], every: int) -> tuple[list[np.ndarray], int]:
    """Return the arrays for the records of a slice, and the number of steps between two records.

    They are views of the results, or scratch memory for a slice that ends within a record or after the last
    one.
    """
    length, record = steps.stop - steps.start, steps.stop // every
    recorded = record <= results[0].shape[1] and steps.stop % every == 0
    if recorded and steps.start % every == 0:
        return [x[rows, steps.start // every : record] for x in results], every
    if recorded:
        return [x[rows, record - 1 : record] for x in results], length
    return [np.empty((rows.stop - rows.start, 1, x.shape[2]), x.dtype) for x in results], length
