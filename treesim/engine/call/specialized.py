"""Specialized engine: traces a kernel for one robot and compiles it to SIMD code for many states at once.

`evaluate` passes large batches to it. Code is compiled once per robot, kernel and number type, in a
fraction of a second (two seconds for long code), straight-line or looped (`llvm.strategies`), and cached on
disk. Kernels that branch on their inputs, or take more than 600,000 operations, run on the generic engine.
"""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from ...errors import UnsupportedError
from ...kernels.entries.status import FINE, NOT_FINITE
from ..argument_checks import declared_arrays, quaternion_places
from ..frontend.fastcall import builtin, owner_of_code
from ..frontend.object_layout import address, layout_is_known
from ..graph.graph import LONGEST, Graph
from ..graph.trace import trace
from ..graph.twins import twin_inputs
from ..llvm import machine_code
from ..llvm.lanes import Lanes
from ..llvm.object_cache import kernel_hash
from ..llvm.shared_code import SharedCode
from ..llvm.single_state import NO_BATCHES, many_states, single_state
from ..llvm.straight_line import Code
from ..llvm.strategies import emit, wanted
from ..llvm.thread_pool import together
from ..threads import thread_count
from .generic import runs_compiled

CACHE_LINE = 64  # bytes; also the widest vector
LEAST = 32  # states worth another thread: 1 us slower for six joints, 3 to 17 us faster for a humanoid
SHARES = 32  # blocks for each thread: one that is late or delayed takes fewer
LARGEST_BLOCK = 4096  # states
SHARED, ALL = 128, 1 << 62  # fewer states run in the calling thread; as many if it is the only one
# CPython's functions that release and acquire the interpreter's lock
LOCK = [
    ctypes.cast(function, ctypes.c_void_p).value or 0
    for function in (ctypes.pythonapi.PyEval_SaveThread, ctypes.pythonapi.PyEval_RestoreThread)
]

_codes: SharedCode[BatchCode | UnsupportedError] = SharedCode()  # or why there is none
_functions: SharedCode[Callable[..., int]] = SharedCode()  # for single states
_tables: dict[int, tuple[weakref.ref[np.ndarray], bytes]] = {}


class Job(ctypes.Structure):
    """Data that the threads of one call share (`batch_loop`); compiled code updates the first three words.

    next: first state that no thread has taken. threads: number of threads so far. status: 1 once a number is
    not finite. count, block: number of states, and of those that a thread takes at a time. steps, every: steps
    of each state, and steps between two written results. bytes, workspaces: size of each thread's workspace,
    and address of the first one. keep: owners of the memory at all addresses, and of the code.
    """

    keep: Any

    _fields_ = tuple(
        (name, ctypes.c_void_p if name in ("workspaces", "tables") else ctypes.c_int64)
        for name in (
            "next", "threads", "status", "count", "block", "steps", "every", "bytes", "workspaces", "tables",
        )
    )  # fmt: skip


