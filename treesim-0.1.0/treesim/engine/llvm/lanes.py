"""Vector type of SIMD code."""

from __future__ import annotations

from typing import NamedTuple

from .values import as_many


class Lanes(NamedTuple):
    """Vector type: number type and width.

    A width of 1 uses the number type itself: LLVM takes a sixth longer for vectors of one number.
    """

    single: bool
    width: int

    @property
    def number(self) -> str:
        """LLVM's name of the number type."""
        return "float" if self.single else "double"

    @property
    def vector(self) -> str:
        """LLVM's name of the vector type."""
        return self.number if self.width == 1 else f"<{self.width} x {self.number}>"

    @property
    def whole(self) -> str:
        """LLVM's name of the vector of integers of the same size."""
        return as_many(f"i{8 * self.unit}", self.vector)

    @property
    def suffix(self) -> str:
        """LLVM's suffix of intrinsics on the vector."""
        return f"{f'v{self.width}' if self.width > 1 else ''}f{8 * self.unit}"

    @property
    def unit(self) -> int:
        """Size of a number in memory [bytes]."""
        return 4 if self.single else 8

    @property
    def bytes(self) -> int:
        """Size of the vector in memory [bytes]."""
        return self.width * self.unit
