"""What LLVM IR consists of, as LLVM reads it."""

from collections import Counter

from treesim.engine.llvm.builder import Module
from treesim.engine.llvm.chunks import chunk_functions
from treesim.engine.llvm.elementary import write_helpers


def functions(text):
    """The functions of a module, by name."""
    from llvmlite import binding

    module = binding.parse_assembly(text)
    module.verify()
    return {function.name: function for function in module.functions if not function.is_declaration}


def opcodes(text, start=""):
    """Count, in each function whose name begins so, the instructions of each kind, and the calls by what is called."""
    return {name: _counted(function) for name, function in functions(text).items() if name.startswith(start)}


def _counted(function):
    found = Counter()
    for instruction in (instruction for block in function.blocks for instruction in block.instructions):
        found[instruction.opcode] += 1
        if instruction.opcode == "call":
            found[[*instruction.operands][-1].name] += 1
    return found


def of_functions(text, start):
    """Count instructions and calls in all functions whose names begin so."""
    return sum(opcodes(text, start).values(), Counter())


def of_chunks(traced, lanes):
    """Count them in the functions that a trace's operations make."""
    module = Module(lanes)
    chunk_functions(module, traced)
    write_helpers(module)
    return of_functions(module.text(), "chunk")
