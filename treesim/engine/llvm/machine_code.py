"""Machine code from LLVM IR, cached on disk: compile for this processor, load, call.

An object file's name is a digest of robot, kernels, processor and compiler (`object_cache`).
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import ArgumentError, UnsupportedError, quoted
from ...system.memory import without_collection
from ..frontend import object_layout
from ..frontend.arena import fill_byte
from ..frontend.bounds import checks_bounds
from ..threads import lock_across_forks
from . import background_compilation, object_cache, object_code, processor_levels
from .chunks import APART
from .fused_multiply_add import emulated
from .object_code import CompileRequest
from .straight_line import Code

OPTIMIZATION = "TREESIM_OPT"
REFUSED = 2**64 - 1  # instead of the workspace's size: there is no code, but a reason
# what code calls on Windows: functions of the C library, and the one that reserves more than a page of stack
WINDOWS_LIBRARY = {
    "ucrtbase": ("cos", "cosf", "fma", "fmaf", "free", "malloc", "memcpy", "memmove", "memset", "sin", "sinf"),
    "ntdll": ("__chkstk",),
}

_begun: dict[str, Begun] = {}  # by the name of their file
_beginning = lock_across_forks()


class Processor(NamedTuple):
    """Target of a compilation.

    triple, name, features: LLVM's. vector_bytes: width of its vectors. fuses: whether it has fused
    multiply-adds. level: of LLVM's code generation.
    """

    triple: str
    name: str
    features: str
    vector_bytes: int
    fuses: bool
    level: int = 1


def optimization_level() -> int:
    """Return the level in $TREESIM_OPT, 1 if it is not set.

    At level 0, LLVM generates code in a third of the time, which runs several times slower. Results have the same bits.
    """
    text = os.environ.get(OPTIMIZATION) or "1"
    if text not in ("0", "1"):
        raise ArgumentError(f"{OPTIMIZATION} is {quoted(text)}, but must be 0 or 1")
    return int(text)


@lru_cache(maxsize=1)
def processor() -> Processor:
    """Return this machine's processor as detected by LLVM, or the level of $TREESIM_CPU (`processor_levels`).

    Raises ArgumentError if that level is unknown or not supported by this processor, or for a wrong $TREESIM_OPT.
    """
    from llvmlite import binding

    triple, features = binding.get_default_triple(), binding.get_host_cpu_features()
    optimized = optimization_level()
    if level := processor_levels.wanted(triple, features):
        return Processor(triple, level.processor, level.features, level.vector_bytes, level.fuses, optimized)
    width = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    fuses = features.get("fma", not triple.startswith(("x86_64", "i686")))
    return Processor(triple, binding.get_host_cpu_name(), features.flatten(), width, fuses, optimized)


@lru_cache(maxsize=1)
def _add_library() -> None:
    """Give LLVM the addresses of WINDOWS_LIBRARY; on other systems it finds the C library's functions itself."""
    if sys.platform == "win32":
        from llvmlite import binding

        for library, names in WINDOWS_LIBRARY.items():
            loaded = ctypes.CDLL(library)
            for name in names:
                binding.add_symbol(name, ctypes.cast(loaded[name], ctypes.c_void_p).value)


class Linked(NamedTuple):
    """Code in memory: the engine that owns it, and the vectors of workspace that it needs."""

    engine: Any
    workspace: int
    keep: Any

    def address(self, symbol: str) -> int:
        """Return the address of a function."""
        return self.engine.get_function_address(symbol)


class Loaded(NamedTuple):
    """Loaded function `share(job)`.

    share: its address. workspace: vectors of workspace for each thread. keep: the owner of the code.
    """

    share: int
    workspace: int
    keep: Any


def load(name: str, identity: bytes, write: Callable[[], Code]) -> Loaded:
    """Return the function `share` of the IR that `write` returns; see `linked`."""
    code = linked(name, identity, write)
    return Loaded(code.address("share"), code.workspace, code)


