"""Time and memory of forward dynamics over the number of states."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np

import treesim
from treesim.compare.cases import States
from treesim.engine.threads import thread_count
from treesim.model.tree import Tree
from treesim.system.memory import peak_memory

from .engine_choice import engine_of_batch
from .robots import random_states

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
DIFFERENT = 1000  # states; larger batches repeat them
SPEND = 0.3  # [s] on one size, at least


def size_rows(tree: Tree, number: type[np.floating], largest: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each number of states up to `largest`.

    Rows contain seconds per state of forward dynamics, the engine, and the bytes of its arguments, of its
    result, and of its peak beyond them.
    """
    few = random_states(tree, seed, min(DIFFERENT, largest))
    return [_row(tree, few, number, size) for size in SIZES if size <= largest]


def _row(tree: Tree, few: States, number: type[np.floating], size: int) -> dict[str, Any]:
    q, v, tau = (np.resize(x.astype(number), (size, x.shape[1])) for x in (few.q, few.v, few.tau))
    result = treesim.forward_dynamics(tree, q, v, tau)
    tracemalloc.start()
    treesim.forward_dynamics(tree, q, v, tau, out=result)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    given, returned = q.nbytes + v.nbytes + tau.nbytes, result.nbytes
    del result
    times: list[float] = []
    while len(times) < 3 or sum(times) < SPEND:
        began = time.perf_counter()
        treesim.forward_dynamics(tree, q, v, tau)
        times.append(time.perf_counter() - began)
    return {
        "states": size, "numbers": np.dtype(number).name, "engine": engine_of_batch(tree, size, number),
        "threads": thread_count(), "min_s": min(times) / size, "call_s": min(times), "arguments_bytes": given,
        "result_bytes": returned, "added_bytes": most, "process_peak_bytes": peak_memory(),
    }  # fmt: skip
