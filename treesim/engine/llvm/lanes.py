"""The type of vectors that code on lanes works on, and LLVM's lines for operations on them.

In texts of IR, $VECTOR, $NUMBER, $LANES, $BYTES, $UNIT, $SUFFIX and $FAST stand for the vector type, its numbers and
their count, the size of both, and what else depends on them; `substituted` puts them in.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

FAST = "contract nsz arcp nnan ninf"  # as in the generic engine
DECLARATIONS = """
declare $VECTOR @llvm.sqrt.$SUFFIX($VECTOR)
declare $VECTOR @llvm.maxnum.$SUFFIX($VECTOR, $VECTOR)
declare $VECTOR @llvm.minnum.$SUFFIX($VECTOR, $VECTOR)
"""


class Lanes(NamedTuple):
    """A vector type: the number type, and how many of them."""

    single: bool
    width: int

    @property
    def number(self) -> str:
        """LLVM's name of one number."""
        return "float" if self.single else "double"

    @property
    def vector(self) -> str:
        """LLVM's name of the vector."""
        return f"<{self.width} x {self.number}>"

    @property
    def suffix(self) -> str:
        """LLVM's suffix of intrinsics on the vector."""
        return f"v{self.width}f{32 if self.single else 64}"

    @property
    def bytes(self) -> int:
        """Size of the vector in memory."""
        return self.width * (4 if self.single else 8)


def substituted(text: str, lanes: Lanes) -> str:
    """Return a text of IR with the names of a vector type in the place of $VECTOR, $NUMBER and the others."""
    for name, value in (("VECTOR", lanes.vector), ("NUMBER", lanes.number), ("SUFFIX", lanes.suffix),
                        ("LANES", str(lanes.width)), ("BYTES", str(lanes.bytes)),
                        ("UNIT", str(lanes.bytes // lanes.width)), ("FAST", FAST)):  # fmt: skip
        text = text.replace(f"${name}", value)
    return text


def splat(value: float, single: bool) -> str:
    """Return LLVM's text of a vector constant, all lanes alike."""
    return f"splat ({'float' if single else 'double'} {literal(value, single)})"


def literal(value: float, single: bool) -> str:
    """Return LLVM's text of a number, to the last bit."""
    exact = struct.unpack("<f", struct.pack("<f", value))[0] if single else value
    word = struct.unpack(">Q", struct.pack(">d", exact))[0]
    return f"0x{word:016X}"


def sine_and_cosine_lines(pair: str, value: str) -> list[str]:
    """Return the lines that make {pair}.0 and {pair}.1 sine and cosine of a value."""
    return [
        f"  {pair} = call {{ $VECTOR, $VECTOR }} @sine_and_cosine($VECTOR {value})",
        *(f"  {pair}.{index} = extractvalue {{ $VECTOR, $VECTOR }} {pair}, {index}" for index in range(2)),
    ]