class Workspace(NamedTuple):
    """Uninitialized memory, and its first address that is aligned to cache lines."""

    memory: np.ndarray
    start: int

    @classmethod
    def of(cls, size: int) -> Self:
        """Return a new workspace of `size` aligned bytes."""
        memory = np.empty(size + CACHE_LINE, np.uint8)
        return cls(memory, -(-memory.ctypes.data // CACHE_LINE) * CACHE_LINE)


class _Workspaces(threading.local):
    """Workspace of each Python thread, reused between calls.

    A call takes it and returns it at its end. A call that interrupts another one, from a signal handler or a
    finalizer, therefore gets a workspace of its own.
    """

    def __init__(self) -> None:
        self.unused: list[Workspace] = []

    def take(self, size: int) -> Workspace:
        """Return a workspace of at least `size` aligned bytes, which belongs to the caller."""
        try:
            found = self.unused.pop()
        except IndexError:
            return Workspace.of(size)
        return found if found.memory.size >= size + CACHE_LINE else Workspace.of(size)

    def give_back(self, workspace: Workspace) -> None:
        """Keep a workspace for the next call."""
        self.unused = [workspace]


_workspaces = _Workspaces()


class BatchCode:
    """SIMD code of one kernel entry for one robot, in double or single precision."""

    def __init__(self, loaded: machine_code.Loaded, lanes: Lanes) -> None:
        self._loaded, self.lanes = loaded, lanes

    @property
    def share(self) -> int:
        """Address of the code."""
        return self._loaded.share

    @property
    def workspace(self) -> int:
        """Bytes that each thread needs."""
        return -(-self._loaded.workspace * self.lanes.bytes // CACHE_LINE) * CACHE_LINE

    def run(self, arrays: Sequence[np.ndarray], count: int, steps: int = 1, every: int = 1) -> int:
        """Process all states of arrays (count, numbers) or (count, steps, numbers); return FINE or NOT_FINITE.

        Arrays of the right number type are read and written in place, whatever their strides; inputs may have
        strides of 0. The distribution of states over threads does not change the results.
        """
        return self.bound(arrays, count, steps, every)()

    def bound(self, arrays: Sequence[np.ndarray], count: int, steps: int = 1, every: int = 1) -> Callable[[], int]:
        """Return `run` for these arrays, which are read and written at every call."""
        loaded, width = self._loaded, self.lanes.width
        groups = -(-count // width)
        least = 1 if steps > 1 else LEAST // width  # groups that are worth another thread
        threads = max(1, min(thread_count(), groups // least))
        block = max(1, min(groups // (threads * SHARES), LARGEST_BLOCK // width)) * width
        size = self.workspace
        table = self._table(arrays)
        owners = loaded, tuple(arrays), table

        def run() -> int:
            workspace = _workspaces.take(size * threads)
            job = Job(0, 0, 0, count, block, steps, every, size, workspace.start, table.buffer_info()[0])
            job.keep = workspace, owners
            together(loaded.share, job, threads)
            _workspaces.give_back(workspace)
            return NOT_FINITE if job.status else FINE

        return run

    def _table(self, arrays: Sequence[np.ndarray]) -> array[int]:
        """Return the table of arrays: address, and strides (number, state, step)."""
        unit = self.lanes.bytes // self.lanes.width
        words: list[int] = []
        for x in arrays:
            strides, place = x.strides, address(x)
            step = strides[1] // unit if len(strides) == 3 else 0
            words += (place, strides[-1] // unit if x.shape[-1] > 1 else 1, strides[0] // unit, step)
        return array("q", words)  # ctypes' arrays take five times as long


def lanes(single: bool) -> Lanes:
    """Return the widest vector type of this processor."""
    return Lanes(single, machine_code.processor().vector_bytes // (4 if single else 8))


def refuse_unusable() -> None:
    """Raise UnsupportedError, with the reason, if this engine cannot run."""
    if not runs_compiled():
        raise UnsupportedError("NUMBA_DISABLE_JIT is set: there is no specialized code")


def batch_code(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    single: bool,
    carried: int = 0,
    invariant: int = 0,
    strategy: str | None = None,
) -> BatchCode:
    """Return the SIMD code of an entry for given constants and sizes of one state's arrays.

    carried: number of first inputs that, in the next step, are the first results. invariant: number of
    following inputs that do not change with the steps (see straight_line). strategy: see `strategies`, by
    default $TREESIM_CODE. Raises UnsupportedError, with the reason, if there is none, ArgumentError for an
    invalid $TREESIM_CODE. Cost: 0.1 to 2 s the first time ever, 4 us per operation of very
    large robots, milliseconds the first time in a process, then microseconds.
    """
    refuse_unusable()
    strategy = strategy or wanted()
    identity = (entry, single, carried, invariant, strategy, tuple(sizes), tuple(results), *map(_contents, constants))
    code = _codes.get(identity, lambda: _make(entry, constants, sizes, results, identity))
    if isinstance(code, UnsupportedError):
        raise UnsupportedError(f"no specialized code for {entry.__name__}: {code}")
    return code


def single_code(
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[tuple[int, ...]],
    results: Sequence[tuple[int, ...]],
    number: type[np.floating],
    longest: int = LONGEST,
) -> Callable[..., int]:
    """Return a built-in function for single states.

    It takes the nonempty inputs and the results, arrays of `number`, and returns the entry's status. It returns
    BAD_LAYOUT for arguments that are not such arrays of these shapes. Equal requests return the same function.
    Raises UnsupportedError if there is no straight-line code, or its trace is longer than `longest` operations. Cost:
    as `batch_code`.
    """
    refuse_unusable()
    if not layout_is_known():
        raise UnsupportedError("the memory layout of this numpy's arrays is unknown")
    shapes = tuple(inputs), tuple(results)
    identity = (entry, number is np.float32, longest, *shapes, *map(_contents, constants))
    return _functions.get(identity, lambda: _single_function(entry, constants, *shapes, number, identity))


def _single_function(
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[tuple[int, ...]],
    results: Sequence[tuple[int, ...]],
    number: type[np.floating],
    identity: tuple[Any, ...],
) -> Callable[..., int]:
    _, single, longest, *others = identity
    sizes, counts = ([math.prod(shape) for shape in group] for group in (inputs, results))
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    key = repr((name, "single", kernel_hash(), single, longest, *others))

    def write() -> Code:
        traced = trace(entry, constants, sizes, counts, Graph(longest))
        quaternions = quaternion_places(entry, constants, sizes)
        computed = [array for array in declared_arrays(entry) if array.result]
        unchecked = [k for k, array in enumerate(computed) if array.unchecked]
        pairs = twin_inputs(entry, constants, sizes)
        return single_state(traced, inputs, results, lanes(single), quaternions, unchecked, pairs)

    code = machine_code.linked(name, key.encode(), write)
    return builtin(entry.__name__, code.address("fast"), number, code, NO_BATCHES)


@lru_cache(maxsize=64)
def batches_only(
    inputs: tuple[tuple[int, ...], ...], results: tuple[tuple[int, ...], ...], single: bool
) -> Callable[..., int]:
    """Return a function as `single_code` does, without code for single states, which serves only `with_batches`."""
    key = repr(("batches", kernel_hash(), inputs, results, lanes(single))).encode()
    code = machine_code.linked("calls of batches", key, lambda: many_states(lanes(single), inputs, results))
    return builtin("batches", code.address("fast"), np.float32 if single else np.float64, code, NO_BATCHES)


def with_batches(function: Callable[..., int], batch: BatchCode, alone: bool) -> Callable[..., int]:
    """Return the built-in function of `single_code` for batches as well, which it runs in the calling thread.

    alone: whether large ones are not better divided among threads.
    """
    code, number = owner_of_code(function), np.float32 if batch.lanes.single else np.float64
    memory = Workspace.of(batch.workspace)
    most, owners = ALL if alone else SHARED - 1, (code, batch, memory)
    least = batch.lanes.width // 2  # half a vector takes as long as single states
    more = most, least, batch.share, memory.start, *LOCK
    return builtin(function.__name__, code.address("fast"), number, owners, more)


def _contents(value: Any) -> Any:
    """Return the bytes of an array as part of a cache key; those of a read-only table are computed once."""
    if not isinstance(value, np.ndarray):
        return value
    memory: Any = value.base
    if type(memory) is bytes and value.nbytes == len(memory) and value.flags.c_contiguous:
        return memory  # all of it, see model.frozen
    if value.flags.writeable or value.base is not None:
        return value.tobytes()
    place = id(value)
    if place not in _tables or _tables[place][0]() is not value:
        _tables[place] = weakref.ref(value, lambda _: _tables.pop(place, None)), value.tobytes()
    return _tables[place][1]


def _make(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    identity: tuple[Any, ...],
) -> BatchCode | UnsupportedError:
    _, single, carried, invariant, strategy, *others = identity
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    width = lanes(single)

    key = repr((name, kernel_hash(), width, single, carried, invariant, strategy, *others)).encode()

    def write() -> Code:
        return emit(strategy, entry, constants, sizes, results, width, carried, invariant)

    try:
        return BatchCode(machine_code.load(name, key, write), width)
    except UnsupportedError as error:
        return UnsupportedError(str(error))  # a new one, without the traceback's frames
