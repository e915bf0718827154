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
    threads (all cores by default), or as `runner` runs them; results do not depend on how many.
    """
    arrays = [None if a.value is None else coerce(a) for a in arguments]
    batch = _batch_shape(arguments, arrays)
    if not any(x is not None and x.size for x in arrays) and all(
        0 in a.shape for a in arguments if a.value is not None
    ):
        return [np.zeros(batch + shape) for shape in results]  # a robot that cannot move: no entry has work to do
    count = math.prod(batch)
    flat = [_flattened(x, batch + a.shape) for a, x in zip(arguments, arrays, strict=True)]
    outputs = [np.empty(batch + shape) for shape in results]
    if count:
        flat_results = [output.reshape(-1) for output in outputs]
        if (runner or run_states)(entry, constants, flat, flat_results, count) > accepted:
            refuse_non_finite(arguments, arrays)
            named = {a.label: x for a, x in zip(arguments, arrays, strict=True) if x is not None}
            raise explain(named) if explain else NonFiniteError("the result is not finite")
    return outputs


def coerce(argument: Argument) -> np.ndarray:
    """Return the argument as a float array whose last axes have the wanted shape, or raise ArgumentError."""
    label, value, shape = argument
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its numbers are of type {array.dtype}")
        array = array.astype(float, copy=False)
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
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: list[np.ndarray],
    outputs: list[np.ndarray],
    count: int,
) -> int:
    """Run all states, on several threads when there are many: each thread takes one run of neighbouring states."""
    code = compiled(entry)
    tasks = max(1, min(thread_count(), count // STATES_PER_TASK))
    if tasks == 1:
        return int(code(*constants, *inputs, *outputs))
    edges = [count * t // tasks for t in range(tasks + 1)]

    def part(t: int) -> int:
        pieces = [x[x.size // count * edges[t] : x.size // count * edges[t + 1]] for x in (*inputs, *outputs)]
        return int(code(*constants, *pieces))

    return max(pool().map(part, range(tasks)))


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
