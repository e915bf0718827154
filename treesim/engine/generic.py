"""The generic engine: compiles a kernel's text with numba, once for all robots, and keeps the result on disk.

A kernel stays a plain Python function. Compiling one makes a copy of it in a namespace in which every kernel that it
calls is compiled too and `treesim.kernels.numbers` is replaced by `math`; the entry (the function that Python calls)
gets a fixed signature from its annotations, so a call costs well below a microsecond and no argument can set off a
second compilation.
"""

from __future__ import annotations

import math
import os
import pickle
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import FunctionType
from typing import Any

from . import disk_cache
from .admission import admitted, is_entry
from .ctrl_c import ctrl_c_later
from .threads import lock_across_forks
from .trigonometry import sincos

KERNELS = "treesim.kernels"
NUMBA_SETTINGS = ".numba_config.yaml"  # in the working directory
MATH = {
    "sin": math.sin, "cos": math.cos, "sqrt": math.sqrt, "atan2": math.atan2,
    "exp": math.exp, "tanh": math.tanh, "maximum": max, "minimum": min, "absolute": abs,
}  # fmt: skip
# contract: fused multiply-add; nsz, arcp: signs of zeros and a / b = a * (1 / b) may differ in the last digit;
# nnan, ninf: lets 0 * x vanish. What looks for NaN (kernels.status) is compiled without these two.
HONEST = {"contract", "nsz", "arcp"}
FAST = HONEST | {"nnan", "ninf"}
SUMS = HONEST | {"reassoc"}  # the long sum over all results, in which only NaN matters, may be taken in any order
FLAGS = {f"{KERNELS}.status": SUMS, sincos.__module__: HONEST}  # by module; of all others FAST
# forced inlining: tuples then live in registers, which makes the kernels 1.4 to 2 times faster; no wrappers for Python
# and C, which take those tuples apart: they would double the time of compiling
PART: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# of numba's: change machine code, or need a library of vector functions that only some installations have
SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")


_lock = lock_across_forks()
_entries: dict[Callable[..., Any], Any] = {}
_helpers: dict[Callable[..., Any], Any] = {}
_parts: dict[Callable[..., Any], Any] = {}  # what kernels call, which may be entries too: of no use to Python


def less(x, y):  # type: ignore[no-untyped-def]
    """1 if x < y, else 0."""
    return 1.0 if x < y else 0.0


def in_vectors() -> bool:
    """Return that loops over neighbouring numbers become vector instructions."""
    return True


OWN: dict[str, Callable[..., Any]] = {"sincos": sincos, "less": less, "in_vectors": in_vectors}  # math has none


def compiled(entry: Callable[..., int]) -> Any:
    """Return a kernel entry, its checks (`admission`) included, compiled with all it calls on first use.

    With NUMBA_DISABLE_JIT=1 it runs as plain Python. Cost: seconds when the disk cache holds nothing for these sources,
    milliseconds when it does.
    """
    found = _entries.get(entry)
    if found is not None:
        return found
    with ctrl_c_later(), _lock:
        if entry not in _entries:
            _entries[entry] = _compile_entry(entry)
    return _entries[entry]


def runs_compiled() -> bool:
    """Whether kernels are compiled: not with NUMBA_DISABLE_JIT=1, or as much in numba's own file of settings.

    numba is asked, but not imported for this where nobody can have set anything: that takes longer than a robot's first
    simulated step from kept machine code.
    """
    if "numba" not in sys.modules and "NUMBA_DISABLE_JIT" not in os.environ and not os.path.exists(NUMBA_SETTINGS):
        return True
    from numba.core import config

    return not config.DISABLE_JIT  # type: ignore[attr-defined]


def _compile_entry(entry: Any) -> Any:
    if not runs_compiled():
        return admitted(entry, entry) if is_entry(entry) else entry
    import numba

    signature, flags = _signature(entry), FLAGS.get(entry.__module__, FAST)
    kept = KeptFunction(entry, str(signature))
    with _announced(entry.__module__.rpartition(".")[2] + "." + entry.__name__, kept):
        kernel = admitted(entry, compile_part(entry)) if is_entry(entry) else entry
        function: Any = numba.njit(nogil=True, error_model="numpy", fastmath=flags)(_linked(kernel))
        function._cache = kept
        function.compile(signature)
        function.disable_compile()
        return function


def _signature(entry: Any) -> Any:
    from numba import types

    kinds = {
        "Integer": types.int64,
        "TableOfIntegers": types.Array(types.int64, 1, "C", readonly=True),
        "TableOfReals": types.Array(types.float64, 1, "C", readonly=True),
        "Reals": types.float64[::1],
        "Integers": types.int64[::1],
    }
    arguments = [kinds[kind] for label, kind in entry.__annotations__.items() if label != "return"]
    return types.int64(*arguments)


def is_kernel(value: Any, caller: Any) -> bool:
    """Return whether what a kernel calls is one, too: a function of treesim's kernels, or of the caller's own file."""
    return isinstance(value, FunctionType) and (
        value.__module__.startswith(KERNELS) or value.__module__ == caller.__module__
    )


