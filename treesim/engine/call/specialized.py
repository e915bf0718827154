"""The specialized engine: a kernel's text traced for one robot, as machine code that works on many states at once.

Large batches come here from `evaluate`. Code is made once per robot, kernel and number type, in a fraction of a second
(of long ones in two), straight-line or looped (`llvm.strategies`), and kept on disk. Kernels whose course depends on
their inputs' values, or that take more than 600,000 operations, stay with the generic engine.
"""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...kernels.entries.status import FINE, NOT_FINITE
from ..argument_checks import quaternion_places
from ..frontend.fastcall import address, builtin, layout_is_known
from ..graph.trace import trace
from ..llvm import machine_code
from ..llvm.lanes import Lanes
from ..llvm.memory_techniques import PREFETCH, used
from ..llvm.nontemporal_stores import LARGE, worth_it
from ..llvm.object_cache import kernel_hash
from ..llvm.shared_code import SharedCode
from ..llvm.single_state import single_state
from ..llvm.straight_line import Code
from ..llvm.strategies import emit, wanted
from ..threads import thread_count, together
from .generic import runs_compiled

STATES = 64  # batches from this size on are worth specialized code
CACHE_LINE = 64  # bytes; also the widest vector
LEAST = 32  # states that are worth waking a thread for: 1 us lost for six joints, 3 to 17 us won for a humanoid's
SHARES = 32  # blocks for each thread: whoever comes late, or is invariant up, takes fewer
LARGEST_BLOCK = 4096  # states

_codes: SharedCode[BatchCode | UnsupportedError] = SharedCode()  # or why there is none
_functions: SharedCode[Callable[..., int]] = SharedCode()  # for single states
_tables: dict[int, tuple[weakref.ref[np.ndarray], bytes]] = {}


class Job(ctypes.Structure):
    """What the threads of one call share, as compiled code reads it (`batch_loop`); they write the first three words.

    next: the first state that nobody has taken yet. threads: how many have come so far. status: 1 once a number is not
    finite. count, block: states in all, and how many a thread takes at a time. steps, every: of each state; after how
    many the results are written. bytes, workspaces: of each thread's workspace, and where they begin.
    """

    _fields_ = tuple(
        (name, ctypes.c_void_p if name in ("workspaces", "tables") else ctypes.c_int64)
        for name in (
            "next", "threads", "status", "count", "block", "steps", "every", "bytes", "workspaces", "tables",
        )
    )  # fmt: skip


