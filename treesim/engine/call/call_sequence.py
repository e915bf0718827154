"""Several compiled entries one after the other, called from Python as one built-in function.

A step is some entries whose results are the next ones' arguments. Called one by one from Python, with an array for each
result, they take as long as their arithmetic.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from ..frontend.arena import KEPT
from ..frontend.fastcall import builtin
from ..frontend.module import Module, fast_function
from ..frontend.object_layout import address, is_free_threaded
from ..frontend.run_sequence import NO_ARGUMENT, run_sequence
from ..frontend.types import INTEGER
from ..llvm import machine_code
from ..llvm.object_cache import kernel_hash
from ..llvm.straight_line import Code
from .kept_memory import KeptMemory


class Place(NamedTuple):
    """Part of an argument: its index, and first number and number of numbers of the part."""

    argument: int
    first: int
    size: int


class Call(NamedTuple):
    """Call of a function `run(job)`.

    address: of the function. arrays: those of its job, parts of the sequence's arguments or arrays of its own, which
    are read at every call. keep: owner of the code.
    """

    address: int
    arrays: Sequence[Place | np.ndarray]
    keep: Any


class Bound(NamedTuple):
    """Largest value that the numbers of a part, an argument's or of an array, may have after the calls."""

    part: Place | np.ndarray
    largest: float


def call_sequence(
    shapes: Sequence[int | tuple[int, ...]], calls: Sequence[Call], bounds: Sequence[Bound] = ()
) -> Callable[..., int]:
    """Return a built-in function of arrays of some shapes, or sizes, that makes some calls in order.

    It accepts only aligned, writable, contiguous float64 arrays, and returns the worst status; otherwise BAD_LAYOUT,
    with nothing done. If all calls are FINE but a number is larger than its bound or NaN, it returns OUT_OF_BOUNDS.
    That results overlap no arguments is not checked. Threads that call it at the same time take turns, since the calls
    write to arrays of the sequence.
    """
    jobs = [_job(call) for call in calls]
    axes = [shape if isinstance(shape, tuple) else (shape,) for shape in shapes]
    words = [len(axes), *[word for shape in axes for word in (len(shape), *shape)]]
    words += [len(calls), max((len(job) // 2 for job in jobs), default=0)]
    for call, job in zip(calls, jobs, strict=True):
        words += [call.address, len(job) // 2, *job]
    words.append(len(bounds))
    for part, largest in bounds:
        words += [*_where(part), part.size, int(np.float64(largest).view(np.int64))]
    program = np.array(words, np.int64)
    code, kept = _code()
    owners = code, kept, program, list(calls), list(bounds)
    function = builtin("sequence", code.address("fast"), np.float64, owners, (program.ctypes.data, program.size))
    return _one_at_a_time(function) if is_free_threaded() else function  # else a call keeps the interpreter's lock


def _one_at_a_time(function: Callable[..., int]) -> Callable[..., int]:
    """Return a function that one thread calls at a time."""
    lock = threading.RLock()  # a signal handler may call it again before the call begins

    def call(*arguments: Any) -> int:
        with lock:
            return function(*arguments)

    return call


def _job(call: Call) -> list[int]:
    """Return the pairs of a call's words."""
    pairs: list[int] = []
    for x in call.arrays:
        pairs += (*_where(x), NO_ARGUMENT, x.size)
    return pairs


def _where(part: Place | np.ndarray) -> tuple[int, int]:
    """Return the pair of words of a part's first number."""
    return (NO_ARGUMENT, address(part)) if isinstance(part, np.ndarray) else (part.argument, 8 * part.first)


@lru_cache(maxsize=1)
def _code() -> tuple[machine_code.Linked, KeptMemory]:
    """Return the code of `run_sequence`, which is that of all programs, and its memory."""

    def write() -> Code:
        module, kernel = Module(), cast(FunctionType, run_sequence)
        return Code(module.text(fast_function(module.compiled(kernel, (INTEGER,) * 3))), 0, True, unrolled=False)

    name = Path(__file__).stem
    code = machine_code.linked(name, repr((name, kernel_hash())).encode(), write)
    return code, KeptMemory(code.engine.get_global_value_address(KEPT))
