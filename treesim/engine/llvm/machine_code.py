"""Machine code from LLVM IR, kept on disk: compile for this processor, load, call.

A kept object is found by a digest of the robot, kernels, processor and compiler that it was made for (`object_cache`).
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ..threads import lock_across_forks
from . import background_compilation, object_cache, object_code, processor_levels
from .chunks import APART
from .fused_multiply_add import emulated
from .object_code import CompileRequest
from .straight_line import Code

REFUSED = 2**64 - 1  # in the place of the size of the workspace: there is no code, but the reason why

_begun: dict[str, Begun] = {}  # by the file that keeps them
_beginning = lock_across_forks()


class Processor(NamedTuple):
    """What code is compiled for: LLVM's target, processor and features, the width of its vectors in bytes, and whether
    it has fused multiply-adds."""

    triple: str
    name: str
    features: str
    vector_bytes: int
    fuses: bool


@lru_cache(maxsize=1)
def processor() -> Processor:
    """Return this machine's processor as LLVM sees it, or what $TREESIM_CPU asks for (`processor_levels`) instead.

    Raises ArgumentError if that is not known here, or is more than this machine's processor has.
    """
    from llvmlite import binding

    triple, features = binding.get_default_triple(), binding.get_host_cpu_features()
    if level := processor_levels.wanted(features):
        return Processor(triple, level.name, "", level.vector_bytes, level.fuses)
    width = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    fuses = features.get("fma", not triple.startswith(("x86_64", "i686")))
    return Processor(triple, binding.get_host_cpu_name(), features.flatten(), width, fuses)


class Linked(NamedTuple):
    """Code in memory: the engine that owns it, and the vectors of workspace it needs."""

    engine: Any
    workspace: int
    keep: Any

    def address(self, symbol: str) -> int:
        """Return where a function begins."""
        found: int = self.engine.get_function_address(symbol)
        return found


class Loaded(NamedTuple):
    """The address of a loaded function `share(job)`, the vectors of workspace it needs for each thread, and what must
    stay alive as long as it may be called."""

    share: int
    workspace: int
    keep: Any


def load(name: str, identity: bytes, write: Callable[[], Code]) -> Loaded:
    """Return the function `share` of the IR that `write` gives; see `linked`."""
    code = linked(name, identity, write)
    return Loaded(code.address("share"), code.workspace, code)


def linked(name: str, identity: bytes, write: Callable[[], Code]) -> Linked:
    """Return the code of the IR that `write` gives, from the disk or compiled for this processor.

    name: for announcements. identity: everything that determines the IR. A compilation that takes more than a second
    is announced on stderr. Raises UnsupportedError, now and, without trying, later, if `write` does. Cost: about 20 us
    per operation of straight-line code when it must be compiled, a few milliseconds when not.
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
    """An object file in memory, and what must stay alive with it."""
    from llvmlite import binding

    machine = _target(processor())
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, machine


def begin(identity: bytes, write: Callable[[], Code]) -> None:
    """Let a second process compile what `linked` will be asked for soon, unless that is kept on the disk, or there is
    no core for it. Raises what `write` does."""
    if not background_compilation.possible():
        return
    file = _file(identity)
    with _beginning:
        if file in _begun or object_cache.read(file) is not None:
            return
        start = time.perf_counter()
        with _no_collection():
            source = write()
        compilation = background_compilation.Compilation(_order(source.text, source))
        _begun[file] = Begun(source.workspace, compilation, time.perf_counter() - start)


class Begun(NamedTuple):
    """A compilation in a second process: the workspace that the code needs, what comes, and the seconds that writing it
    took."""

    workspace: int
    compilation: background_compilation.Compilation
    seconds: float


class CompiledObject(NamedTuple):
    """Compiled code as it lies on the disk, and the workspace it needs; the code of a module apart, and how many of its
    functions the first calls; or REFUSED and why there can be none."""

    workspace: int
    code: bytes
    apart: bytes = b""
    called: int = 0

    def content(self) -> bytes:
        """Return what a file keeps."""
        return b"".join([*(n.to_bytes(8, "little") for n in (self.workspace, len(self.code), self.called)), *self[1:3]])

    @classmethod
    def read(cls, content: bytes) -> CompiledObject:
        """Return what a file has kept."""
        workspace, size, called = (int.from_bytes(content[k : k + 8], "little") for k in (0, 8, 16))
        return cls(workspace, content[24 : 24 + size], content[24 + size :], called)


def _file(identity: bytes) -> str:
    """The name of the file that keeps the code of an identity, for this processor and this compiler."""
    from llvmlite import binding

    return "objects/" + object_cache.digest(repr((processor(), binding.llvm_version_info)).encode(), identity)


def _target(here: Processor) -> Any:
    return object_code.target_machine(here.triple, here.name, here.features)


def _order(text: str, source: Code) -> CompileRequest:
    here = processor()
    if not here.fuses:
        text = emulated(text)
    return CompileRequest(text, here.triple, here.name, here.features, source.optimize, source.unrolled)


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
    """Tell of a compilation on stderr that took more than a second, unless $TREESIM_QUIET is set."""
    if seconds > 1 and not os.environ.get("TREESIM_QUIET"):
        print(f"treesim: compiled {name} in {seconds:.1f} s (kept for later)", file=sys.stderr, flush=True)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Let Python's collector rest: syntax trees and traces are many small objects, which it would look through again
    and again, for a third of the time that writing a module takes."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


def _compile(write: Callable[[], Code]) -> CompiledObject:
    with _no_collection():
        source = write()
        own, apart = (_order(text, source) for text in (source.text, source.apart))
        if not source.apart:
            return CompiledObject(source.workspace, object_code.object_code(own))
        there = background_compilation.QueuedCompilation(apart)
        return CompiledObject(source.workspace, object_code.object_code(own), there.result(), source.called)
