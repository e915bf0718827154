"""Numbers with derivatives along several directions, for kernels that branch on data and run in the interpreter.

A branch is the one that the value takes. Source: A. Griewank, A. Walther, Evaluating Derivatives, chapter 3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Directional:
    """Number `value` and its derivatives `along` (K,), with the operations of kernels."""

    __slots__ = ("along", "value")

    def __init__(self, value: float, along: Any) -> None:
        self.value, self.along = value, along

    @property
    def context(self) -> type[Functions]:
        """Elementary functions, where kernels look for them."""
        return Functions

    def __add__(self, other: Any) -> Directional:
        x, dx = parts(other)
        return Directional(self.value + x, self.along + dx)

    __radd__ = __add__

    def __neg__(self) -> Directional:
        return Directional(-self.value, -self.along)

    def __sub__(self, other: Any) -> Directional:
        x, dx = parts(other)
        return Directional(self.value - x, self.along - dx)

    def __rsub__(self, other: Any) -> Directional:
        return -self + other

    def __mul__(self, other: Any) -> Directional:
        x, dx = parts(other)
        return Directional(self.value * x, self.along * x + self.value * dx)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Directional:
        x, dx = parts(other)
        found = self.value / x
        return Directional(found, (self.along - found * dx) / x)

    def __rtruediv__(self, other: Any) -> Directional:
        return Directional(other, 0.0) / self

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < parts(other)[0])

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= parts(other)[0])

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > parts(other)[0])

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= parts(other)[0])

    def __eq__(self, other: object) -> bool:
        return bool(self.value == parts(other)[0])

    __hash__ = None  # type: ignore[assignment]

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)


class Functions:
    """Elementary functions of `Directional` numbers."""

    @staticmethod
    def sqrt(x: Directional) -> Directional:
        """Square root; derivative 0 at 0, where those of lengths have no direction."""
        root = math.sqrt(x.value)
        return Directional(root, x.along / (2 * root) if root else 0.0 * x.along)


def parts(x: Any) -> tuple[Any, Any]:
    """Return the value and the derivatives of a number."""
    return (x.value, x.along) if isinstance(x, Directional) else (x, 0.0)


def derivatives(x: Any, count: int) -> np.ndarray:
    """Return the derivatives (n, count) of n numbers."""
    return np.array([np.broadcast_to(parts(each)[1], count) for each in x])
