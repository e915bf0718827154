"""Counts of arithmetic operations."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from operator import add


@dataclass(frozen=True)
class Operations:
    """Counts of multiplications, additions (and subtractions), divisions, square roots, sines and cosines.

    Counts add, subtract, and multiply by an integer: 3 * (MUL + ADD) is three multiply-adds.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0

    @property
    def total(self) -> int:
        """Number of all operations, with equal weight."""
        return sum(astuple(self))

    def __add__(self, other: Operations) -> Operations:
        return Operations(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Operations) -> Operations:
        return self + -1 * other

    def __mul__(self, times: int) -> Operations:
        return Operations(*(times * count for count in astuple(self)))

    __rmul__ = __mul__

    def divisions_as_multiplications(self) -> Operations:
        """Return the counts with each division counted as a multiplication, as in Featherstone 2005."""
        return Operations(self.mul + self.div, self.add, 0, self.sqrt, self.trig)

    def as_dict(self) -> dict[str, int]:
        """Return the nonzero counts by name."""
        return {name: count for name, count in asdict(self).items() if count}


MUL = Operations(mul=1)
ADD = Operations(add=1)
DIV = Operations(div=1)
SQRT = Operations(sqrt=1)
MUL_ADD = MUL + ADD
