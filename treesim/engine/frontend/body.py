"""The text of one LLVM function while it is written: instructions, blocks, memory for variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Loop(NamedTuple):
    """Labels of a loop: where the next iteration begins, and what follows the last."""

    following: str
    end: str


class Body:
    """Instructions of a function, in order. flags: LLVM's, of floating-point operations."""

    def __init__(self, flags: str) -> None:
        self.flags = flags
        self.loop_kind = ""
        self.lines: list[str] = []
        self.memory: list[str] = []  # variables in memory, reserved where the function begins
        self.count = 0
        self.ended = False  # whether nothing runs behind the last instruction
        self.loops: tuple[Loop, ...] = ()  # around the current instruction, innermost last
        self.returns_arrays = self.allocates = False  # whether the function does
        self.mask: str | None = None  # the lanes that take part, where these are not all of them

    def new(self, prefix: str = "v") -> str:
        """A name that no register or label has yet."""
        self.count += 1
        return f"{prefix}{self.count}"

    def get(self, instruction: str) -> str:
        """The register of an instruction's result."""
        name = "%" + self.new()
        self.do(f"{name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """An instruction without result. What nobody reaches is left out."""
        if not self.ended:
            self.lines.append("  " + instruction)

    def reserve(self, kind: str, align: int = 8) -> str:
        """The address of memory for one value of LLVM's type `kind`, for as long as the function runs."""
        name = "%" + self.new("m")
        self.memory.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def begin(self, label: str) -> None:
        """A new block, which the one before runs into unless it has ended."""
        self.jump(label)
        self.lines.append(f"{label}:")
        self.ended = False

    def jump(self, label: str, kind: str = "") -> None:
        """Go on at a block; kind: LLVM's metadata of the loop that this ends."""
        self.do(f"br label %{label}{kind}")
        self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Go on at one of two blocks."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    def store(self, kinds: Sequence[str], parts: Sequence[str], places: Sequence[str]) -> None:
        """Write the parts of a value to memory that was reserved for them."""
        for kind, part, place in zip(kinds, parts, places, strict=True):
            self.do(f"store {kind} {part}, ptr {place}, align 8")

    def load(self, kinds: Sequence[str], places: Sequence[str]) -> tuple[str, ...]:
        """Read the parts of a value from memory."""
        return tuple(self.get(f"load {kind}, ptr {place}, align 8") for kind, place in zip(kinds, places, strict=True))