def linked(name: str, identity: bytes, write: Callable[[], Code]) -> Linked:
    """Return the code of the IR that `write` returns, from the disk or compiled for this processor.

    name: for announcements. identity: everything that determines the IR. A compilation that takes more than a
    second is announced on stderr. Raises UnsupportedError if `write` does; this is cached, too. Cost: about 20
    us per operation of straight-line code for a compilation, a few milliseconds otherwise.
    """
    file = _file(identity)
    content = object_cache.read(file)
    kept = _made(name, file, write) if content is None else CompiledObject.read(content)
    if content is None:
        object_cache.write(file, kept.content())
    if kept.workspace == REFUSED:
        raise UnsupportedError(kept.code.decode())
    engine, *keep = _engine(kept.code)
    if kept.apart:
        other, *more = _engine(kept.apart)
        own, others = (one.get_global_value_address(APART) for one in (engine, other))
        ctypes.memmove(own, others, ctypes.sizeof(ctypes.c_void_p) * kept.called)
        keep += other, *more
    return Linked(engine, kept.workspace, keep)


def _engine(code: bytes) -> tuple[Any, Any]:
    """Load an object file; return the engine, and the target machine that must outlive it."""
    from llvmlite import binding

    _add_library()
    machine = _target(processor())
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, machine


def begin(identity: bytes, write: Callable[[], Code]) -> None:
    """Compile in a background process what `linked` will need soon; nothing if it is on disk or there is no free core.

    Raises what `write` does.
    """
    if not background_compilation.possible():
        return
    file = _file(identity)
    with _beginning:
        if file in _begun or object_cache.read(file) is not None:
            return
        start = time.perf_counter()
        with without_collection():
            source = write()
        compilation = background_compilation.Compilation(_order(source.text, source))
        _begun[file] = Begun(source.workspace, compilation, time.perf_counter() - start)


class Begun(NamedTuple):
    """Compilation in a background process.

    workspace: of the code. compilation: the running one. seconds: time that writing the IR took [s].
    """

    workspace: int
    compilation: background_compilation.Compilation
    seconds: float


class CompiledObject(NamedTuple):
    """Compiled code as stored on disk.

    workspace: vectors that it needs, or REFUSED with the reason as `code`. apart: code of the second module.
    called: number of its functions that the first module calls.
    """

    workspace: int
    code: bytes
    apart: bytes = b""
    called: int = 0

    def content(self) -> bytes:
        """Return the contents of its file."""
        return b"".join([*(n.to_bytes(8, "little") for n in (self.workspace, len(self.code), self.called)), *self[1:3]])

    @classmethod
    def read(cls, content: bytes) -> CompiledObject:
        """Parse the contents of a file."""
        workspace, size, called = (int.from_bytes(content[k : k + 8], "little") for k in (0, 8, 16))
        return cls(workspace, content[24 : 24 + size], content[24 + size :], called)


def _file(identity: bytes) -> str:
    """Return the name of the file for an identity, for this processor, this compiler and this Python's objects."""
    from llvmlite import binding

    here = processor(), binding.llvm_version_info, object_layout.LAYOUT, fill_byte(), checks_bounds()
    return "objects/" + object_cache.digest(repr(here).encode(), identity)


def _target(here: Processor) -> Any:
    return object_code.target_machine(here.triple, here.name, here.features, here.level)


def _order(text: str, source: Code) -> CompileRequest:
    here = processor()
    if not here.fuses:
        text = emulated(text)
    level = 0 if source.quick else here.level
    return CompileRequest(text, here.triple, here.name, here.features, source.optimize, source.unrolled, level)


def _made(name: str, file: str, write: Callable[[], Code]) -> CompiledObject:
    start = time.perf_counter()
    with _beginning:
        begun = _begun.pop(file, None)
    try:
        kept = _compile(write) if begun is None else CompiledObject(begun.workspace, begun.compilation.result())
    except UnsupportedError as error:
        return CompiledObject(REFUSED, str(error).encode())
    announce(name, time.perf_counter() - start + (0 if begun is None else begun.seconds))
    return kept


def announce(name: str, seconds: float) -> None:
    """Log a compilation that took more than a second."""
    if seconds > 1:
        logging.getLogger("treesim").info("compiled %s in %.1f s, and stored it for later processes", name, seconds)


def _compile(write: Callable[[], Code]) -> CompiledObject:
    with without_collection():
        source = write()
        own, apart = (_order(text, source) for text in (source.text, source.apart))
        if not source.apart:
            return CompiledObject(source.workspace, object_code.object_code(own))
        there = background_compilation.QueuedCompilation(apart)
        return CompiledObject(source.workspace, object_code.object_code(own), there.result(), source.called)
