"""From a user's arrays to a compiled kernel and back: checks, leading batch axes, threads, and what went wrong."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError, NonFiniteError
from ..kernels.status import FINE
from . import specialised
from .generic import compiled

STATES_PER_TASK = 128  # fewer states than this are not worth handing to another thread

# runs an entry with (constants, inputs, outputs), flat, on so many states, and returns its status
Runner = Callable[[Callable[..., int], Sequence[Any], list[np.ndarray], list[np.ndarray], int], int]


class Argument(NamedTuple):
    """One array argument of a public function: its name, the value given, and the shape of one state."""

    label: str
    value: Any
    shape: tuple[int, ...]


def evaluate(
    entry: Callable[..., int],
    constants: Sequence[Any],
    arguments: Sequence[Argument],
    results: Sequence[tuple[int, ...]],
    explain: Callable[[dict[str, np.ndarray]], Exception] | None = None,
    accepted: int = FINE,
    runner: Runner | None = None,
) -> list[np.ndarray]:
    """Run `entry(*constants, *arguments, *results)` on every state and return its results, freshly allocated.

    Leading axes of the arguments broadcast against each other and lead the results' shapes. An argument of value None
    is passed on empty. Raises ArgumentError for a wrong type or shape, NonFiniteError for NaN or infinity in an
    argument, and else what `explain` makes of a status worse than `accepted`. Batches run on $TREESIM_NUM_THREADS
    threads (all cores by default), or as `runner` runs them; results do not depend on how many. Results are float32
    where all arguments are: large batches are then computed in single precision, others in double and rounded.
    """
    number = precision(*(a.value for a in arguments if a.value is not None))
    arrays = [None if a.value is None else coerce(a, number) for a in arguments]
    batch = _batch_shape(arguments, arrays)
    if not any(x is not None and x.size for x in arrays) and all(
        0 in a.shape for a in arguments if a.value is not None
    ):
        return [np.zeros(batch + shape, number) for shape in results]  # a robot that cannot move: nothing to do
    count = math.prod(batch)
    outputs = [np.empty(batch + shape, number) for shape in results]
    if count:
        flat = [_flattened(x, batch + a.shape) for a, x in zip(arguments, arrays, strict=True)]
        flat_results = [output.reshape(-1) for output in outputs]
        if (runner or run_states)(entry, constants, flat, flat_results, count) > accepted:
            refuse_non_finite(arguments, arrays)
            named = {a.label: x for a, x in zip(arguments, arrays, strict=True) if x is not None}
            raise explain(named) if explain else NonFiniteError("the result is not finite")
    return outputs


def precision(*values: Any) -> type[np.floating]:
    """Return float32 if all of a user's values are arrays of it, else float64."""
    single = all(isinstance(value, np.ndarray) and value.dtype == np.float32 for value in values)
    return np.float32 if single else np.float64


