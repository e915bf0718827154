"""WebAssembly modules from LLVM IR: LLVM's object file with an export section, without a linker.

An object file for wasm32 is a module that lacks only its exports. See WebAssembly Core Specification 5.5,
and Linking.md of the tool conventions for the section "linking" with the functions' names. The export
section is inserted before the code, and custom sections, which only a linker reads, are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import object_code
from .builder import Module
from .elementary import write_helpers
from .straight_line import Code

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory"  # memory.fill and memory.copy, instead of calls of the C library
PAGE = 65536  # bytes: the unit of a module's memory
HEAD = b"\0asm\1\0\0\0"
CUSTOM, EXPORT, DATA = 0, 7, 11  # sections
BEHIND_EXPORTS = (8, 9, 12, 10, 11)  # start, elements, count of data, code, data, in this order
SYMBOL_TABLE = 8  # part of the section "linking"
FUNCTION_SYMBOL, DATA_SYMBOL, SECTION_SYMBOL = 0, 1, 3
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40  # flags of symbols


# bump allocator: memory is not freed; each call starts again at the heap's start
HEAP = """
@heap = internal global ptr null
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)

define internal noalias ptr @malloc(i64 %bytes) nounwind noinline {
entry:
  %start = load ptr, ptr @heap
  %place = ptrtoint ptr %start to i32
  %asked = trunc i64 %bytes to i32
  %padded = add i32 %asked, 15
  %whole = and i32 %padded, -16
  %end = add i32 %place, %whole
  %next = inttoptr i32 %end to ptr
  store ptr %next, ptr @heap
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %last = add i32 %end, 65535
  %wanted = lshr i32 %last, 16
  %missing = sub i32 %wanted, %pages
  %short = icmp sgt i32 %missing, 0
  br i1 %short, label %grow, label %done
grow:
  %before = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %missing)
  br label %done
done:
  ret ptr %start
}

define internal void @free(ptr %block) nounwind noinline {
  ret void
}

define i32 @call(ptr %job, ptr %memory) nounwind {
  store ptr %memory, ptr @heap
  %status = call i64 @run(ptr %job)
  %small = trunc i64 %status to i32
  ret i32 %small
}
"""


class WasmModule(NamedTuple):
    """WebAssembly module, and the number of bytes at the start of its memory that it uses.

    It imports env.__linear_memory, a memory, and, if functions need a stack, env.__stack_pointer, a mutable
    i32: the address where the stack begins, growing down.
    """

    code: bytes
    data_bytes: int


def webassembly(module: Module, exports: Sequence[str]) -> WasmModule:
    """Return the WebAssembly module of an LLVM module without a C library, with some of its functions exported.

    Cost: about 40 us per operation of straight-line code.
    """
    write_helpers(module)
    return webassembly_of(Code(module.text(), 0), exports)


def webassembly_of(source: Code, exports: Sequence[str]) -> WasmModule:
    """Return the WebAssembly module of LLVM IR, with some of its functions exported."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(TRIPLE).create_target_machine(opt=2, features=FEATURES, reloc="static")
    # masks have the width of addresses: 32 bits
    text = re.sub(r"(@llvm\.ptrmask\.p0\.)i64\((ptr[^,]*), i64", r"\1i32(\2, i32", source.text)
    # there are no vectors: LLVM would print a warning for each loop that asks for them
    text = text.replace('"llvm.loop.vectorize.enable", i1 true', '"llvm.loop.vectorize.enable", i1 false')
    parsed = binding.parse_assembly(text)
    parsed.triple, parsed.data_layout = TRIPLE, str(machine.target_data)
    if source.optimize:
        object_code.optimize(parsed, machine, source.unrolled)
    return exported(bytes(machine.emit_object(parsed)), exports)


def binding_version() -> tuple[int, ...]:
    """Return LLVM's version."""
    from llvmlite import binding

    return binding.llvm_version_info


def exported(content: bytes, exports: Sequence[str]) -> WasmModule:
    """Return the module of an object file with some of its functions exported."""
    sections = list(_sections(content))
    index = _function_indices(dict(_custom(body) for kind, body in sections if kind == CUSTOM)[b"linking"])
    own = [(kind, body) for kind, body in sections if kind != CUSTOM]
    place = next(k for k, (kind, _) in enumerate(own) if kind in BEHIND_EXPORTS)
    entries = [_string(name.encode()) + b"\0" + _unsigned(index[name]) for name in exports]
    own.insert(place, (EXPORT, _unsigned(len(entries)) + b"".join(entries)))
    code = HEAD + b"".join(bytes([kind]) + _string(body) for kind, body in own)
    return WasmModule(code, max((_data_end(body) for kind, body in own if kind == DATA), default=0))


class _Reader:
    """Reader of WebAssembly's encodings."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def unsigned(self) -> int:
        """Read an integer in LEB128."""
        value = shift = 0
        while True:
            byte = self.content[self.place]
            self.place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self) -> bytes:
        """Read bytes preceded by their number."""
        size = self.unsigned()
        self.place += size
        return self.content[self.place - size : self.place]

    @property
    def more(self) -> bool:
        """Return whether there is more to read."""
        return self.place < len(self.content)


def _sections(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and contents of each section."""
    assert content[: len(HEAD)] == HEAD
    reader = _Reader(content)
    reader.place = len(HEAD)
    while reader.more:
        yield reader.unsigned(), reader.string()


def _custom(body: bytes) -> tuple[bytes, bytes]:
    """Return name and contents of a custom section."""
    reader = _Reader(body)
    name = reader.string()
    return name, body[reader.place :]


def _function_indices(linking: bytes) -> dict[str, int]:
    """Return the index of each function that an object file defines, by name."""
    reader = _Reader(linking)
    reader.unsigned()  # version
    while reader.more:
        kind, part = reader.unsigned(), reader.string()
        if kind == SYMBOL_TABLE:
            return dict(_defined_functions(_Reader(part)))
    return {}


def _defined_functions(symbols: _Reader) -> Iterator[tuple[str, int]]:
    """Yield name and index of each function in a symbol table that is not imported."""
    for _ in range(symbols.unsigned()):
        kind, flags = symbols.unsigned(), symbols.unsigned()
        if kind == DATA_SYMBOL:
            symbols.string()
            numbers = 0 if flags & UNDEFINED else 3  # segment, offset, size
        else:
            numbers = 1
        found = [symbols.unsigned() for _ in range(numbers)]
        named = kind not in (DATA_SYMBOL, SECTION_SYMBOL) and (not flags & UNDEFINED or flags & EXPLICIT_NAME)
        name = symbols.string() if named else b""
        if kind == FUNCTION_SYMBOL and not flags & UNDEFINED:
            yield name.decode(), found[0]


def _data_end(body: bytes) -> int:
    """Return the end address of a data section, whose segments have constant addresses."""
    reader, end = _Reader(body), 0
    for _ in range(reader.unsigned()):
        mode, opcode, address = (reader.unsigned() for _ in range(3))
        assert (mode, opcode) == (0, 0x41), "a segment of memory 0 at i32.const"
        reader.unsigned()  # end of the expression
        end = max(end, address + len(reader.string()))
    return end


def _string(content: bytes) -> bytes:
    """Return bytes preceded by their number."""
    return _unsigned(len(content)) + content


def _unsigned(value: int) -> bytes:
    """Return an integer in LEB128."""
    digits = []
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])
