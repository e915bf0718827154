"""What a text of LLVM's consists of, as LLVM reads it."""

from collections import Counter

from treesim.engine.llvm.elementary import sincos
from treesim.engine.llvm.lanes import DECLARATIONS, substituted


def opcodes(functions, lanes):
    """Count the instructions of each kind in functions that `chunk_functions` made, and the calls by what is called."""
    from llvmlite import binding

    text = substituted("\n".join([DECLARATIONS, sincos(lanes.single), *functions]), lanes)
    module, found = binding.parse_assembly(text), Counter()
    for function in module.functions:
        if function.name.startswith("chunk"):
            for instruction in (instruction for block in function.blocks for instruction in block.instructions):
                found[instruction.opcode] += 1
                if instruction.opcode == "call":
                    found[[*instruction.operands][-1].name] += 1
    return found
