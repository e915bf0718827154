"""The specialised engine: a kernel's text traced for one robot, as machine code that works on many states at once.

Large batches come here from `evaluate`. Code is made once per robot, kernel and number type, in a fraction of a second
(for thousands of bodies in a few), and kept on disk, in one of two forms, see `forms`. Kernels whose course depends on
their inputs' values, or that take more than 600,000 operations, stay with the generic engine.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..kernels.status import FINE, NOT_FINITE
from . import machine_code
from .fastcall import builtin, layout_is_known
from .forms import wanted, written
from .generic import kernel_hash, runs_compiled
from .single_state import single_state
from .straight_line import Code, Lanes
from .trace import trace

STATES = 512  # batches from this size on are worth specialised code
KEPT = 64  # codes in memory

_codes: OrderedDict[tuple[Any, ...], BatchCode | None] = OrderedDict()
_lock = threading.RLock()


class BatchCode:
    """Machine code of one kernel entry for one robot, on lanes of double or single precision."""

    def __init__(self, loaded: machine_code.Loaded, lanes: Lanes) -> None:
        self._loaded, self.lanes = loaded, lanes

    def run(self, arrays: Sequence[np.ndarray], first: int, last: int, steps: int = 1) -> int:
        """Work on states first .. last - 1 of contiguous arrays; return FINE, or NOT_FINITE."""
        size = (self._loaded.workspace + 1) * self.lanes.bytes
        memory = np.empty(size, np.uint8)
        aligned = -(-memory.ctypes.data // self.lanes.bytes) * self.lanes.bytes
        addresses = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        wrong = self._loaded.run(first, last, steps, aligned, ctypes.addressof(addresses))
        return NOT_FINITE if wrong else FINE


def lanes(single: bool) -> Lanes:
    """Return the widest vectors of this processor."""
    return Lanes(single, machine_code.processor().vector_bytes // (4 if single else 8))


@lru_cache(maxsize=1)
def usable() -> bool:
    """Whether this engine can run: kernels are compiled at all, and LLVM knows untyped pointers."""
    try:
        refuse_unusable()
    except UnsupportedError:
        return False
    return True


def refuse_unusable() -> None:
    """Raise UnsupportedError, telling why, where this engine cannot run."""
    if not runs_compiled():
        raise UnsupportedError("NUMBA_DISABLE_JIT is set: there is no specialised code")
    from llvmlite import binding

    if binding.llvm_version_info < (17, 0, 0):
        found = ".".join(map(str, binding.llvm_version_info))
        raise UnsupportedError(f"specialised code needs LLVM 17, that is llvmlite 0.46 or newer; found LLVM {found}")


def batch_code(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    single: bool,
    fed_back: int = 0,
) -> BatchCode | None:
    """Return the code of an entry for given constants and sizes of one state's arrays, or None if there is none.

    fed_back: how many of the first inputs are, in the next step, the first results (see straight_line).
    Raises ArgumentError if $TREESIM_CODE asks for no form there is. Cost: 0.1 to 1 s the first time ever, 4 us per
    operation of very large robots, milliseconds the first time in a process, then microseconds.
    """
    if not usable():
        return None
    identity = (entry, single, fed_back, wanted(), tuple(sizes), tuple(results), *map(_contents, constants))
    with _lock:
        if identity not in _codes:
            _codes[identity] = _make(entry, constants, sizes, results, identity)
            if len(_codes) > KEPT:
                _codes.popitem(last=False)
        _codes.move_to_end(identity)
        return _codes[identity]


def single_code(
    entry: Callable[..., int],
    constants: Sequence[Any],
    inputs: Sequence[tuple[int, ...]],
    results: Sequence[tuple[int, ...]],
    number: type[np.floating],
) -> Callable[..., int]:
    """Return a built-in function for single states: of the nonempty inputs and the results, in arrays of `number`.

    It returns the entry's status, or MISFIT for arguments that are not such arrays of these shapes.
    Raises UnsupportedError where there is no straight-line code. Cost: as `batch_code`.
    """
    refuse_unusable()
    if not layout_is_known():
        raise UnsupportedError("this numpy keeps its arrays in memory in a way that is not known here")
    single = number is np.float32
    sizes, counts = ([math.prod(shape) for shape in group] for group in (inputs, results))
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    key = repr((name, "single", kernel_hash(), single, tuple(inputs), tuple(results), *map(_contents, constants)))

    def write() -> Code:
        return Code(single_state(trace(entry, constants, sizes, counts), inputs, results, lanes(single)), 0)

    code = machine_code.linked(name, key.encode(), write)
    return builtin(entry.__name__, code.address("door"), number, code)


def _contents(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value


def _make(
    entry: Callable[..., int],
    constants: Sequence[Any],
    sizes: Sequence[int],
    results: Sequence[int],
    identity: tuple[Any, ...],
) -> BatchCode | None:
    _, single, fed_back, form, *_ = identity
    name = f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"
    width = lanes(single)
    key = repr((name, kernel_hash(), width, *identity[1:])).encode()

    def write() -> Code:
        return written(form, entry, constants, sizes, results, width, fed_back)

    try:
        return BatchCode(machine_code.load(name, key, write), width)
    except UnsupportedError:
        return None
