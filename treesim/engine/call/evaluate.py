"""Evaluation of a kernel on users' arrays: validation, batch axes, choice of the engine, errors."""

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
    result_rows,
    rows,
)
from ..frontend.fastcall import STATES
from ..threads import over_threads
from . import specialized
from .buffer_pool import empty
from .generic import compiled

ENGINES = ("auto", "generic", "specialized")
STATES_PER_TASK = 128  # fewer states are not worth another Python thread

# runs an entry with (constants, inputs, outputs, engine), arrays (states, numbers), and returns its status
Runner = Callable[[Callable[..., int], Sequence[Any], list[np.ndarray], list[np.ndarray], str], int]


def check_engine(engine: str) -> None:
    """Raise UnknownNameError unless `engine` is one of ENGINES."""
    if not isinstance(engine, str) or str.__str__(engine) not in ENGINES:
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
    """Run `entry(*constants, *arguments, *results)` on every state and return its results, newly allocated.

    Leading axes of the arguments are broadcast and lead the results' shapes. An argument of value None is
    passed as an empty array. Batches run on $TREESIM_NUM_THREADS threads (all cores by default), or by
    `runner`; results do not depend on their number. Results are float32 if all arguments are: large batches are
    then computed in single precision, others in double precision and rounded. engine: "generic", "specialized",
    or "auto", which selects the latter for large batches where it is supported. out: destination of the first
    result, in any memory layout. Raises ArgumentError for a wrong type or shape or a quaternion that is not of
    length 1, NonFiniteError for NaN or infinity in an argument, UnknownNameError for the engine,
    UnsupportedError if "specialized" is not supported. For a status worse than `accepted` it raises what
    `explain` returns.
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
            refuse_invalid(arguments, arrays)  # stages check results only
        if run(entry, constants, given, found, engine) > accepted:
            refuse_invalid(arguments, arrays)
            named = {a.label: x for a, x in zip(arguments, arrays, strict=True) if x is not None}
            raise explain(named) if explain else overflow(arguments)
        if out is not None and not np.may_share_memory(found[0], out):
            out[...] = found[0].reshape(out.shape)
    return outputs


def specialized_first(function: Callable[..., Any], *arguments: Any, engine: str = "auto", **options: Any) -> Any:
    """Return function(*arguments, engine=engine, **options).

    Engine "auto" selects specialized code for any number of states, or generic code if there is none. For functions
    called only a few times in a process: code for one robot compiles ten times faster.
    """
    if type(engine) is not str or engine != "auto":
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
    """Run all states, rows of the arrays, with SIMD and threads for many of them; return the worst status.

    Raises UnsupportedError if the engine "specialized" is not supported.
    """
    number, count = outputs[0].dtype, len(outputs[0])
    wanted = engine == "specialized" or (engine == "auto" and count >= STATES)
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
    """Raise NonFiniteError if one of the results, dense float64 arrays, is not finite.

    what: name of the computation, which takes several calls. Cost 0.4 us a result.
    """
    status = compiled(status_of)
    for result in results:
        if status(result.reshape(-1)) != FINE:
            raise NonFiniteError(f"{what} overflows: are the numbers given to it of a sensible size?")


def in_precision(what: str, result: np.ndarray, number: Any) -> np.ndarray:
    """Return a finite float64 result in a number type; raises NonFiniteError if it overflows there.

    what: name of the computation.
    """
    with np.errstate(over="ignore"):
        found: np.ndarray = result.astype(number, copy=False)
    if found is not result and not np.isfinite(found).all():
        raise NonFiniteError(f"{what} overflows in {np.dtype(number)}: give its arguments in float64")
    return found


def overflow(arguments: Sequence[Argument]) -> NonFiniteError:
    """Return the error for finite arguments whose results are not finite."""
    names = " and ".join(a.label for a in arguments if a.value is not None)
    return NonFiniteError(f"the result is too large for its numbers: are those in {names} of a sensible size?")


def _rounded(output: np.ndarray, double: np.ndarray) -> int:
    """Copy results to `output`, rounded to its number type; return NOT_FINITE if they overflow."""
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
    """Return an entry's SIMD code; None if there is none and the engine is not "specialized"."""
    try:
        return specialized.batch_code(entry, constants, sizes, results, number == np.float32, **steps)
    except UnsupportedError:
        if engine == "specialized":
            raise
        return None


def _is_dense(array: np.ndarray) -> bool:
    return array.flags.carray and array.dtype == np.float64


def _dense(array: np.ndarray) -> np.ndarray:
    """Return the array as float64, contiguous and writable, for the generic engine."""
    return array if _is_dense(array) else np.array(array, dtype=float, order="C")
