"""From a user's arrays to a compiled kernel and back: checks, leading batch axes, engines, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import NonFiniteError, UnsupportedError, unknown_name
from ...kernels.entries.status import FINE, NOT_FINITE, status_of
from ...validation.arrays import (
    Argument,
    Shape,
    batch_shape,
    check_out,
    coerce,
    precision,
    refuse_invalid,
    refuse_non_finite,
    result_rows,
    rows,
)
from ..threads import over_threads
from . import specialized
from .buffer_pool import empty
from .generic import compiled

__all__ = [
    "ENGINES",
    "Argument",
    "Runner",
    "coerce",
    "evaluate",
    "precision",
    "refuse_non_finite",
    "refuse_overflow",
    "run_states",
    "specialized_first",
    "specialized_or_generic",
]

ENGINES = ("auto", "generic", "specialized")
STATES_PER_TASK = 128  # fewer states than this are not worth handing to another of Python's threads

# runs an entry with (constants, inputs, outputs, engine), arrays (states, numbers), and returns its status
Runner = Callable[[Callable[..., int], Sequence[Any], list[np.ndarray], list[np.ndarray], str], int]


def check_engine(engine: str) -> None:
    """Raise UnknownNameError unless `engine` is one of ENGINES."""
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)


def evaluate(
    entry: Callable[..., int],
    constants: Sequence[Any],
    arguments: Sequence[Argument],
    results: Sequence[Shape],
    explain: Callable[[dict[str, np.ndarray]], Exception] | None = None,
    accepted: int = FINE,
    runner: Runner | None = None,
    engine: str = "auto",
    out: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Run `entry(*constants, *arguments, *results)` on every state and return its results, freshly allocated.

    Leading axes of the arguments broadcast against each other and lead the results' shapes. An argument of value None
    is passed on empty. Batches run on $TREESIM_NUM_THREADS threads (all cores by default), or as `runner` runs them;
    results do not depend on how many. Results are float32 where all arguments are: large batches are then computed in
    single precision, others in double and rounded. engine: "generic", "specialized", or "auto", the latter for large
    batches where it can. out: where the first result goes, in any order of memory.
    Raises ArgumentError for a wrong type or shape or a quaternion that is not of length 1, NonFiniteError for NaN or
    infinity in an argument, UnknownNameError for the engine, UnsupportedError where "specialized" cannot be, else what
    `explain` makes of a status worse than `accepted`.
    """
    check_engine(engine)
    number = precision(*(a.value for a in arguments if a.value is not None))
    arrays = [None if a.value is None and a.optional else coerce(a, number) for a in arguments]
    batch = batch_shape(arguments, arrays)
    outputs = [] if out is None else [check_out(out, batch + results[0], number)]
    outputs += [empty(batch + shape, number) for shape in results[len(outputs) :]]
    if not any(x is not None and x.size for x in arrays) and all(
        0 in a.shape for a in arguments if a.value is not None
    ):
        for output in outputs:
            output[...] = 0.0  # a robot that cannot move: nothing to do
    elif math.prod(batch):
        given = [rows(x, batch, a.shape) for a, x in zip(arguments, arrays, strict=True)]
        found = [rows(x, batch, shape) for x, shape in zip(outputs, results, strict=True)]
        if out is not None:
            found[0] = result_rows(out, batch, results[0], arrays)
        run = run_states if runner is None or engine == "specialized" else runner
        if run is not run_states:
            refuse_invalid(arguments, arrays)  # stages look at results only
        if run(entry, constants, given, found, engine) > accepted:
            refuse_invalid(arguments, arrays)
            named = {a.label: x for a, x in zip(arguments, arrays, strict=True) if x is not None}
            raise explain(named) if explain else overflow(arguments)
        if out is not None and not np.may_share_memory(found[0], out):
            out[...] = found[0].reshape(out.shape)
    return outputs


def specialized_first(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return function(*arguments, engine="specialized"), or on engine "auto" where there is no such code: for what is
    called only a few times in a process, since code made for one robot is compiled ten times sooner."""
    try:
        return function(*arguments, engine="specialized")
    except UnsupportedError:
        return function(*arguments)


def specialized_or_generic(function: Callable[..., Any], *arguments: Any, engine: str = "auto", **options: Any) -> Any:
    """Return function(*arguments, engine=engine, **options); on engine "auto" by code made for the robot, for any
    number of states, or, where there is none, by that for any robot."""
    if engine != "auto":
        return function(*arguments, engine=engine, **options)
    try:
        return function(*arguments, engine="specialized", **options)
    except UnsupportedError:
        return function(*arguments, engine="generic", **options)


def run_states(
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    engine: str = "auto",
) -> int:
    """Run all states, rows of the arrays, many of them on lanes and on several threads; return the worst status.

    Raises UnsupportedError where the engine "specialized" cannot be.
    """
    number, count = outputs[0].dtype, len(outputs[0])
    wanted = engine == "specialized" or (engine == "auto" and count >= specialized.STATES)
    sizes, results = ([x.shape[1] for x in group] for group in (inputs, outputs))
    code = lanes_for(entry, constants, sizes, results, number, engine) if wanted else None
    if code is not None:
        return code.run([*(x.astype(number, copy=False) for x in inputs), *outputs], count)
    machine_code = compiled(entry)
    doubles = [_dense(x) for x in inputs] + [x if _is_dense(x) else np.empty(x.shape) for x in outputs]

    def run(first: int, last: int) -> int:
        return int(machine_code(*constants, *(x[first:last].reshape(-1) for x in doubles)))

    status = over_threads(run, count, STATES_PER_TASK)
    return max([status, *(_rounded(*pair) for pair in zip(outputs, doubles[len(inputs) :], strict=True))])


def refuse_overflow(what: str, *results: np.ndarray) -> None:
    """Raise NonFiniteError if one of the results, dense float64 arrays, of `what`, which takes several calls, is not
    finite. Cost 0.4 us a result."""
    status = compiled(status_of)
    for result in results:
        if status(result.reshape(-1)) != FINE:
            raise NonFiniteError(f"{what} overflows: are the numbers given to it of a sensible size?")


def overflow(arguments: Sequence[Argument]) -> NonFiniteError:
    """Return the error for arguments that are finite, and results that are not."""
    names = " and ".join(a.label for a in arguments if a.value is not None)
    return NonFiniteError(f"the result is too large for its numbers: are those in {names} of a sensible size?")


def _rounded(output: np.ndarray, double: np.ndarray) -> int:
    """Write results to where they belong, rounded to its numbers; return NOT_FINITE if these do not reach as far."""
    if output is double:
        return FINE
    with np.errstate(over="ignore"):
        output[...] = double
    return FINE if output.dtype == double.dtype or np.isfinite(output).all() else NOT_FINITE


def lanes_for(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    number: Any,
    engine: str,
    **steps: Any,
) -> specialized.BatchCode | None:
    """Return an entry's code on lanes, or None if it has none and the engine "specialized" is not insisted on."""
    try:
        return specialized.batch_code(entry, constants, sizes, results, number == np.float32, **steps)
    except UnsupportedError:
        if engine == "specialized":
            raise
        return None


def _is_dense(array: np.ndarray) -> bool:
    return array.flags.carray and array.dtype == np.float64


def _dense(array: np.ndarray) -> np.ndarray:
    """The array as the generic engine takes it: float64, contiguous, writable."""
    return array if _is_dense(array) else np.array(array, dtype=float, order="C")
