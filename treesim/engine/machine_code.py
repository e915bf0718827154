"""Machine code from LLVM IR, kept on disk: compile for this processor, load, call.

A kept object is used only if it is whole and was made for this very text, processor and compiler: the file begins with
a digest of all that, and of the object itself; anything else is compiled anew and replaced.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .generic import cache_directory

MAGIC = b"treesim object 1\n"


class Processor(NamedTuple):
    """What code is compiled for: LLVM's target, processor and features, and the width of its vectors in bytes."""

    triple: str
    name: str
    features: str
    vector_bytes: int


@lru_cache(maxsize=1)
def processor() -> Processor:
    """Return this machine's processor as LLVM sees it."""
    from llvmlite import binding

    _initialize()
    features = binding.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx2") else 16
    return Processor(binding.get_default_triple(), binding.get_host_cpu_name(), features.flatten(), width)


@lru_cache(maxsize=1)
def _initialize() -> None:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


class Loaded(NamedTuple):
    """A loaded function, and what must stay alive as long as it may be called."""

    call: Callable[..., int]
    keep: Any


def load(text: str) -> Loaded:
    """Return the function `run(i64, i64, ptr, ptr) -> i64` of a module of LLVM IR, compiled or from the disk.

    Cost: about 0.1 ms per operation of straight-line code when it must be compiled, a few milliseconds when not.
    """
    from llvmlite import binding

    here = processor()
    key = _digest(repr((here, binding.llvm_version_info)).encode(), text.encode())
    path = cache_directory() / "objects" / key
    code = _read(path, key)
    if code is None:
        code = _compile(text, here)
        _write(path, key, code)
    machine = _target(here)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
    engine.finalize_object()
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
    )
    return Loaded(signature(engine.get_function_address("run")), (engine, machine))


def _target(here: Processor) -> Any:
    from llvmlite import binding

    return binding.Target.from_triple(here.triple).create_target_machine(
        cpu=here.name, features=here.features, opt=2, reloc="pic", jit=True
    )


def _compile(text: str, here: Processor) -> bytes:
    from llvmlite import binding

    module = binding.parse_assembly(text)
    module.triple = here.triple
    return bytes(_target(here).emit_object(module))


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _read(path: Path, key: str) -> bytes | None:
    """A kept object, or None if there is none that is whole and for this key."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = MAGIC + key.encode() + b"\n"
    start = len(head) + 65
    code = content[start:]
    whole = content.startswith(head) and content[len(head) : start] == _digest(code).encode() + b"\n"
    return code if whole else None


def _write(path: Path, key: str, code: bytes) -> None:
    """Keep an object; a place that cannot be written to costs only time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(MAGIC + key.encode() + b"\n" + _digest(code).encode() + b"\n" + code)
        os.replace(file.name, path)
    except OSError:
        return
