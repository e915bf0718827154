"""The generic engine: compiles a kernel's text with numba, once for all robots, and keeps the result on disk.

A kernel stays a plain Python function. Compiling one makes a copy of it in a namespace in which every kernel that it
calls is compiled too and `treesim.kernels.numbers` is replaced by `math`; the entry (the function that Python calls)
gets a fixed signature from its annotations, so a call costs well below a microsecond and no argument can set off a
second compilation.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..kernels.status import status_of, status_of_quaternions
from .admission import admitted, is_entry
from .ctrl_c import ctrl_c_later
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

_lock = threading.RLock()
_entries: dict[Callable[..., Any], Any] = {}  # machine code of entries
_checked: dict[Callable[..., Any], Any] = {}  # and with checks: what Python calls
_parts: dict[Callable[..., Any], Any] = {}  # what kernels call, which may be entries too: of no use to Python


def less(x, y):  # type: ignore[no-untyped-def]
    """1 if x < y, else 0."""
    return 1.0 if x < y else 0.0


def in_vectors() -> bool:
    """Return that loops over neighbouring numbers become vector instructions."""
    return True


OWN: dict[str, Callable[..., Any]] = {"sincos": sincos, "less": less, "in_vectors": in_vectors}  # math has none


def compiled(entry: Callable[..., int]) -> Callable[..., int]:
    """Return a kernel entry, its checks (`admission`) included, compiled with all it calls on first use.

    With NUMBA_DISABLE_JIT=1 it runs as plain Python. Cost: seconds when the disk cache
    holds nothing for these sources, milliseconds when it does.
    """
    found = _checked.get(entry)
    if found is None:
        code = machine_code(entry)
        checks = (machine_code(check) for check in (status_of, status_of_quaternions))
        found = _checked[entry] = admitted(entry, code, *checks) if is_entry(entry) else code
    return found


def machine_code(entry: Callable[..., int]) -> Any:
    """Return an entry alone, without checks, for callers with checks of their own; see `compiled`."""
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
    import numba

    if not runs_compiled():
        return entry
    with _disk_cache() as keep, _announced(entry.__module__.rpartition(".")[2] + "." + entry.__name__):
        flags = FLAGS.get(entry.__module__, FAST)
        compile_entry = numba.njit(_signature(entry), cache=keep, nogil=True, error_model="numpy", fastmath=flags)
        return compile_entry(_linked(entry))


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


def _linked(function: Any) -> FunctionType:
    """A copy of a kernel whose globals are compiled kernels."""
    namespace = dict(function.__globals__)
    for label in function.__code__.co_names:
        value = namespace.get(label)
        if isinstance(value, FunctionType) and value.__module__.startswith(KERNELS):
            namespace[label] = compile_part(value)
    copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def compile_callback(function: Any, replaced: dict[str, Any], label: str, signature: Any) -> Any:
    """Return a function compiled for being called from C, kept on disk under `label`.

    replaced: compiled functions to put in the place of names in `function` and in what it calls in its own module.
    """
    import numba

    with _disk_cache() as keep:
        return numba.cfunc(signature, cache=keep, error_model="numpy")(_with_replaced(function, replaced, label))


def _with_replaced(function: Any, replaced: dict[str, Any], label: str) -> FunctionType:
    import numba

    namespace = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = namespace.get(name)
        if name in replaced:
            namespace[name] = replaced[name]
        elif isinstance(value, FunctionType) and value.__module__ == function.__module__:
            namespace[name] = numba.njit(forceinline=True)(_with_replaced(value, replaced, name))
    copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = label, function.__module__
    return copy


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


@lru_cache(maxsize=1)
def kernel_hash() -> str:
    """Return a hash of all compiled sources: numba's own cache does not see an edit in a called function's file."""
    digest = hashlib.sha256()
    package: ModuleType = sys.modules[KERNELS]
    for folder in (Path(package.__path__[0]), Path(__file__).parent):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory() -> Path:
    """Return where machine code is kept: $TREESIM_CACHE_DIR, else the user's cache, by hash of the kernel sources."""
    root = os.environ.get("TREESIM_CACHE_DIR")
    if not root:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(home, "treesim")
    return Path(root) / kernel_hash()


@contextmanager
def _disk_cache() -> Any:
    """Yield whether machine code can be kept on disk, with numba's cache directory, a global setting, set to treesim's.

    Without a place of its own to write to, nothing is kept: numba's fallback beside the sources would not notice edits.
    """
    from numba.core import config

    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        usable = os.access(directory, os.W_OK)
    except OSError:
        usable = False
    settings: Any = config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(directory)
    try:
        yield usable
    finally:
        settings.CACHE_DIR = before


@contextmanager
def _announced(name: str) -> Any:
    """Say on stderr that a kernel is being compiled, if the disk cache has nothing for it."""
    directory = cache_directory()
    module, _, entry = name.partition(".")
    known = directory.is_dir() and any(directory.rglob(f"{module}.{entry}-*.nbi"))
    if known or os.environ.get("TREESIM_QUIET"):
        yield
        return
    print(f"treesim: compiling {name} (once for all robots) ...", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    try:
        yield
    finally:
        print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
