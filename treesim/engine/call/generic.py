"""Generic engine: compiles a kernel's source once for all robots, with a cache on disk.

An entry, its checks (`argument_checks`) and its fast call (`fastcall`) are compiled as one module
(`frontend`), in which LLVM inlines everything that the entry calls: tuples then live in registers.
"""

from __future__ import annotations

import ctypes
import linecache
import os
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from ...kernels.entries.entry import MADE, fuses, is_called_rarely
from ..argument_checks import admitted, is_entry
from ..frontend.arena import KEPT
from ..frontend.fastcall import builtin, fast_kernel, has_fast_entry
from ..frontend.module import KINDS, Module, entry_types, fast_function, job_function
from ..frontend.object_layout import address
from ..frontend.types import INTEGER
from ..llvm import machine_code, object_cache
from ..llvm.object_cache import kernel_hash
from ..llvm.straight_line import Code
from ..llvm.webassembly import HEAP, WasmModule, binding_version, webassembly_of
from ..threads import lock_across_forks
from .defer_interrupt import ctrl_c_later
from .kept_memory import KeptMemory

_lock = lock_across_forks()
_entries: dict[Callable[..., Any], Any] = {}


def runs_compiled() -> bool:
    """Return whether kernels are compiled; False if NUMBA_DISABLE_JIT=1, a common switch in Python."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def compiled(entry: Callable[..., int]) -> Any:
    """Return a kernel entry with its checks (`argument_checks`), compiled on first use.

    With NUMBA_DISABLE_JIT=1 it runs as plain Python. Raises UnsupportedError, naming the line, for a kernel
    that cannot be compiled. Cost: 0.1 to 5 s without code for these sources in the disk cache, milliseconds
    with it.
    """
    found = _entries.get(entry)
    if found is not None:
        return found
    with ctrl_c_later(), _lock:
        if entry not in _entries:
            whole = _checked(entry)
            _entries[entry] = EntryCode(entry, whole) if runs_compiled() else whole
    return _entries[entry]


def compiled_soon(entry: Any) -> None:
    """Start to compile an entry in a background process, if possible, before `compiled` is called."""
    if runs_compiled() and entry not in _entries:
        with ctrl_c_later(), _lock:
            whole = _checked(entry)
            machine_code.begin(_identity(entry), lambda: _written(entry, whole))


def _checked(entry: Any) -> Any:
    """Return an entry that works on states with its checks, any other entry unchanged."""
    return admitted(entry) if is_entry(entry) else entry


def bound_call(entry: Any, *first: Any) -> Callable[..., int]:
    """Return the compiled entry's call with these first arguments, arrays whose contents may change.

    It saves their validation, about 0.4 us each. Raises as a call of `compiled(entry)`.
    """
    code = compiled(entry)
    return code.bound_to(*first) if isinstance(code, EntryCode) else partial(code, *first)


class EntryCode:
    """Machine code of an entry for all robots, called as the entry is, with arrays of one axis.

    Raises TypeError for arrays of another type, number of axes or layout, and for read-only ones that are no
    tables. `fast`: the built-in function for single states (`fastcall`), or None. `address`: that of the
    function `run(job)`.
    """

    def __init__(self, entry: Any, whole: Any) -> None:
        kinds = [kind for label, kind in entry.__annotations__.items() if label != "return"]
        self.__name__ = entry.__name__
        # of each argument: the type of an array's numbers, or None of an integer, and whether it may be written to
        self._kinds = [(_element(KINDS[kind]), kind in ("Reals", "Integers")) for kind in kinds]
        code = machine_code.linked(_name(entry), _identity(entry), lambda: _written(entry, whole))
        self._keep = keep = code, KeptMemory(code.engine.get_global_value_address(KEPT))
        self.address = code.address("run")
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.address)
        self.fast = builtin(entry.__name__, code.address("fast"), np.float64, keep) if has_fast_entry(entry) else None

    def __call__(self, *arguments: Any) -> int:
        """Run the entry and return its status."""
        return int(self._run(self._words(arguments, self._kinds)))

    def bound_to(self, *first: Any) -> Callable[..., int]:
        """Return the call with these first arguments, which are validated once; arrays are read at every call."""
        words, rest = self._words(first, self._kinds[: len(first)]), self._kinds[len(first) :]

        def call(*arguments: Any, memory: tuple[Any, ...] = first) -> int:
            return int(self._run(words + self._words(arguments, rest) if rest or arguments else words))

        return call

    def _words(self, arguments: Sequence[Any], kinds: Sequence[tuple[np.dtype | None, bool]]) -> bytes:
        """Convert arguments to machine words: address and size of arrays, values of integers."""
        words: list[int] = []
        for x, (number, written) in zip(arguments, kinds, strict=True):
            if number is None:
                words.append(int(x))
            else:
                if not (type(x) is np.ndarray and x.ndim == 1 and (x.dtype is number or x.dtype == number)):
                    self._refuse(x)
                if not (x.flags.carray or (not written and x.flags.c_contiguous and x.flags.aligned)):
                    self._refuse(x)
                words += (address(x), x.size)
        return struct.pack(f"{len(words)}q", *words)

    def _refuse(self, x: Any) -> NoReturn:
        raise TypeError(f"{self.__name__}: {x!r} is no such array as it takes")


def _element(kind: Any) -> np.dtype | None:
    """Return the type of numbers of an array's kind, None of integers."""
    return None if kind is INTEGER else np.dtype(np.int64 if kind.element is INTEGER else np.float64)


