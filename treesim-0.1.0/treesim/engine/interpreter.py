"""Plain engine: runs a kernel's source in the interpreter, on numbers of any type.

With mpmath's numbers it computes high-precision references; with `Counted` numbers it counts the operations
of a kernel for a robot. Nothing is compiled; expect a millisecond per body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ConvergenceError, NonFiniteError
from ..kernels.entries.status import FINE, NOT_CONVERGED, WRONG_SIZE

Convert = Callable[[float], Any]


def run(
    entry: Callable[..., int],
    constants: Sequence[Any],
    arguments: Sequence[Any],
    results: Sequence[tuple[int, ...]],
    number: Convert,
) -> list[np.ndarray]:
    """Run a kernel entry on numbers made by `number` and return its results as object arrays of those numbers.

    constants: the entry's leading arguments; float arrays in them are converted, integers are not. arguments:
    arrays of one or more states; values of another number type are not converted. results: shapes to allocate.
    Raises ArgumentError if the sizes do not fit, ConvergenceError if an iteration does not converge,
    NonFiniteError if a result is not finite.
    """
    outputs = [np.full(int(np.prod(shape)), number(0.0), dtype=object) for shape in results]
    given = [converted(x, number) for x in (*constants, *arguments)]
    status = entry(*given, *outputs)
    if status == WRONG_SIZE:
        raise ArgumentError(f"{entry.__name__}: the sizes of the arguments do not fit the robot")
    if status == NOT_CONVERGED:
        raise ConvergenceError(f"{entry.__name__}: an iteration did not reach its tolerance")
    if status != FINE:
        raise NonFiniteError(f"{entry.__name__}: a result is not finite")
    return [output.reshape(shape) for output, shape in zip(outputs, results, strict=True)]


def converted(value: Any, number: Convert) -> Any:
    """Return an array of floats in numbers made by `number`; integers, and other number types, unchanged."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "iu":
        return value
    flat = [number(float(x)) if isinstance(x, float) else x for x in value.reshape(-1).tolist()]
    array = np.empty(len(flat), dtype=object)
    array[:] = flat
    return array


class Tally:
    """Counts of `Counted` numbers: `operations` by kind, and `depth`, their longest chain."""

    def __init__(self) -> None:
        self.operations: Counter[str] = Counter()
        self.depth = 0

    def number(self, value: float) -> Counted:
        """Return `value` as a constant: operations on it that a compiler folds (with 0 and 1) are not counted."""
        return Counted(self, float(value), 0, constant=True)

    def variable(self, value: float) -> Counted:
        """Return `value` as an input that is unknown to a compiler."""
        return Counted(self, float(value), 0, constant=False)

    def variables(self, values: Any) -> np.ndarray:
        """Return an array of inputs that are unknown to a compiler."""
        array = np.empty(np.size(values), dtype=object)
        array[:] = [self.variable(x) for x in np.ravel(values)]
        return array


class Counted:
    """Number that counts its operations: mul, add, div, sqrt, trig.

    Operations between constants, with a constant 0, or with a constant factor 1 or -1 cost nothing; nor do
    signs.
    """

    __slots__ = ("constant", "depth", "tally", "value")

    def __init__(self, tally: Tally, value: float, depth: int, constant: bool) -> None:
        self.tally, self.value, self.depth, self.constant = tally, value, depth, constant

    @property
    def context(self) -> _Functions:
        """Elementary functions, in the place where kernels look for them."""
        return _Functions()

    def _made(self, kind: str, value: float, other: Counted) -> Counted:
        """Return the result of an operation on this number and another, which may be itself."""
        tally = self.tally
        if self.constant and other.constant:
            return Counted(tally, value, 0, True)
        depth = (self.depth if self.depth > other.depth else other.depth) + 1
        tally.operations[kind] += 1
        if depth > tally.depth:
            tally.depth = depth
        return Counted(tally, value, depth, False)

    def _other(self, other: Any) -> Counted:
        return other if isinstance(other, Counted) else self.tally.number(other)

    def _is(self, value: float) -> bool:
        return self.constant and self.value == value

    def __add__(self, other: Any) -> Counted:
        b = self._other(other)
        if self._is(0.0):
            return b
        if b._is(0.0):
            return self
        return self._made("add", self.value + b.value, b)

    __radd__ = __add__

    def __neg__(self) -> Counted:
        return Counted(self.tally, -self.value, self.depth, self.constant)

    def __sub__(self, other: Any) -> Counted:
        return self + (-self._other(other))

    def __rsub__(self, other: Any) -> Counted:
        return self._other(other) + (-self)

    def __mul__(self, other: Any) -> Counted:
        b = self._other(other)
        if self.constant or b.constant:
            for x, y in ((self, b), (b, self)):
                if x._is(0.0):
                    return self.tally.number(0.0)
                if x._is(1.0):
                    return y
                if x._is(-1.0):
                    return -y
        return self._made("mul", self.value * b.value, b)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Counted:
        b = self._other(other)
        if b._is(1.0):
            return self
        if b.constant and b.value:
            return self * (1.0 / b.value)
        return self._made("div", self.value / b.value if b.value else np.inf, b)

    def __rtruediv__(self, other: Any) -> Counted:
        return self._other(other) / self

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Counted) else other)

    def __lt__(self, other: Any) -> bool:
        return self.value < self._other(other).value

    def __le__(self, other: Any) -> bool:
        return self.value <= self._other(other).value

    def __gt__(self, other: Any) -> bool:
        return self.value > self._other(other).value

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._other(other).value

    def __abs__(self) -> Counted:
        return -self if self.value < 0 else self

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"Counted({self.value})"


class _Functions:
    """Elementary functions of counted numbers."""

    @staticmethod
    def sin(x: Counted) -> Counted:
        """Sine."""
        return x._made("trig", float(np.sin(x.value)), x)

    @staticmethod
    def cos(x: Counted) -> Counted:
        """Cosine."""
        return x._made("trig", float(np.cos(x.value)), x)

    @staticmethod
    def sqrt(x: Counted) -> Counted:
        """Square root."""
        return x._made("sqrt", float(np.sqrt(x.value)), x)

    @staticmethod
    def atan2(y: Counted, x: Counted) -> Counted:
        """Angle of the point (x, y)."""
        return y._made("trig", float(np.arctan2(y.value, x.value)), x)
