"""Object file from LLVM IR; also run as a program by `background_compilation`, so it imports nothing of treesim.

The program reads one line of JSON, an Order without its text, then the text; it writes the framed object
file.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any, NamedTuple

MARK = b"treesim object file\n"
SIZE = 8  # bytes of the size


class CompileRequest(NamedTuple):
    """Request of a compilation.

    text: LLVM IR. triple, processor, features: LLVM's target. optimize: whether LLVM inlines and optimises.
    unrolled: whether it unrolls loops. level: of code generation; at 0, instructions
    are selected quickly.
    """

    text: str
    triple: str
    processor: str
    features: str
    optimize: bool
    unrolled: bool
    level: int = 1


def target_machine(triple: str, processor: str, features: str, level: int = 1) -> Any:
    """Return LLVM's target machine; on Windows, llvmlite lets it write ELF files, which LLVM can load.

    The code of level 1 equals that of level 2 to the bit and within 2 % of the time, for straight-line modules and
    sweeps, and compiles in seven eighths of the time.
    """
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(triple)
    return target.create_target_machine(cpu=processor, features=features, opt=level, reloc="pic", jit=True)


def object_code(order: CompileRequest) -> bytes:
    """Return the object file of a request."""
    from llvmlite import binding

    machine = target_machine(order.triple, order.processor, order.features, order.level)
    module = binding.parse_assembly(order.text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if order.optimize:
        optimize(module, machine, order.unrolled, order.level)
    return bytes(machine.emit_object(module))


def optimize(module: Any, machine: Any, unrolled: bool, level: int = 1) -> None:
    """Let LLVM inline functions, vectorize loops and, if `unrolled`, unroll them.

    Without unrolling, level 2 generates code as fast as level 3 with interleaved loops, in nine tenths of the
    time. Level 0 only inlines functions and keeps local variables in registers, in a sixth of the time of level 1.
    """
    from llvmlite import binding

    options = binding.create_pipeline_tuning_options(speed_level=3 if unrolled else 2)
    options.loop_vectorization, options.loop_unrolling, options.loop_interleaving = True, unrolled, unrolled
    builder = binding.create_pass_builder(machine, options)
    if level:
        passes = builder.getModulePassManager()
    else:
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
    passes.run(module, builder)


def framed(code: bytes) -> bytes:
    """Return an object file after a marker and its size, which separate it from other output of a user's Python."""
    return MARK + len(code).to_bytes(SIZE, "little") + code


def unframed(output: bytes) -> bytes | None:
    """Return the object file in a program's output, None if it is incomplete."""
    _, _, rest = output.partition(MARK)
    size, code = int.from_bytes(rest[:SIZE], "little"), rest[SIZE:]
    return code[:size] if 0 < size <= len(code) else None


def main() -> None:
    """Serve one request; ignores Ctrl-C, which the calling process handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    facts, _, text = sys.stdin.buffer.read().partition(b"\n")
    sys.stdout.buffer.write(framed(object_code(CompileRequest(text.decode(), **json.loads(facts)))))


if __name__ == "__main__":
    main()
