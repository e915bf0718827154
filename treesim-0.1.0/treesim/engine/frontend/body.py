"""LLVM function under construction: instructions, blocks, memory for variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Loop(NamedTuple):
    """Labels of a loop: start of the next iteration, and block after the loop."""

    following: str
    end: str


class Body:
    """Instructions of a function, in order; flags: LLVM's flags of floating-point operations."""

    def __init__(self, flags: str) -> None:
        self.flags = flags
        self.loop_kind = self.accesses = ""  # LLVM's metadata of loops, and of loads and stores of array elements
        self.lines: list[str] = []
        self.memory: list[str] = []  # stack variables, allocated at the start of the function
        self.count = 0
        self.ended = False  # whether the block has ended
        self.loops: tuple[Loop, ...] = ()  # around the current instruction, innermost last
        self.returns_arrays = self.allocates = False  # whether the function does
        self.mask: str | None = None  # active lanes, None for all

    def new(self, prefix: str = "v") -> str:
        """Return an unused name for a register or label."""
        self.count += 1
        return f"{prefix}{self.count}"

    def get(self, instruction: str) -> str:
        """Append an instruction; return the register of its result."""
        name = "%" + self.new()
        self.do(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without result; unreachable ones are left out."""
        if not self.ended:
            self.lines.append("  " + instruction)

    def reserve(self, kind: str, align: int = 8) -> str:
        """Return the address of stack memory for one value of LLVM's type `kind`."""
        name = "%" + self.new("m")
        self.memory.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def begin(self, label: str) -> None:
        """Begin a block; the block before continues there unless it has ended."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.ended = False

    def jump(self, label: str, kind: str = "") -> None:
        """Branch to a block; kind: LLVM's metadata of the loop that this ends."""
        self.do(f"br label %{label}{kind}")
        self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Branch to one of two blocks."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    def store(self, kinds: Sequence[str], parts: Sequence[str], places: Sequence[str]) -> None:
        """Store the parts of a value in reserved memory."""
        for kind, part, place in zip(kinds, parts, places, strict=True):
            self.do(f"store {kind} {part}, ptr {place}, align 8")

    def load(self, kinds: Sequence[str], places: Sequence[str]) -> tuple[str, ...]:
        """Load the parts of a value."""
        return tuple(self.get(f"load {kind}, ptr {place}, align 8") for kind, place in zip(kinds, places, strict=True))
