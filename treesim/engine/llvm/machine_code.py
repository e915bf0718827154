"""Machine code from LLVM IR, kept on disk: compile for this processor, load, call.

A kept object is found by a digest of the robot, kernels, processor and compiler that it was made for (`object_cache`).
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from . import object_cache, processor_levels
from .straight_line import Code

REFUSED = 2**64 - 1  # in the place of the size of the workspace: there is no code, but the reason why


class Processor(NamedTuple):
    """What code is compiled for: LLVM's target, processor and features, and the width of its vectors in bytes."""

    triple: str
    name: str
    features: str
    vector_bytes: int


@lru_cache(maxsize=1)
def processor() -> Processor:
    """Return this machine's processor as LLVM sees it, or what $TREESIM_CPU asks for (`processor_levels`) instead.

    Raises ArgumentError if that is not known here, or is more than this machine's processor has.
    """
    from llvmlite import binding

    _initialize()
    triple, features = binding.get_default_triple(), binding.get_host_cpu_features()
    if level := processor_levels.wanted(features):
        return Processor(triple, level.name, "", level.vector_bytes)
    width = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    return Processor(triple, binding.get_host_cpu_name(), features.flatten(), width)


@lru_cache(maxsize=1)
def _initialize() -> None:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


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
    from llvmlite import binding

    here = processor()
    file = "objects/" + object_cache.digest(repr((here, binding.llvm_version_info)).encode(), identity)
    content = object_cache.read(file)
    kept = _made(name, write, here) if content is None else Kept(int.from_bytes(content[:8], "little"), content[8:])
    if content is None:
        object_cache.write(file, kept.workspace.to_bytes(8, "little") + kept.code)
    if kept.workspace == REFUSED:
        raise UnsupportedError(kept.code.decode())
    machine = _target(here)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(kept.code))
    engine.finalize_object()
    return Linked(engine, kept.workspace, machine)


class Kept(NamedTuple):
    """Compiled code as it lies on the disk, and the workspace it needs; or REFUSED and why there can be none."""

    workspace: int
    code: bytes


def _target(here: Processor) -> Any:
    from llvmlite import binding

    return binding.Target.from_triple(here.triple).create_target_machine(
        cpu=here.name, features=here.features, opt=2, reloc="pic", jit=True
    )


def _made(name: str, write: Callable[[], Code], here: Processor) -> Kept:
    start = time.perf_counter()
    try:
        with _no_collection():
            kept = _compile(write(), here)
    except UnsupportedError as error:
        return Kept(REFUSED, str(error).encode())
    announce(name, time.perf_counter() - start)
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


def _compile(source: Code, here: Processor) -> Kept:
    from llvmlite import binding

    machine = _target(here)
    module = binding.parse_assembly(source.text)
    module.triple, module.data_layout = here.triple, str(machine.target_data)
    if source.optimize:
        optimize(module, machine, source)
    return Kept(source.workspace, bytes(machine.emit_object(module)))


def optimize(module: Any, machine: Any, source: Code) -> None:
    """Let LLVM inline functions, and, where that gains something, take loops to vectors and unroll them."""
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.loop_unrolling = True, source.unrolled
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