def coerce(argument: Argument, number: type[np.floating] = np.float64) -> np.ndarray:
    """Return the argument as an array of `number` whose last axes have the wanted shape, or raise ArgumentError."""
    label, value, shape = argument
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its numbers are of type {array.dtype}")
        array = array.astype(number, copy=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{label} must be an array of real numbers: {error}") from None
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        wanted = ", ".join(map(str, shape))
        raise ArgumentError(f"{label} has shape {array.shape}, but ({wanted}) or (..., {wanted}) is needed")
    return array


def _flattened(array: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """One state after the other in one contiguous, writable row of numbers, as compiled code takes it."""
    if array is None:
        return np.empty(0)
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    if not array.flags.carray:
        array = np.array(array, order="C")
    return array.reshape(-1)


def _batch_shape(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> tuple[int, ...]:
    pairs = [(a, x) for a, x in zip(arguments, arrays, strict=True) if x is not None]
    shapes = [x.shape[: x.ndim - len(a.shape)] for a, x in pairs]
    if not any(shapes):
        return ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        told = ", ".join(f"{a.label} {shape}" for (a, _), shape in zip(pairs, shapes, strict=True))
        raise ArgumentError(f"the batch axes do not fit together: {told}") from None


def run_states(
    entry: Callable[..., int], constants: Sequence[Any], inputs: Sequence[np.ndarray], outputs: list, count: int
) -> int:
    """Run all states, many of them on lanes and on several threads: each takes one run of neighbouring states."""
    number = outputs[0].dtype
    if count >= specialised.STATES:
        sizes, results = ([x.size // count for x in group] for group in (inputs, outputs))
        code = specialised.batch_code(entry, constants, sizes, results, number == np.float32)
        if code is not None:
            arrays = [x.astype(number, copy=False) for x in (*inputs, *outputs)]
            return _over_threads(lambda first, last: code.run(arrays, first, last), count)
    machine_code = compiled(entry)
    doubles = [x.astype(float, copy=False) for x in (*inputs, *outputs)]

    def run(first: int, last: int) -> int:
        pieces = [x[x.size // count * first : x.size // count * last] for x in doubles]
        return int(machine_code(*constants, *pieces))

    status = _over_threads(run, count)
    for output, double in zip(outputs, doubles[len(inputs) :], strict=True):
        if output is not double:
            output[:] = double
    return status


def run_steps(
    entry: Callable[..., int], constants: Sequence[Any], states: Sequence[np.ndarray], controls: np.ndarray
) -> list[np.ndarray]:
    """Return the states (count, steps, n) that follow from `states` (count, n) under controls (count, steps, m).

    entry(*constants, *states, control, *next states) does one step. A state that is not finite stays in the results.
    """
    count, steps = controls.shape[:2]
    number = controls.dtype
    results = [np.empty((count, steps, x.shape[1]), number) for x in states]
    if not (count and steps):
        return results
    sizes = [x.shape[1] for x in states]
    code = specialised.batch_code(
        entry, constants, [*sizes, controls.shape[2]], sizes, number == np.float32, fed_back=len(sizes)
    )
    if code is not None:
        arrays = [*states, controls, *results]
        _over_threads(lambda first, last: code.run(arrays, first, last, steps), count, code.lanes.width)
        return results
    now = [x.astype(float) for x in states]
    machine_code = compiled(entry)
    for k in range(steps):
        new = [np.empty_like(x) for x in now]
        arrays = [*now, np.array(controls[:, k], dtype=float), *new]

        def part(first: int, last: int, arrays: list[np.ndarray] = arrays) -> int:
            return int(machine_code(*constants, *(x[first:last].reshape(-1) for x in arrays)))

        _over_threads(part, count)
        for result, x in zip(results, new, strict=True):
            result[:, k] = x
        now = new
    return results


def _over_threads(run: Callable[[int, int], int], count: int, least: int = STATES_PER_TASK) -> int:
    """Call run(first, last) on equal parts of `count` states, one for each thread, of at least so many states; return
    the worst status."""
    tasks = max(1, min(thread_count(), count // least))
    if tasks == 1:
        return run(0, count)
    edges = [count * t // tasks for t in range(tasks + 1)]
    return max(pool().map(run, edges, edges[1:]))


@lru_cache(maxsize=1)
def thread_count() -> int:
    """Return the number of threads for batches: $TREESIM_NUM_THREADS, else the cores this process may use."""
    wanted = os.environ.get("TREESIM_NUM_THREADS", "")
    if wanted.isdigit():
        return max(1, int(wanted))
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))  # a container or taskset may grant fewer than the machine has
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    """Return the threads that batches and stages run on."""
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="treesim")


def refuse_non_finite(arguments: Sequence[Argument], arrays: Sequence[np.ndarray | None]) -> None:
    """Raise NonFiniteError naming the first argument, and the place in it, that holds NaN or infinity."""
    for argument, array in zip(arguments, arrays, strict=True):
        if array is not None and not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            place = ", ".join(map(str, where))
            raise NonFiniteError(f"{argument.label}[{place}] is {array[where]}, not a finite number")
