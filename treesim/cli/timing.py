"""Timing of single calls, and of a process from its start to its first result."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from ..errors import TreesimError

ROUND_S = 2e-3  # a call is repeated until a round takes about this long, so that the clock's grain does not show

_FIRST_RESULT = """
import json, sys, time
t0 = time.perf_counter()
import treesim
t1 = time.perf_counter()
source, base, mimic = json.loads(sys.argv[1])
robot = treesim.load(source, base=base, mimic=mimic)
t2 = time.perf_counter()
treesim.load(source, base=base, mimic=mimic)
t3 = time.perf_counter()
import numpy as np
treesim.forward_dynamics(robot, robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
t4 = time.perf_counter()
print(json.dumps({"import_s": t1 - t0, "load_s": t2 - t1, "load_again_s": t3 - t2, "first_call_s": t4 - t3}))
"""


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call: the fastest round and the median round."""

    min_us: float
    median_us: float


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timing]:
    """Time `calls` in turns, so that a slow spell of the machine meets all of them alike.

    rounds: how often each has its turn; in a turn the call is repeated for about two milliseconds.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    turns: dict[str, list[float]] = {name: [] for name in calls}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, call in calls.items():
                turns[name].append(_seconds(call, repeats[name]) / repeats[name])
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(1e6 * min(times), 1e6 * median(times)) for name, times in turns.items()}


def one_blas_thread() -> None:
    """Let scipy's linear algebra run on one thread, as our kernels do; works until scipy is first loaded."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def shortest(call: Callable[[], object], spend: float = 0.1) -> float:
    """Return the seconds of the fastest of several calls in a row, after a first one: at least two calls, and as many
    as fit in `spend` seconds (at most 1000)."""
    call()  # loads or compiles, and fills caches
    fastest, spent, done = float("inf"), 0.0, 0
    while done < 2 or (spent < spend and done < 1000):
        seconds = _seconds(call, 1)
        fastest, spent, done = min(fastest, seconds), spent + seconds, done + 1
    return fastest


def _repeats(call: Callable[[], object]) -> int:
    call()  # loads or compiles
    once = max(_seconds(call, 3) / 3, 1e-7)
    return max(1, int(ROUND_S / once))


def _seconds(call: Callable[[], object], repeats: int) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - began


def first_result(source: str, base: str, mimic: str | None, cold: bool) -> dict[str, float]:
    """Return the seconds a new process takes to import treesim, load the robot, load it again with the URDF reader's
    own imports done, and finish its first call.

    cold: give it an empty kernel cache, so that it compiles. `total_s` counts from the start of the process.
    Raises TreesimError with what the process said if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="treesim-cold-") as empty:
        environment = {**os.environ, **({"TREESIM_CACHE_DIR": empty} if cold else {})}
        command = [sys.executable, "-c", _FIRST_RESULT, json.dumps([source, base, mimic])]
        began = time.perf_counter()
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        total = time.perf_counter() - began
    if ended.returncode:
        last = (ended.stderr.strip() or "no message").splitlines()[-1]
        raise TreesimError(f"the process that measures the first call failed: {last}")
    seconds: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return {**seconds, "total_s": total}
