"""Numbers of arithmetic operations."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Operations:
    """Counts of multiplications, additions (and subtractions), divisions and square roots.

    Counts add, subtract, and multiply by an integer: 3 * (MUL + ADD) is three multiply-adds.
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0

    @property
    def total(self) -> int:
        """All operations, each with the same weight."""
        return self.mul + self.add + self.div + self.sqrt

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.mul + other.mul, self.add + other.add, self.div + other.div, self.sqrt + other.sqrt)

    def __sub__(self, other: Operations) -> Operations:
        return self + -1 * other

    def __mul__(self, times: int) -> Operations:
        return Operations(times * self.mul, times * self.add, times * self.div, times * self.sqrt)

    __rmul__ = __mul__

    def divisions_as_multiplications(self) -> Operations:
        """Return the same counts with each division counted as a multiplication, as Featherstone 2005 sums them."""
        return Operations(self.mul + self.div, self.add, 0, self.sqrt)

    def as_dict(self) -> dict[str, int]:
        """Return the counts that are not zero, by name."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: count for name, count in counts.items() if count}


MUL = Operations(mul=1)
ADD = Operations(add=1)
DIV = Operations(div=1)
SQRT = Operations(sqrt=1)
MUL_ADD = MUL + ADD