def _name(entry: Any) -> str:
    return f"{entry.__module__.rpartition('.')[2]}.{entry.__name__}"


def _identity(entry: Any) -> bytes:
    """Return everything that determines an entry's code, as cache key."""
    declared = entry.__annotations__, getattr(entry, "signature", None), has_fast_entry(entry), fuses(entry)
    rare = is_called_rarely(entry)
    return (repr((_name(entry), kernel_hash(), *declared, rare, _closures(entry))) + _text(entry)).encode()


def kernel_webassembly(entry: Any) -> WasmModule:
    """Return an entry with its checks as a WebAssembly module, cached on disk.

    It exports call(job, memory), which returns the entry's status. job: address of 64-bit words, address and
    size of each argument. memory: address of free memory, which grows if necessary. It imports sin
    and cos of doubles where it calls them, and the imports of WasmModule. Cost: as `compiled`.
    """
    name = _name(entry)
    identity = repr((name, kernel_hash(), entry.__annotations__, _closures(entry))) + _text(entry)
    file = "webassembly/" + object_cache.digest(repr(binding_version()).encode(), identity.encode())
    content = object_cache.read(file)
    if content is not None:
        return WasmModule(content[8:], int.from_bytes(content[:8], "little"))
    start = time.perf_counter()
    module, run = _with_job(entry, admitted(entry), fuses=False)
    made = webassembly_of(_optimized(module, module.text(run, HEAP, memory="")), ["call"])
    machine_code.announce(f"{name} for WebAssembly", time.perf_counter() - start)
    object_cache.write(file, made.data_bytes.to_bytes(8, "little") + made.code)
    return made


def _with_job(entry: Any, whole: FunctionType, fuses: bool = True) -> tuple[Module, str]:
    """Return the module of an entry, and the function that calls it with the words of a job."""
    module, types = Module({*_files(entry), whole.__code__.co_filename}, fuses), entry_types(entry)
    module.apart.add(whole)
    return module, job_function(module.compiled(whole, tuple(types)), types)


def _written(entry: Any, whole: FunctionType) -> Code:
    """Return the IR of an entry's module: the entry and its calls from Python."""
    module, run = _with_job(entry, whole, fuses(entry))
    functions = [run]
    if has_fast_entry(entry):
        functions.append(fast_function(module.compiled(fast_kernel(entry, whole), (INTEGER,) * 3)))
    rare = is_called_rarely(entry)
    return _optimized(module, module.text(*functions))._replace(quick=rare, optimize=not rare)


def _optimized(module: Module, text: str) -> Code:
    """Return the IR of a module with options for LLVM's loop optimisations.

    Modules without blocks of six numbers do not profit from unrolled loops, which would cost a fifth of the
    compile time; nor do the longest modules.
    """
    return Code(text, 0, optimize=True, unrolled=module.in_blocks() and not module.is_longest())


def _functions(entry: Any) -> list[FunctionType]:
    """Return the functions of an entry: itself, and those, also in tuples, of generated functions and closures."""
    found: dict[FunctionType, None] = {}
    left: list[Any] = [entry, getattr(entry, "kernel", entry)]
    while left:
        function = left.pop()
        if isinstance(function, tuple):  # variants of a step are tuples of functions
            left += function
        if not isinstance(function, FunctionType) or function in found:
            continue
        found[function] = None
        left += [cell.cell_contents for cell in function.__closure__ or ()]
        if function.__code__.co_filename.startswith(MADE):
            left += [x for name, x in function.__globals__.items() if name == "kernel" or name.startswith("scratch_")]
    return list(found)


def _closures(entry: Any) -> list[str]:
    """Return the closure variables of an entry's functions; those that are functions or modules by name."""
    known = [(x, cell.cell_contents) for x in _functions(entry) for cell in x.__closure__ or ()]
    return [f"{x.__qualname__} {_named(value)}" for x, value in known]


def _named(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_named, value))})"
    if isinstance(value, ModuleType):
        return value.__name__
    return f"{value.__module__}.{value.__name__}" if isinstance(value, FunctionType) else repr(value)


def _files(entry: Any) -> list[str]:
    """Return the source files of an entry's functions."""
    return sorted({function.__code__.co_filename for function in _functions(entry)})


def _text(entry: Any) -> str:
    """Return the source of an entry outside treesim's kernels: it calls only these, and functions of these files."""
    return "".join(line for name in _files(entry) for line in linecache.getlines(name))
