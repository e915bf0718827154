"""Number of threads for batches, and Python's threads for code that is not compiled as a whole.

Batches of machine code run on the threads of `llvm.thread_pool`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from itertools import pairwise
from operator import index
from typing import Any, TypeVar

import numpy as np

from ..errors import ArgumentError, quoted
from ..system.cores import usable_cores

VARIABLES = ("TREESIM_NUM_THREADS", "OMP_NUM_THREADS")  # in order of precedence
MOST_THREADS = 4096
LONGEST = 20  # digits of a number in a variable: Python refuses to read thousands

T = TypeVar("T")

_asked: ContextVar[int | None] = ContextVar("treesim_threads", default=None)


def lock_across_forks() -> Any:
    """Return a reentrant lock that is acquired before a fork, so that it is free in the child, which has one thread."""
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


def thread_count() -> int:
    """Return the number of threads for batches: that of `use_threads`, else `default_thread_count`."""
    asked = _asked.get()
    return default_thread_count() if asked is None else asked


@contextmanager
def use_threads(threads: int | None) -> Iterator[None]:
    """Set the number of threads for batches within a `with` block, for the current Python thread only.

    This number takes precedence over $TREESIM_NUM_THREADS and $OMP_NUM_THREADS. Results do not depend on the number of
    threads.

    Parameters
    ----------
    threads : int or None
        Number of threads, which may exceed the number of cores. None leaves the number unchanged.

    Raises
    ------
    ArgumentError
        For an invalid number.

    Examples
    --------
    >>> robot = treesim.load("ur5")
    >>> with treesim.use_threads(1):
    ...     treesim.mass_matrix(robot, np.zeros((1000, 6))).shape
    (1000, 6, 6)
    """
    wanted = checked_threads(threads)
    token = _asked.set(_asked.get() if wanted is None else wanted)
    try:
        yield
    finally:
        _asked.reset(token)


def checked_threads(threads: Any) -> int | None:
    """Return a number of threads as an int, or None unchanged; raises ArgumentError for anything else."""
    if threads is None:
        return None
    try:
        number = None if isinstance(threads, bool | np.bool_) else index(threads)
    except Exception:  # whatever a user's class raises
        number = None
    if number is None or not 1 <= number <= MOST_THREADS:
        raise ArgumentError(f"threads must be a whole number from 1 to {MOST_THREADS}, or None, got {quoted(threads)}")
    return number


@lru_cache(maxsize=1)
def default_thread_count() -> int:
    """Return the default number of threads: $TREESIM_NUM_THREADS, else $OMP_NUM_THREADS, else the usable cores.

    Of a list in $OMP_NUM_THREADS the first number counts. Usable cores are limited by the process's affinity
    and a container's quota. Raises ArgumentError if the variable is no number from 1 to MOST_THREADS.
    """
    name = next((name for name in VARIABLES if os.environ.get(name)), None)
    return usable_cores() if name is None else _wanted(name, os.environ[name])


def _wanted(name: str, text: str) -> int:
    first = text.partition(",")[0].strip() if name == "OMP_NUM_THREADS" else text.strip()
    number = int(first) if first.isascii() and first.isdecimal() and len(first) <= LONGEST else 0
    if not 1 <= number <= MOST_THREADS:
        raise ArgumentError(f"${name} is {quoted(text)}, but must be a whole number of threads, 1 to {MOST_THREADS}")
    return number


@lru_cache(maxsize=1)
def pool() -> ThreadPoolExecutor:
    """Return Python's threads for batches and stages."""
    return ThreadPoolExecutor(default_thread_count(), thread_name_prefix="treesim")


def over_threads(run: Callable[[int, int], int], count: int, least: int) -> int:
    """Call run(first, last) on equal parts of `count` states, of at least `least` each; return the worst status.

    The first part runs in the caller's thread, the others in Python's threads.
    """
    tasks = max(1, min(thread_count(), count // least))
    if tasks == 1:
        return run(0, count)
    edges = [count * t // tasks for t in range(tasks + 1)]
    return max(on_threads([partial(run, *ends) for ends in pairwise(edges)]))


def on_threads(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Call the first task in the caller's thread, the others in Python's threads; return their results in any order.

    The caller's thread also calls the tasks that no other thread has begun when it is free.
    """
    own, *others = tasks
    parts: list[Future[T]] = []
    try:
        with suppress(RuntimeError):  # threads cannot be started, for example while the interpreter shuts down
            for task in others:
                parts.append(pool().submit(task))
        results = [task() for task in (own, *others[len(parts) :])]
        results += [task() for task, part in zip(others, parts, strict=False) if part.cancel()]
    finally:
        _until_done([part for part in parts if not part.cancel()])
    return results + [part.result() for part in parts if not part.cancelled()]


def _until_done(parts: Sequence[Future[Any]]) -> None:
    """Wait for all parts, also after Ctrl-C: they write to the caller's memory, which may be freed afterwards."""
    interrupted = None
    while True:
        try:
            wait(parts)
            break
        except KeyboardInterrupt as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # the parent's threads do not exist in a forked child