def _linked(function: Any) -> FunctionType:
    """A copy of a kernel whose globals are compiled kernels."""
    namespace = dict(function.__globals__)
    for label in function.__code__.co_names:
        value = namespace.get(label)
        if is_kernel(value, function):
            namespace[label] = compile_part(value)
    copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def compile_callback(function: Any, entry: Any, replaced: dict[str, Any], signature: Any) -> Any:
    """Return a function compiled for being called from C, kept on disk.

    entry: what it calls as `entry`. replaced: compiled functions to put in the place of other names in `function` and
    in what it calls in its own module; the latter is compiled once a process, so these must be the same at every call.
    """
    from numba.core.ccallback import CFunc

    label = f"{function.__name__}_of_{entry.__module__}_{entry.__name__}".replace(".", "_")
    types, options = (signature.args, signature.return_type), {"error_model": "numpy"}
    with _lock:
        kept = KeptFunction(entry, function.__name__, str(signature))
        linked = function if kept.whole else _with_replaced(function, replaced | {"entry": compiled(entry)}, label)
        callback: Any = CFunc(linked, types, locals={}, options=options)
        callback._cache = kept
        callback.compile()
        return callback


def _with_replaced(function: Any, replaced: dict[str, Any], label: str) -> FunctionType:
    namespace = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = namespace.get(name)
        if name in replaced:
            namespace[name] = replaced[name]
        elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
            namespace[name] = _helper(value, replaced)
    copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = label, function.__module__
    return copy


def _helper(function: Any, replaced: dict[str, Any]) -> Any:
    """What functions called from C have in common, compiled."""
    import numba

    if function not in _helpers:
        _helpers[function] = numba.njit(forceinline=True)(_with_replaced(function, replaced, function.__name__))
    return _helpers[function]


def compile_part(function: Any) -> Any:
    """Return a kernel compiled to become part of what calls it."""
    import numba

    if function.__module__ == f"{KERNELS}.numbers":
        return MATH.get(function.__name__) or compile_part(OWN[function.__name__])
    if function not in _parts:
        flags = FLAGS.get(function.__module__, FAST)
        compile_function = numba.njit(nogil=True, error_model="numpy", fastmath=flags, **PART)
        _parts[function] = compile_function(_linked(function))
    return _parts[function]


class KeptFunction:
    """A function's code as it is kept on disk, in the place of the cache of one of numba's compiled functions.

    numba's own cache runs what a damaged file holds, and fails with the disk. entry: the kernel's entry that it is, or
    calls; identity: what else decides which code it is, beside sources, compilers and processor.
    """

    def __init__(self, entry: Any, *identity: str) -> None:
        source = _source(entry)
        decisive = repr((disk_cache.kernel_hash(), _compilers(), entry.__module__, entry.__qualname__, *identity))
        self._name = None if source is None else "functions/" + disk_cache.digest(decisive.encode(), source)
        self._content = disk_cache.read(self._name) if self._name else None

    @property
    def whole(self) -> bool:
        """Whether there is code that fits."""
        return self._content is not None

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return numba's compilation result, or None: called by numba."""
        from numba.core.compiler import CompileResult

        target.refresh()
        content, self._content = self._content, None
        rebuild: Any = CompileResult._rebuild
        return None if content is None else rebuild(target, *pickle.loads(content))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compilation result, if it does not hold addresses of this process: called by numba."""
        from numba.core import serialize

        dumps: Any = serialize.dumps
        if self._name and not result.library.has_dynamic_globals:
            disk_cache.write(self._name, dumps(result._reduce()))


def _source(entry: Any) -> bytes | None:
    """An entry's declaration, and the text of the file that it comes from, which need not be one of treesim's. None if
    it comes from no file."""
    declared = repr(getattr(entry, "signature", None)).encode()
    try:
        return declared + Path(getattr(entry, "kernel", entry).__code__.co_filename).read_bytes()
    except OSError:
        return None


@lru_cache(maxsize=1)
def _compilers() -> tuple[Any, ...]:
    """Everything about this processor and the libraries that compile for it on which kept code of numba's depends."""
    import llvmlite
    import numba
    import numpy as np
    from numba.core import config
    from numba.core.registry import cpu_target

    versions = [library.__version__ for library in (numba, llvmlite, np)]
    settings = [getattr(config, name, None) for name in SETTINGS]
    return EXTENSION_SUFFIXES[0], *versions, *settings, *cpu_target.target_context.codegen().magic_tuple()


@contextmanager
def _announced(name: str, kept: KeptFunction) -> Any:
    """Say on stderr that a kernel is being compiled, if the disk cache has nothing for it."""
    if kept.whole or os.environ.get("TREESIM_QUIET"):
        yield
        return
    print(f"treesim: compiling {name} (once for all robots) ...", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        yield
    finally:
        print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
