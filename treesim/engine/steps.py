"""Many steps of many states in compiled code: each state is carried from step to step, and written now and then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .evaluate import STATES_PER_TASK, lanes_for
from .generic import compiled
from .threads import over_threads


def run_steps(
    entry: Callable[..., int],
    constants: Sequence[Any],
    states: Sequence[np.ndarray],
    controls: np.ndarray,
    results: Sequence[np.ndarray],
    every: int = 1,
    engine: str = "auto",
) -> bool:
    """Write to `results` (count, records, n) the states that follow from `states` (count, n), after every `every` steps
    under controls (count, steps, m); return whether all of them are finite.

    entry(*constants, *states, control, *next states) does one step. A state that is not finite stays in the results.
    Nothing is copied by lanes: axes of controls may have stride 0, results may lie in files.
    """
    count, steps = controls.shape[:2]
    if not (count and steps):
        return True
    sizes = [x.shape[1] for x in states]
    width = [*sizes, controls.shape[2]]
    code = None
    if engine != "generic":
        code = lanes_for(entry, constants, width, sizes, results[0].dtype, engine, fed_back=len(sizes))
    if code is not None:
        return code.run([*states, controls, *results], count, steps, every) == 0
    return _one_by_one(compiled(entry), constants, states, controls, results, every)


def _one_by_one(
    machine_code: Callable[..., int],
    constants: Sequence[Any],
    states: Sequence[np.ndarray],
    controls: np.ndarray,
    results: Sequence[np.ndarray],
    every: int,
) -> bool:
    """The same without lanes: each thread takes its states through all steps."""

    def part(first: int, last: int) -> int:
        now = [np.array(x[first:last], dtype=float, order="C") for x in states]
        new = [np.empty_like(x) for x in now]
        status = 0
        for step in range(controls.shape[1]):
            control = np.array(controls[first:last, step], dtype=float, order="C")
            status = int(machine_code(*constants, *(x.reshape(-1) for x in (*now, control, *new))))
            now, new = new, now
            if (step + 1) % every == 0:
                for result, x in zip(results, now, strict=True):
                    result[first:last, step // every] = x
        return status

    return over_threads(part, len(controls), STATES_PER_TASK) == 0
