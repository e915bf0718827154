"""An object file from LLVM IR. This file is also run as a program, by `background_compilation`: it imports nothing of
treesim.

The program takes one line of JSON, all of an Order but its text, then the text; it writes the object file, framed.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any, NamedTuple

MARK = b"treesim object file\n"
SIZE = 8  # bytes of the size


class CompileRequest(NamedTuple):
    """IR text; LLVM's triple, processor and features that it is compiled for; whether LLVM is to inline and optimise
    it; whether loops are then unrolled."""

    text: str
    triple: str
    processor: str
    features: str
    optimize: bool
    unrolled: bool


def target_machine(triple: str, processor: str, features: str) -> Any:
    """Return what makes machine code of a module, at LLVM's level 1: it makes the same of straight-line code and of
    sweeps, bit for bit and within 2 % of the time, and takes an eighth less time for that than level 2."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(cpu=processor, features=features, opt=1, reloc="pic", jit=True)


def object_code(order: CompileRequest) -> bytes:
    """Return the object file of an order."""
    from llvmlite import binding

    machine = target_machine(order.triple, order.processor, order.features)
    module = binding.parse_assembly(order.text)
    module.triple, module.data_layout = order.triple, str(machine.target_data)
    if order.optimize:
        optimize(module, machine, order.unrolled)
    return bytes(machine.emit_object(module))


def optimize(module: Any, machine: Any, unrolled: bool) -> None:
    """Let LLVM inline functions, take loops to vectors, and, where that gains something, unroll them. Where nothing is
    unrolled, level 2 makes code as fast as level 3 does with loops interleaved, in nine tenths of the time."""
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(speed_level=3 if unrolled else 2)
    options.loop_vectorization, options.loop_unrolling = True, unrolled
    options.loop_interleaving = unrolled
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


def framed(code: bytes) -> bytes:
    """Return an object file behind a mark and its size, which tell it from what else a user's Python may print."""
    return MARK + len(code).to_bytes(SIZE, "little") + code


def unframed(output: bytes) -> bytes | None:
    """Return the object file in a program's output, None where none stands there whole."""
    _, _, rest = output.partition(MARK)
    size, code = int.from_bytes(rest[:SIZE], "little"), rest[SIZE:]
    return code[:size] if 0 < size <= len(code) else None


def main() -> None:
    """Serve one order. Ctrl-C is for the process that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    facts, _, text = sys.stdin.buffer.read().partition(b"\n")
    sys.stdout.buffer.write(framed(object_code(CompileRequest(text.decode(), **json.loads(facts)))))


if __name__ == "__main__":
    main()
