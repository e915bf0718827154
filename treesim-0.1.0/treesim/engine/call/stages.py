"""Parallel computation of one state of a large robot: stage by stage, with independent blocks on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..threads import on_threads, thread_count
from .evaluate import STATES_PER_TASK, Runner, run_states

BLOCKS_PER_SHARE = 16  # fewer blocks are not worth another thread

# part(first, last, share, shares): one of so many shares of the stages first .. last; returns a status
Part = Callable[[int, int, int, int], int]


def run_stages(part: Part, widths: Sequence[int], least: int = BLOCKS_PER_SHARE) -> int:
    """Run all stages, of `widths` independent blocks each, and return the worst status.

    A stage is divided among threads ($TREESIM_NUM_THREADS, all cores by default) with at least `least` blocks
    each. Consecutive narrow stages run in one call on one thread. The thread that computes a block does not
    change its result.
    """
    return max(_run(part, *run) for run in _runs(widths, thread_count(), least))


def _runs(widths: Sequence[int], threads: int, least: int) -> Iterator[tuple[int, int, int]]:
    """Yield first and last stage, and number of threads, of each call; undivided neighbouring stages share a call."""
    first = 0
    for stage, width in enumerate(widths):
        shares = max(1, min(threads, width // least))
        if shares > 1:
            if first < stage:
                yield first, stage - 1, 1
            yield stage, stage, shares
            first = stage + 1
    if first < len(widths):
        yield first, len(widths) - 1, 1


def _run(part: Part, first: int, last: int, shares: int) -> int:
    """Run the stages first .. last on `shares` threads, one of them the caller's."""
    return max(on_threads([partial(part, first, last, share, shares) for share in range(shares)]))


def staged(code: Callable[..., int], tables: Sequence[Any], numbers: int, widths: Sequence[int], least: int) -> Runner:
    """Return a runner that processes state after state, each stage by stage on all threads.

    code: an entry `(constants, tables, memory, first, last, share, shares, inputs, outputs)`. numbers: size of
    memory. widths, least: as in `run_stages`. If there are enough states for all threads, whole states run in
    parallel instead.
    """

    def run(
        entry: Callable[..., int],
        constants: Sequence[Any],
        inputs: list[np.ndarray],
        outputs: list[np.ndarray],
        engine: str,
    ) -> int:
        count = len(outputs[0])
        if count >= thread_count() * STATES_PER_TASK:
            return run_states(entry, constants, inputs, outputs, engine)
        leading = (*constants, *tables, np.zeros(numbers))
        given = [np.array(x, dtype=float, order="C") for x in inputs]
        results = [np.empty(x.shape) for x in outputs]
        parts = [_of_state(code, leading, [x[state] for x in (*given, *results)]) for state in range(count)]
        status = max(run_stages(part, widths, least) for part in parts)
        for output, double in zip(outputs, results, strict=True):
            output[...] = double
        return status

    return run


def _of_state(code: Callable[..., int], leading: tuple, arrays: list[np.ndarray]) -> Part:
    """Return the function `Part` of one state with its own arrays."""
    return lambda *part: code(*leading, *part, *arrays)