class _Workspaces(threading.local):
    """Memory that a Python thread's calls share, so that it is not asked for, and cleared, at every call."""

    memory, start = np.empty(0, np.uint8), 0

    def aligned(self, size: int) -> int:
        """The address of `size` bytes, aligned to cache lines; contents are of no meaning."""
        if self.memory.size < size + CACHE_LINE:
            self.memory = np.empty(size + CACHE_LINE, np.uint8)
            self.start = -(-self.memory.ctypes.data // CACHE_LINE) * CACHE_LINE
        return self.start


_workspaces = _Workspaces()


class BatchCode:
    """Machine code of one kernel entry for one robot, on lanes of double or single precision."""

    def __init__(self, loaded: machine_code.Loaded, lanes: Lanes) -> None:
        self._loaded, self.lanes = loaded, lanes

    def run(self, arrays: Sequence[np.ndarray], count: int, steps: int = 1, every: int = 1) -> int:
        """Work on all states of arrays (count, numbers) or (count, steps, numbers); return FINE, or NOT_FINITE.

        Arrays of the right number type are read and emit in place, whatever their strides; inputs may have strides
        of 0. Which thread takes which states changes no result.
        """
        loaded, width = self._loaded, self.lanes.width
        groups = -(-count // width)
        least = 1 if steps > 1 else LEAST // width  # groups that are worth another thread
        threads = max(1, min(thread_count(), groups // least))
        block = max(1, min(groups // (threads * SHARES), LARGEST_BLOCK // width)) * width
        size = -(-loaded.workspace * self.lanes.bytes // CACHE_LINE) * CACHE_LINE
        table = self._table(arrays)
        workspaces = _workspaces.aligned(size * threads)
        job = Job(0, 0, 0, count, block, steps, every, size, workspaces, table.buffer_info()[0])
        together(loaded.share, ctypes.addressof(job), threads)
        return NOT_FINITE if job.status else FINE

    def _table(self, arrays: Sequence[np.ndarray]) -> array[int]:
        """Address and strides of each array: from number to number, state to state, step to step; whether it is too
        large for caches (see `nontemporal_stores`)."""
        unit = self.lanes.bytes // self.lanes.width
        words: list[int] = []
        for x in arrays:
            strides, place = x.strides, address(x)
            past_caches = x.nbytes >= LARGE and worth_it(self.lanes) and strides[-1] == unit and place % unit == 0
            step = strides[1] // unit if len(strides) == 3 else 0
            words += (place, strides[-1] // unit if x.shape[-1] > 1 else 1, strides[0] // unit, step, past_caches)
        return array("q", words)  # ctypes' arrays take five times as long


def lanes(single: bool) -> Lanes:
    """Return the widest vectors of this processor."""
    return Lanes(single, machine_code.processor().vector_bytes // (4 if single else 8))


def refuse_unusable() -> None:
    """Raise UnsupportedError, telling why, where this engine cannot run."""
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
    """Return the code of an entry for given constants and sizes of one state's arrays.

    carried: how many of the first inputs are, in the next step, the first results; invariant: how many of the next do
    not change with the steps (see straight_line). strategy: see `strategies`, by default what $TREESIM_CODE asks for.
    Raises UnsupportedError, saying why, if there is none, ArgumentError if $TREESIM_CODE asks for no strategy there is,
    or $TREESIM_MEMORY for no technique.
    Cost: 0.1 to 2 s the first time ever, 4 us per operation of very large robots, milliseconds the first time in a
    process, then microseconds.
    """
    refuse_unusable()
    strategy = strategy or wanted()
    made_as = strategy, used(PREFETCH)
    identity = (entry, single, carried, invariant, made_as, tuple(sizes), tuple(results), *map(_contents, constants))
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
) -> Callable[..., int]:
    """Return a built-in function for single states: of the nonempty inputs and the results, in arrays of `number`.

    It returns the entry's status, or BAD_LAYOUT for arguments that are not such arrays of these shapes. All who
    ask for the same get the same function. Raises UnsupportedError where there is no straight-line code. Cost: as
    `batch_code`.
    """
    refuse_unusable()
    if not layout_is_known():
        raise UnsupportedError("this numpy keeps its arrays in memory in a way that is not known here")
    shapes = tuple(inputs), tuple(results)
    identity = (entry, number is np.float32, *shapes, *map(_contents, constants))
    return _functions.get(identity, lambda: _single_function(entry, constants, *shapes, number, identity))


def _single_function(
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[tuple[int, ...]],
    results: Sequence[tuple[int, ...]],
    number: type[np.floating],
    identity: tuple[Any, ...],
) -> Callable[..., int]:
    _, single, *others = identity
    sizes, counts = ([math.prod(shape) for shape in group] for group in (inputs, results))
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    key = repr((name, "single", kernel_hash(), single, *others))

    def write() -> Code:
        traced, quaternions = trace(entry, constants, sizes, counts), quaternion_places(entry, constants, sizes)
        return single_state(traced, inputs, results, lanes(single), quaternions)

    code = machine_code.linked(name, key.encode(), write)
    return builtin(entry.__name__, code.address("fast"), number, code)


def _contents(value: Any) -> Any:
    """What an array holds. A table that cannot be emit to is read once: later calls find the same bytes, hashed."""
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
    _, single, carried, invariant, made_as, *others = identity
    strategy, prefetched = made_as
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    width = lanes(single)

    key = repr((name, kernel_hash(), width, single, carried, invariant, made_as, *others)).encode()

    def write() -> Code:
        return emit(strategy, entry, constants, sizes, results, width, carried, invariant, prefetched)

    try:
        return BatchCode(machine_code.load(name, key, write), width)
    except UnsupportedError as error:
        return UnsupportedError(str(error))  # a new one, without the frames that the other comes from
