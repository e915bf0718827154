"""Timing of calls in turns, so that all see the same machine state, without disturbance by each other's threads."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from treesim.system.progress import counted

ROUND_S = 2e-3  # a call is repeated until a round takes about this long, so that the clock's resolution does not matter


@dataclass(frozen=True)
class Timing:
    """Time of one call [us]: the fastest round and the median round."""

    min_us: float
    median_us: float


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int, turn: float = ROUND_S, pause: float = 0.0
) -> dict[str, Timing]:
    """Time `calls` in turns, so that a slow phase of the machine affects all of them alike.

    rounds: number of turns of each call. turn [s]: shortest duration of a turn; a short call is repeated. A
    turn begins with untimed calls, a quarter of the timed ones and at least one, to warm up caches and clock.
    pause [s]: sleep before each turn, until the threads of the previous call sleep: OpenMP's threads spin for
    some milliseconds and would occupy the cores.
    """
    repeats = {name: _repeats(calls[name], turn) for name in counted(list(calls), lambda name: f"first call: {name}")}
    turns: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in counted(range(rounds), lambda k: "timing"):
            for name, call in calls.items():
                time.sleep(pause)
                _seconds(call, -(-repeats[name] // 4))
                turns[name].append(_seconds(call, repeats[name]) / repeats[name])
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(1e6 * min(times), 1e6 * median(times)) for name, times in turns.items()}


def one_blas_thread() -> None:
    """Run scipy's linear algebra on one thread, as treesim's kernels do; effective only before scipy is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def shortest(call: Callable[[], object], spend: float = 0.1) -> float:
    """Return the time [s] of the fastest of several calls in a row, after a first one.

    There are at least two calls, and as many as fit in `spend` seconds (at most 1000).
    """
    call()  # loads or compiles, and fills caches
    fastest, spent, done = float("inf"), 0.0, 0
    while done < 2 or (spent < spend and done < 1000):
        seconds = _seconds(call, 1)
        fastest, spent, done = min(fastest, seconds), spent + seconds, done + 1
    return fastest


def _repeats(call: Callable[[], object], turn: float) -> int:
    call()  # loads or compiles
    once = _seconds(call, 1)
    if once < turn:
        once = min(once, _seconds(call, 3) / 3)
    return max(1, int(turn / max(once, 1e-7)))


def _seconds(call: Callable[[], object], repeats: int) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - began
