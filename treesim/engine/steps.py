"""Many steps of many states in compiled code: each state is carried from step to step, and written now and then.

Results (count, records, n) hold the states after every `every` steps; they may lie in files, and nothing else is as
large. A state that is not finite stays in the results. Every function returns whether all of them, and the controls
given, are finite; the states and parameters given must be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .evaluate import STATES_PER_TASK, lanes_for
from .generic import compiled
from .policies import Policy
from .threads import over_threads

Step = Callable[..., int]
# the controls (states, m) of the states first .. last - 1, which are given, at a step
Controls = Callable[[int, int, int, Sequence[np.ndarray]], np.ndarray]


def run_steps(
    entry: Step,
    constants: Sequence[Any],
    states: Sequence[np.ndarray],
    controls: np.ndarray,
    results: Sequence[np.ndarray],
    every: int = 1,
    engine: str = "auto",
) -> bool:
    """Carry `states` (count, n) through steps under controls (count, steps, m), whose strides may be 0.

    entry(*constants, *states, control, *next states) does one step.
    """
    count, steps = controls.shape[:2]
    if not (count and steps):
        return True
    sizes = [x.shape[1] for x in states]
    code = None
    if engine != "generic":
        inputs = [*sizes, controls.shape[2]]
        code = lanes_for(entry, constants, inputs, sizes, results[0].dtype, engine, fed_back=len(sizes))
    if code is not None:
        return code.run([*states, controls, *results], count, steps, every) == 0
    finite = _one_by_one(
        entry, constants, states, lambda first, last, step, now: controls[first:last, step], results, steps, every
    )
    return finite and _all_finite(controls)


def _all_finite(array: np.ndarray) -> bool:
    """Whether all numbers are finite, with memory for one entry of the first axis; what is repeated is seen once."""
    own = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
    return all(bool(np.isfinite(entry).all()) for entry in own)


def run_policy(
    entry: Step,
    traced_entry: Step,
    constants: Sequence[Any],
    states: Sequence[np.ndarray],
    policy: Policy,
    parameters: np.ndarray,
    dt: float,
    results: Sequence[np.ndarray],
    steps: int,
    every: int = 1,
    engine: str = "auto",
) -> bool:
    """Carry `states` through steps of dt [s] under the controls that a policy takes, with parameters (count, k).

    entry: as in `run_steps`; traced_entry(*constants, policy, number of the step, *states, parameters, next number,
    *next states): the same with the policy.
    """
    count = len(parameters)
    if not (count and steps):
        return True
    code = None
    if engine != "generic":
        sizes = [1, *(x.shape[1] for x in states)]
        inputs = [*sizes, parameters.shape[1]]
        number = results[0].dtype
        steps_of = {"fed_back": len(sizes), "held": 1}
        code = lanes_for(traced_entry, (*constants, policy), inputs, sizes, number, engine, **steps_of)
    if code is not None:
        zero = np.broadcast_to(np.zeros((1, 1), number), (count, 1))
        unread = np.broadcast_to(np.empty((count, 1, 1), number), (count, steps // every, 1))
        return code.run([zero, *states, parameters, unread, *results], count, steps, every) == 0
    p = parameters.astype(float)
    return _one_by_one(
        entry, constants, states,
        lambda first, last, step, now: policy.columns(dt * step, *now, p[first:last]), results, steps, every,
    )  # fmt: skip


def _one_by_one(
    entry: Step,
    constants: Sequence[Any],
    states: Sequence[np.ndarray],
    controls: Controls,
    results: Sequence[np.ndarray],
    steps: int,
    every: int,
) -> bool:
    """Without lanes: each thread takes its states through all steps."""
    machine_code = compiled(entry)

    def part(first: int, last: int) -> int:
        now = [np.array(x[first:last], dtype=float, order="C") for x in states]
        new = [np.empty_like(x) for x in now]
        status = 0
        for step in range(steps):
            control = np.array(controls(first, last, step, now), dtype=float, order="C")
            status = int(machine_code(*constants, *(x.reshape(-1) for x in (*now, control, *new))))
            now, new = new, now
            if (step + 1) % every == 0:
                for result, x in zip(results, now, strict=True):
                    result[first:last, step // every] = x
        return status

    return over_threads(part, len(states[0]), STATES_PER_TASK) == 0
